//! What the compiler says to a wrong call of the macro: one mistake per file of `tests/ui`.
//!
//! `TRYBUILD=overwrite cargo test --test ui` rewrites the expected texts. Mistakes of specs have
//! their texts in `hak-spec/tests/reject`; here are only some of each kind, to show that they
//! arrive.

use std::collections::BTreeSet;
use std::{env, fs};

const DIR: &str = "tests/ui";

#[test]
fn wrong_calls_are_answered_with_their_text() {
    // Each case is compiled in a package of its own: the macro is told where the specs are.
    // SAFETY: this is the only test of the binary: no other thread reads the environment.
    unsafe { env::set_var("HAK_SPEC_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ui")) };
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    // This is where they run.
    drop(cases);
    assert_eq!(stems("stderr"), stems("rs"), "a text without its case, or the other way round");
}

/// Stems of the files in `DIR` with this ending.
fn stems(ending: &str) -> BTreeSet<String> {
    let paths = fs::read_dir(DIR).unwrap().map(|entry| entry.unwrap().path());
    let with_ending = paths.filter(|path| path.extension().is_some_and(|e| e == ending));
    with_ending.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}
