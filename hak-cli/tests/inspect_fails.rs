//! What `hak inspect` says when a spec, or something that it needs, is wrong or not there.

#[path = "support/place.rs"]
mod place;

use std::path::Path;

use place::{Ended, Place};

#[test]
fn problems_of_both_specs_are_shown() {
    let place = Place::new();
    place.write("bad.toml", "schema = 1\nclasses.sizes = [64, 48]\n");
    let ended = place.run(&["bad.toml", "./bad.toml"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    assert_eq!(ended.stderr.matches("error: class of 48 bytes follows one of 64").count(), 2);
}

#[test]
fn a_spec_that_cannot_be_read_is_a_failure() {
    Place::new().fails(&["nowhere.toml"], "cannot read `nowhere.toml`: there is no such file");
}

#[test]
fn three_specs_are_too_many() {
    Place::new().fails(&["general", "web", "tiny"], "unexpected value 'tiny'");
}

#[test]
fn json_holds_no_listing() {
    let why = "the argument '--json' cannot be used with '--listing'";
    Place::new().fails(&["general", "--json", "--listing"], why);
}

#[test]
fn a_source_must_be_hak() {
    let place = Place::new();
    let ended = place.fails(
        &["small.toml", "--hak", "."],
        "`.`, named by `--hak`, does not hold the source of hak\n   = help: name the folder",
    );
    assert!(ended.stderr.contains("`Cargo.toml` of the package `hak`"), "{}", ended.stderr);
    let place = place.with("HAK_SOURCE", "/nowhere");
    place.fails(&["small.toml"], "`/nowhere`, named by `HAK_SOURCE`, does not hold the source");
}

/// The option comes before the variable.
#[test]
fn a_source_may_be_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_str().unwrap();
    let place = Place::new().with("HAK_SOURCE", "/nowhere");
    let text = place.text(&["small.toml", "--hak", root]);
    assert!(text.starts_with("small.toml: `Small`, 4 classes"), "{text}");
}

#[test]
fn what_cargo_says_is_shown() {
    let place = Place::new();
    place.write("hak/Cargo.toml", "[package]\nname = \"hak\"\nedition = \"2024\"\n");
    place.write("hak/src/lib.rs", "compile_error!(\"not the hak that was meant\");\n");
    let ended = place.fails(
        &["small.toml", "--hak", "hak"],
        "the program to inspect `small.toml` by does not build; cargo said:\n",
    );
    assert!(ended.stderr.contains("error: not the hak that was meant\n"), "{}", ended.stderr);
}

#[test]
fn without_cargo_nothing_is_built() {
    let place = Place::new().with("CARGO", "/nowhere/cargo");
    let ended = place.fails(&["small.toml"], "cannot start `/nowhere/cargo`: No such file");
    assert!(ended.stderr.ends_with("it needs Rust\n"), "{}", ended.stderr);
}

#[test]
fn a_cache_folder_is_needed() {
    let place = Place::new().with("XDG_CACHE_HOME", "/dev/null");
    place.fails(&["small.toml"], "cannot write `/dev/null/hak/inspect/hak_inspected_small_");
    let mut command = Place::new().command(&["general"]);
    let ended = Ended::of(command.env_remove("XDG_CACHE_HOME").env_remove("HOME"));
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert!(ended.stderr.starts_with("error: there is no folder for what is built\n"));
}

#[test]
fn a_limit_that_is_too_low_is_named() {
    let place = Place::new();
    let spec = "schema = 1\nclasses.sizes = [16, 32]\nsuperslab.limit = \"128 KiB\"\n";
    place.write("limited.toml", spec);
    let ended = place.fails(
        &["limited.toml"],
        "cannot run the program of `limited.toml`: its allocator has no memory for 32 bytes\n",
    );
    assert!(ended.stderr.ends_with("= help: see `superslab.limit`\n"), "{}", ended.stderr);
}
