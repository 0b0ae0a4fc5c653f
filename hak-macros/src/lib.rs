//! The `hak_allocator!` procedural macro: argument → spec → allocator.
//!
//! A shell: it finds the file, calls `hak-spec` and `hak-codegen`, and reports. Users call it
//! through the crate `hak`, which tells it by what name it is known.

mod call;
mod inline;
mod locate;
mod report;

use proc_macro::TokenStream;

use call::{Call, SpecSource};

/// Declares an allocator. Called by `hak::hak_allocator!`, which documents the forms.
#[proc_macro]
pub fn hak_allocator(input: TokenStream) -> TokenStream {
    let call = match syn::parse::<Call>(input) {
        Ok(call) => call,
        Err(error) => return error.into_compile_error().into(),
    };
    let expansion = match &call.source {
        SpecSource::File(path) => from_file(&call, path),
        SpecSource::Inline(group) => from_tokens(&call, group),
    };
    expansion.into()
}

fn from_file(call: &Call, literal: &syn::LitStr) -> proc_macro2::TokenStream {
    let shown = literal.value();
    let path = match locate::spec(&shown) {
        Ok(path) => path,
        Err(problem) => return report::message(&problem, literal.span()),
    };
    let mut target = call.target.clone();
    target.origin = Some(shown.clone());
    match hak_spec::load_as(&path, &shown) {
        Ok(spec) => locate::tracked(&spec.files, hak_codegen::expand(&spec, &target)),
        Err(problems) => {
            let errors = report::in_file(&problems, literal.span());
            let stub = hak_codegen::stub(&target, &call.stub_name(&hak_spec::type_name(&path)));
            locate::tracked(problems.files(), quote::quote!(#errors #stub))
        }
    }
}

fn from_tokens(call: &Call, group: &proc_macro2::Group) -> proc_macro2::TokenStream {
    let text = inline::Text::of(group.stream());
    let name = call.target.name.as_ref().map(ToString::to_string).unwrap_or_default();
    let base = locate::base();
    match hak_spec::parse(&text.toml, "inline spec", &name, base.as_deref().ok()) {
        Ok(spec) if spec.name != name => {
            let message = format!(
                "`allocator.name` is `{}`, but the type is declared as `{name}`\n\
                 = help: leave `allocator.name` out of an inline spec",
                spec.name
            );
            let errors = report::message(&message, group.span_open());
            let stub = hak_codegen::stub(&call.target, &call.stub_name(&name));
            quote::quote!(#errors #stub)
        }
        Ok(spec) => locate::tracked(&spec.files, hak_codegen::expand(&spec, &call.target)),
        Err(problems) => {
            let errors = report::in_tokens(&problems, &text, group.span_open());
            let stub = hak_codegen::stub(&call.target, &call.stub_name(&name));
            locate::tracked(problems.files(), quote::quote!(#errors #stub))
        }
    }
}
