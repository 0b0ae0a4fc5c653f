//! How much code a spec becomes: the compiler's work grows with it.

use hak_codegen::Target;
use proc_macro2::{TokenStream, TokenTree};

/// 64 classes, in a table, with some that are hot: the longest form.
const SPEC: &str = "
schema = 1
classes.ladder = { quantum = 16, linear_to = 1024, steps_per_doubling = 1, max = 1024 }
hints.hot = [64, 32, 48]
";

fn count(tokens: TokenStream) -> usize {
    let size = |token| match token {
        TokenTree::Group(group) => 1 + count(group.stream()),
        _ => 1,
    };
    tokens.into_iter().map(size).sum()
}

#[test]
fn many_classes_stay_few_tokens() {
    let spec = hak_spec::parse(SPEC, "many.toml", "Many", None).unwrap();
    assert_eq!(spec.classes.len(), 64);
    let tokens = count(hak_codegen::expand(&spec, &Target::plain("many.toml")));
    // Each class: a row of rustdoc, of `CLASSES`, of `DEPOTS` and of the look-up.
    assert!(tokens < 64 * 80, "{tokens} tokens");
}
