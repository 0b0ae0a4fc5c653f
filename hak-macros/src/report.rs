//! Problems of a spec as compile errors.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use hak_spec::{Problem, Report};

use crate::inline::Text;

/// One error.
pub(crate) fn message(message: &str, span: Span) -> TokenStream {
    quote_spanned!(span=> ::core::compile_error! { #message })
}

/// One error for each problem of a file, all at the path: rustc cannot point into a file that it
/// did not read, so the message carries place and excerpt.
pub(crate) fn in_file(problems: &Report, span: Span) -> TokenStream {
    let text = |problem: &Problem| {
        let rendered = problem.render();
        rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end().to_owned()
    };
    problems.problems().iter().map(|problem| message(&text(problem), span)).collect()
}

/// One error for each problem of an inline spec, at its token. A problem in a file that the spec
/// extends is shown with its excerpt.
pub(crate) fn in_tokens(problems: &Report, text: &Text) -> TokenStream {
    let error = |problem: &Problem| match (problem.file(), problem.span()) {
        (Some(0), Some(span)) => message(&with_help(problem), text.span(&span)),
        _ => message(&with_help(problem), Span::call_site()),
    };
    problems.problems().iter().map(error).collect()
}

fn with_help(problem: &Problem) -> String {
    let help = problem.help().iter().map(|help| format!("\n= help: {help}"));
    std::iter::once(problem.message().to_owned()).chain(help).collect()
}
