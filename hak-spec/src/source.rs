//! One text that is read: the spec itself, or a base it extends.

use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

/// A spec's text and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Name for messages, as the user wrote it.
    pub(crate) name: String,
    /// The text; offsets in messages count its bytes.
    pub(crate) text: Rc<str>,
    /// Where it was read; `None` for an inline or a shipped spec.
    pub(crate) path: Option<PathBuf>,
    /// Where `extends = "base.toml"` looks.
    pub(crate) dir: Option<PathBuf>,
}

/// One line of a text with a marked part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// First marked character of the line, counted from 1.
    pub(crate) column: usize,
    /// The line as it is shown.
    pub(crate) shown: String,
    /// Blanks before the marks, and the number of marks, as shown.
    pub(crate) marks: (usize, usize),
}

/// Characters of a line that are shown at most.
const SHOWN_MAX: usize = 160;
/// Characters before the mark that are kept when a line is too long to show.
const SHOWN_BEFORE: usize = 40;

impl Excerpt {
    /// Finds the line in which `span` starts; the mark ends with that line.
    pub(crate) fn new(text: &str, span: &Range<usize>) -> Excerpt {
        let start = floor_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let before = text[line_start..start].trim_start_matches('\u{feff}');
        let rest = text[start..].split('\n').next().unwrap_or_default();
        let rest = rest.strip_suffix('\r').unwrap_or(rest).trim_start_matches('\u{feff}');
        let marked = &rest[..floor_boundary(rest, span.end.saturating_sub(start))];
        let (before_shown, rest_shown) = cut(&plain(before), &plain(rest));
        let room = rest_shown.chars().count().max(1);
        Excerpt {
            line: text[..start].matches('\n').count() + 1,
            column: before.chars().count() + 1,
            marks: (before_shown.chars().count(), plain(marked).chars().count().clamp(1, room)),
            shown: before_shown + &rest_shown,
        }
    }
}

/// Nearest character boundary of `text` at or below `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}

/// A piece of a line as terminals show it: tabs as blanks, no control characters.
fn plain(piece: &str) -> String {
    piece.chars().fold(String::new(), |mut shown, c| {
        match c {
            '\t' => shown.push_str("    "),
            c if c.is_control() => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
        shown
    })
}

/// Leaves out what lies far from the mark in a very long line.
fn cut(before: &str, rest: &str) -> (String, String) {
    let skipped = before.chars().count().saturating_sub(SHOWN_BEFORE);
    if before.chars().count() + rest.chars().count() <= SHOWN_MAX {
        return (before.to_owned(), rest.to_owned());
    }
    let lead = if skipped > 0 { "..." } else { "" };
    let tail = if rest.chars().count() > SHOWN_MAX { "..." } else { "" };
    let kept: String = rest.chars().take(SHOWN_MAX).collect();
    (format!("{lead}{}", before.chars().skip(skipped).collect::<String>()), kept + tail)
}
