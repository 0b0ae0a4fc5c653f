//! Packages that use hak in other ways than an only crate with one dependency called `hak`.

mod support {
    pub(crate) mod user_crate;
}

use std::fs;

use support::user_crate::{UserCrate, hak, manifest};

const SPEC: &str = "schema = 1\nclasses.sizes = [16, 32, 48]\n";

/// The program prints the number of classes.
fn main_of(krate: &str, path: &str) -> String {
    format!(
        "{krate}::hak_allocator!(#[global_allocator] static ALLOC = \"{path}\");\n\
         fn main() {{\n    println!(\"{{}} classes\", Small::stats().classes.len());\n}}\n"
    )
}

#[test]
fn the_dependency_may_be_renamed() {
    let program = manifest("renamed-dependency", &hak("memory"));
    let package = UserCrate::empty("renamed-dependency")
        .file("Cargo.toml", &format!("{program}\n[workspace]\n"))
        .spec("small", SPEC)
        .main(&main_of("memory", "specs/small.toml"));
    assert_eq!(package.run(), "3 classes\n");
}

/// A crate of the user's own passes the macro on; the program knows no `hak`.
#[test]
fn the_macro_may_be_passed_on() {
    let program = manifest("macro-passed-on", "middle = { path = \"middle\" }\n");
    let package = UserCrate::empty("macro-passed-on")
        .file("Cargo.toml", &format!("{program}\n[workspace]\n"))
        .spec("small", SPEC)
        .main(&main_of("middle::memory", "specs/small.toml"))
        .file("middle/Cargo.toml", &manifest("middle", &hak("hak")))
        .file("middle/src/lib.rs", "pub use hak as memory;\n");
    assert_eq!(package.run(), "3 classes\n");
}

/// Crates that are called like something in generated code.
#[test]
fn other_dependencies_take_no_name() {
    let dependencies = ["runtime", "ptr"].map(|name| (name, format!("deps/{name}")));
    let lines: String = dependencies
        .iter()
        .map(|(name, path)| format!("{name} = {{ path = {path:?} }}\n"))
        .collect();
    let program = manifest("other-dependencies", &format!("{}{lines}", hak("hak")));
    let mut package = UserCrate::empty("other-dependencies")
        .file("Cargo.toml", &format!("{program}\n[workspace]\n"))
        .spec("small", SPEC)
        .main(&main_of("hak", "specs/small.toml"));
    for (name, path) in &dependencies {
        package = package
            .file(&format!("{path}/Cargo.toml"), &manifest(name, ""))
            .file(&format!("{path}/src/lib.rs"), "");
    }
    assert_eq!(package.run(), "3 classes\n");
}

/// Paths start from the member's folder; its documentation is tested from there too.
#[test]
fn a_member_of_a_workspace_finds_its_spec() {
    let library = "\
//! ```
//! hak::hak_allocator!(struct Documented = \"specs/small.toml\");
//! fn main() {
//!     assert_eq!(Documented::stats().classes.len(), 3);
//! }
//! ```

hak::hak_allocator!(pub struct Exported = \"specs/small.toml\");
";
    let package = UserCrate::empty("workspace-member")
        .file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n")
        .file("crates/member/Cargo.toml", &manifest("workspace-member", &hak("hak")))
        .file("crates/member/specs/small.toml", SPEC)
        .file("crates/member/src/lib.rs", library)
        .file("crates/member/src/main.rs", &main_of("hak", "specs/small.toml"));
    assert_eq!(package.run(), "3 classes\n");
    let doctest = package.cargo(&["test", "--doc"]);
    doctest.expect_success();
    assert!(doctest.stdout.contains("1 passed"), "{}", doctest.stdout);
}

/// What `cargo package` takes along is enough to build.
#[test]
fn a_packed_crate_holds_its_spec() {
    let dependency = hak("hak").replace(" }", ", version = \"0.1\" }");
    let program = manifest("packed-crate", &dependency);
    let package = UserCrate::empty("packed-crate")
        .file("Cargo.toml", &format!("{program}\n[workspace]\n"))
        .spec("small", "schema = 1\nextends = \"base.toml\"\n")
        .spec("base", SPEC)
        .main(&main_of("hak", "specs/small.toml"));
    let listed = package.cargo(&["package", "--list", "--allow-dirty"]);
    listed.expect_success();
    let mut unpacked = UserCrate::empty("packed-crate-unpacked");
    for file in listed.stdout.lines().filter(|file| !file.starts_with("Cargo.toml.")) {
        // Some are made for the package.
        if let Ok(text) = fs::read_to_string(package.dir().join(file)) {
            unpacked = unpacked.file(file, &text.replace("packed-crate", "packed-crate-unpacked"));
        }
    }
    assert_eq!(unpacked.run(), "3 classes\n");
}

#[test]
fn release_builds_run_too() {
    let package = UserCrate::new("release-build")
        .spec("small", SPEC)
        .main(&main_of("hak", "specs/small.toml"));
    package.build("release").expect_success();
    let run = package.cargo(&["run", "--profile", "release"]);
    assert_eq!(run.stdout, "3 classes\n", "{}", run.stderr);
}

/// Warnings are errors, and unsafe code is forbidden, in the user's crate.
#[test]
fn generated_code_warns_of_nothing() {
    let lints = "\
        #![deny(warnings, unused, missing_docs, unsafe_code, unreachable_pub)]\n\
        #![deny(missing_debug_implementations, rust_2018_idioms, unused_qualifications)]\n\
        //! A program.\n\n";
    let package = UserCrate::new("no-warnings")
        .spec("small", SPEC)
        .main(&[lints, &main_of("hak", "specs/small.toml")].concat());
    assert_eq!(package.run(), "3 classes\n");
}
