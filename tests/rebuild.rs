//! An edit of a spec, or of a file that it extends, rebuilds the crate that uses it.

mod support {
    pub(crate) mod user_crate;
}

use support::user_crate::UserCrate;

/// Prints the sizes of all classes.
const MAIN: &str = "
hak::hak_allocator!(#[global_allocator] static ALLOC = \"specs/small.toml\");

fn main() {
    println!(\"{:?}\", Small::stats().classes.map(|class| class.bytes));
}
";

fn spec(sizes: &str) -> String {
    format!("schema = 1\nclasses.sizes = {sizes}\n")
}

#[test]
fn an_edit_of_the_spec_rebuilds() {
    let package = UserCrate::new("rebuild-spec").spec("small", &spec("[16, 32]"));
    let package = package.main(MAIN);
    assert_eq!(package.run(), "[16, 32]\n");
    package.edit("specs/small.toml", &spec("[16, 48, 64]"));
    assert_eq!(package.run(), "[16, 48, 64]\n");
}

#[test]
fn an_edit_of_what_the_spec_extends_rebuilds() {
    let package = UserCrate::new("rebuild-base")
        .spec("small", "schema = 1\nextends = \"middle.toml\"\n")
        .spec("middle", "schema = 1\nextends = \"bases/base.toml\"\n")
        .file("specs/bases/base.toml", &spec("[16, 32]"))
        .main(MAIN);
    assert_eq!(package.run(), "[16, 32]\n");
    package.edit("specs/bases/base.toml", &spec("[64]"));
    assert_eq!(package.run(), "[64]\n");
    package.edit("specs/middle.toml", &spec("[128]"));
    assert_eq!(package.run(), "[128]\n");
}

#[test]
fn an_edit_of_what_an_inline_spec_extends_rebuilds() {
    let inline = "struct Small = { schema = 1, extends = \"specs/base.toml\" }";
    let package = UserCrate::new("rebuild-inline")
        .spec("base", &spec("[16, 32]"))
        .main(&MAIN.replace("#[global_allocator] static ALLOC = \"specs/small.toml\"", inline));
    assert_eq!(package.run(), "[16, 32]\n");
    package.edit("specs/base.toml", &spec("[64]"));
    assert_eq!(package.run(), "[64]\n");
}

#[test]
fn a_spec_that_was_wrong_is_read_again() {
    let package = UserCrate::new("rebuild-mended").spec("small", &spec("[32, 16]"));
    let package = package.main(MAIN);
    let built = package.build("dev");
    assert!(!built.success);
    assert!(
        built.stderr.contains("error: class of 16 bytes follows one of 32"),
        "{}",
        built.stderr
    );
    package.edit("specs/small.toml", &spec("[16, 32]"));
    assert_eq!(package.run(), "[16, 32]\n");
    package.edit("specs/small.toml", &spec("[16, 31]"));
    assert!(!package.build("dev").success);
    package.edit("specs/small.toml", &spec("[16, 32]"));
    assert_eq!(package.run(), "[16, 32]\n");
}

#[test]
fn a_spec_that_was_missing_is_found() {
    let package = UserCrate::new("rebuild-missing").main(MAIN);
    let built = package.build("dev");
    assert!(!built.success);
    assert!(built.stderr.contains("error: cannot read `specs/small.toml`"), "{}", built.stderr);
    package.edit("specs/small.toml", &spec("[16, 32]"));
    assert_eq!(package.run(), "[16, 32]\n");
}

#[test]
fn without_an_edit_nothing_is_built() {
    let package = UserCrate::new("rebuild-nothing").spec("small", &spec("[16, 32]"));
    let package = package.main(MAIN);
    let first = package.build("dev");
    first.expect_success();
    assert!(first.stderr.contains("Compiling rebuild-nothing"), "{}", first.stderr);
    let second = package.build("dev");
    second.expect_success();
    assert!(!second.stderr.contains("Compiling"), "{}", second.stderr);
}
