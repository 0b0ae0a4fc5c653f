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
    problems.problems().iter().map(|problem| message(&with_excerpt(problem), span)).collect()
}

/// One error for each problem of an inline spec, at its token. A problem in a file that the spec
/// extends is shown with its excerpt, where the spec begins.
pub(crate) fn in_tokens(problems: &Report, text: &Text, begin: Span) -> TokenStream {
    let error = |problem: &Problem| match (problem.file(), problem.span()) {
        (Some(0), Some(span)) => message(&with_help(problem), text.span(&span).unwrap_or(begin)),
        _ => message(&with_excerpt(problem), begin),
    };
    problems.problems().iter().map(error).collect()
}

fn with_excerpt(problem: &Problem) -> String {
    let rendered = problem.render();
    rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end().to_owned()
}

fn with_help(problem: &Problem) -> String {
    let help = problem.help().iter().map(|help| format!("\n= help: {help}"));
    std::iter::once(problem.message().to_owned()).chain(help).collect()
}
