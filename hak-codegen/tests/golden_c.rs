//! The formatted library for C of two shipped specs: one without checks, one with all.
//!
//! `golden/c/NAME.rs` is what `specs/NAME.toml` becomes. Review it like code.
//! `HAK_BLESS=1 cargo test -p hak-codegen` rewrites the files.

#[path = "../../hak-cli/src/format.rs"]
mod format;

use std::fs;
use std::path::Path;

fn golden(name: &str) {
    let (_, text) = hak_spec::shipped().iter().find(|(one, _)| *one == name).unwrap();
    let origin = format!("specs/{name}.toml");
    let type_name = hak_spec::type_name(Path::new(&origin));
    let spec = hak_spec::parse(text, &origin, &type_name, None).unwrap();
    let code = format::format(hak_codegen::library(&spec, &origin)).unwrap();
    let path = Path::new("tests/golden/c").join(name).with_extension("rs");
    if std::env::var_os("HAK_BLESS").is_some() {
        fs::write(&path, &code).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let first = expected.lines().zip(code.lines()).position(|(was, is)| was != is);
    assert!(
        expected == code,
        "{} differs in line {:?}; if this is meant: HAK_BLESS=1 cargo test -p hak-codegen",
        path.display(),
        first.map(|line| line + 1)
    );
}

#[test]
fn general() {
    golden("general");
}

#[test]
fn hardened() {
    golden("hardened");
}
