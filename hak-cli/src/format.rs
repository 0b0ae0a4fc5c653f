//! Generated code as text: what a person would have written.
//!
//! Knows nothing of hak. The golden tests of `hak-codegen` include this file.

use proc_macro2::TokenStream;

/// The items that tokens spell, formatted. Doc attributes become `///` comments.
pub(crate) fn format(items: TokenStream) -> syn::Result<String> {
    syn::parse2(items).map(|file| spaced(&prettyplease::unparse(&file)))
}

/// Adds an empty line where one item ends and the next begins with its comment or attribute.
fn spaced(code: &str) -> String {
    let mut out = String::new();
    let mut before = "";
    for line in code.lines() {
        if ends_item(before) && begins_item(line) && indent(before) == indent(line) {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        before = line;
    }
    out
}

fn ends_item(line: &str) -> bool {
    line.ends_with(['}', ';'])
}

fn begins_item(line: &str) -> bool {
    let starts = ["///", "#[", "const ", "static ", "impl ", "unsafe impl ", "runtime::"];
    starts.iter().any(|start| line.trim_start().starts_with(start))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
