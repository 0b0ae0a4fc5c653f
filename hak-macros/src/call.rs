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
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Error, LitStr, Result, Token};

use hak_codegen::{Instance, Target};

/// Ways out for an argument that is none of the forms.
const FORMS: &str = "
= help: hak_allocator!(\"specs/web.toml\")
= help: hak_allocator!(pub struct Web = \"specs/web.toml\")
= help: hak_allocator!(#[global_allocator] static ALLOC = \"specs/web.toml\")";

const A_SPEC: &str = "expected a spec: the path of a file, as a string, or `{ schema = 1, … }`";

/// One call of the macro.
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) source: SpecSource,
}

/// Where the spec is.
pub(crate) enum SpecSource {
    File(LitStr),
    Inline(Group),
}

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let face = bracketed(input)?;
        let mut target = target(face.stream());
        let mut before = Span::call_site();
        if !input.is_empty() && !begins_spec(input) {
            declaration(input, &mut target)?;
            before = equals_sign(input)?;
        }
        let source = source(input, before)?;
        if let (SpecSource::Inline(spec), None) = (&source, &target.name) {
            let message = "an inline spec needs a name: write `struct NAME = { … }`";
            return Err(Error::new(spec.span(), message));
        }
        input.parse::<Option<Token![,]>>()?;
        input.parse::<Option<Token![;]>>()?;
        if input.is_empty() {
            Ok(Call { target, source })
        } else {
            Err(Error::new(input.span(), "expected nothing after the spec: a call declares one"))
        }
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
    let is_bare = attributes.is_empty() && visibility.is_empty();
    target.visibility.clone_from(&visibility);
    if input.peek(Token![struct]) {
        input.parse::<Token![struct]>()?;
        target.name = Some(name(input)?);
        target.attributes = attributes;
    } else if input.peek(Token![static]) {
        input.parse::<Token![static]>()?;
        target.instance = Some(Instance { attributes, visibility, name: name(input)? });
    } else if is_bare {
        return Err(Error::new(input.span(), format!("{A_SPEC}{FORMS}")));
    } else {
        return Err(Error::new(input.span(), format!("expected `struct` or `static`{FORMS}")));
    }
    Ok(())
}

fn name(input: ParseStream<'_>) -> Result<Ident> {
    let found = input.fork().call(Ident::parse_any);
    input.parse().map_err(|error| match found {
        Ok(word) => Error::new(word.span(), format!("`{word}` is a keyword: expected a name")),
        Err(_) => Error::new(error.span(), "expected a name"),
    })
}

fn equals_sign(input: ParseStream<'_>) -> Result<Span> {
    let message = match input.peek(Token![:]) {
        true => "expected `=`: the spec names the type, or `struct NAME = …` does",
        false => "expected `=` and a spec",
    };
    let sign = input.parse::<Token![=]>();
    sign.map(|sign| sign.span).map_err(|error| Error::new(error.span(), message))
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
        other => Err(Error::new(other.span(), "expected `[`")),
    }
}

fn begins_spec(input: ParseStream<'_>) -> bool {
    input.peek(LitStr) || input.peek(syn::token::Brace)
}

/// The spec, which stands behind `before`.
fn source(input: ParseStream<'_>, before: Span) -> Result<SpecSource> {
    if input.peek(LitStr) {
        return input.parse().map(SpecSource::File);
    }
    if input.peek(syn::token::Brace) {
        return input.parse().map(SpecSource::Inline);
    }
    let span = if input.is_empty() { before } else { input.span() };
    Err(Error::new(span, format!("{A_SPEC}{FORMS}")))
}
