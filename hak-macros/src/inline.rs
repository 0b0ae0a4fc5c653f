//! Inline specs: Rust tokens as TOML text, and from a place in the text back to its token.

use std::ops::Range;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The TOML that tokens spell.
pub(crate) struct Text {
    pub(crate) toml: String,
    /// Which bytes of the text each token became, in order.
    tokens: Vec<(Range<usize>, Span)>,
}

impl Text {
    /// Entries that commas separate at the top become lines.
    pub(crate) fn of(tokens: TokenStream) -> Self {
        let mut text = Text { toml: String::new(), tokens: Vec::new() };
        for token in tokens {
            match &token {
                TokenTree::Punct(comma) if comma.as_char() == ',' => text.toml.push('\n'),
                _ => text.push(token),
            }
        }
        text.toml.push('\n');
        text
    }

    fn push(&mut self, token: TokenTree) {
        let TokenTree::Group(group) = token else {
            return self.push_text(&token.to_string(), token.span());
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::None => ("", ""),
        };
        self.push_text(open, group.span_open());
        group.stream().into_iter().for_each(|token| self.push(token));
        self.push_text(close, group.span_close());
    }

    fn push_text(&mut self, text: &str, span: Span) {
        let start = self.toml.len();
        self.toml.push_str(text);
        self.tokens.push((start..self.toml.len(), span));
        // A sign belongs to its number.
        if text != "-" && text != "+" {
            self.toml.push(' ');
        }
    }

    /// The token at a place of the text, or the next before it.
    pub(crate) fn span(&self, place: &Range<usize>) -> Option<Span> {
        let before = self.tokens.partition_point(|(range, _)| range.start <= place.start);
        self.tokens[..before].last().map(|(_, span)| *span)
    }
}
