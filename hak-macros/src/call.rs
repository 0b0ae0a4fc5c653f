//! The macro's argument.
//!
//! ```text
//! [hak] "specs/web.toml"
//! [hak] pub(crate) struct Edge = "specs/web.toml"
//! [hak] #[global_allocator] static ALLOC = "specs/web.toml"
//! [hak] pub struct Tiny = { schema = 1, classes.sizes = [16, 32] }
//! ```
//!
//! The brackets hold the path of the crate `hak`; the face puts them there.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Result, Token};

use hak_codegen::{Instance, Target};

const FORMS: &str = "expected `\"PATH\"`, `struct NAME = \"PATH\"` or `static NAME = \"PATH\"`, \
     with a spec's path or `{ schema = 1, … }`";

/// One call of the macro.
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) source: SpecSource,
}

/// Where the spec is.
pub(crate) enum SpecSource {
    File(LitStr),
    Inline(TokenStream),
}

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let face = bracketed(input)?;
        let mut target = target(face.stream());
        if !input.peek(LitStr) {
            declaration(input, &mut target)?;
            input.parse::<Token![=]>().map_err(|error| syn::Error::new(error.span(), FORMS))?;
        }
        let source = source(input)?;
        if let (SpecSource::Inline(spec), None) = (&source, &target.name) {
            let span = spec.clone().into_iter().next().map_or(Span::call_site(), |t| t.span());
            let message = "an inline spec needs a name: write `struct NAME = { … }`";
            return Err(syn::Error::new(span, message));
        }
        input.parse::<Option<Token![,]>>()?;
        input.parse::<Option<Token![;]>>()?;
        if input.is_empty() { Ok(Call { target, source }) } else { Err(input.error(FORMS)) }
    }
}

impl Call {
    /// Name of the stub when the spec has errors: the caller's, or what the file yields.
    pub(crate) fn stub_name(&self, from_file: &str) -> Ident {
        let yielded = if hak_spec::is_identifier(from_file) { from_file } else { "Allocator" };
        self.target.name.clone().unwrap_or_else(|| Ident::new(yielded, Span::call_site()))
    }
}

fn target(face: TokenStream) -> Target {
    Target {
        face,
        attributes: TokenStream::new(),
        visibility: TokenStream::new(),
        name: None,
        instance: None,
        origin: None,
    }
}

/// Attributes, visibility, `struct NAME` or `static NAME`.
fn declaration(input: ParseStream<'_>, target: &mut Target) -> Result<()> {
    let attributes = attributes(input)?;
    let visibility = visibility(input)?;
    if input.peek(Token![struct]) {
        input.parse::<Token![struct]>()?;
        target.name = Some(input.parse()?);
        (target.attributes, target.visibility) = (attributes, visibility);
    } else if input.peek(Token![static]) {
        input.parse::<Token![static]>()?;
        let name = input.parse()?;
        target.visibility.clone_from(&visibility);
        target.instance = Some(Instance { attributes, visibility, name });
    } else {
        return Err(input.error(FORMS));
    }
    Ok(())
}

fn attributes(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut attributes = TokenStream::new();
    while input.peek(Token![#]) {
        input.parse::<Token![#]>()?.to_tokens(&mut attributes);
        bracketed(input)?.to_tokens(&mut attributes);
    }
    Ok(attributes)
}

/// Nothing, `pub`, or `pub(…)`.
fn visibility(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut visibility = TokenStream::new();
    if input.peek(Token![pub]) {
        input.parse::<Token![pub]>()?.to_tokens(&mut visibility);
        if input.peek(syn::token::Paren) {
            input.parse::<Group>()?.to_tokens(&mut visibility);
        }
    }
    Ok(visibility)
}

fn bracketed(input: ParseStream<'_>) -> Result<Group> {
    match input.parse::<TokenTree>()? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Ok(group),
        other => Err(syn::Error::new(other.span(), "expected `[`")),
    }
}

fn source(input: ParseStream<'_>) -> Result<SpecSource> {
    if input.peek(LitStr) {
        return input.parse().map(SpecSource::File);
    }
    if input.peek(syn::token::Brace) {
        return input.parse::<Group>().map(|group| SpecSource::Inline(group.stream()));
    }
    Err(input.error("expected the path of a spec, as a string, or `{ schema = 1, … }`"))
}
