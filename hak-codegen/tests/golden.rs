//! The formatted expansion of every shipped spec, and of variants that no shipped spec shows.
//!
//! `golden/NAME.rs` is what `specs/NAME.toml`, or `golden/NAME.toml` for a variant, becomes.
//! Review it like code. `HAK_BLESS=1 cargo test -p hak-codegen` rewrites the files.

#[path = "../../hak-cli/src/format.rs"]
mod format;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hak_codegen::Target;
use hak_spec::{Report, Spec};

const DIR: &str = "tests/golden";
/// Lines shown from the first that differs.
const SHOWN_LINES: usize = 8;

/// A spec, under the path that its rustdoc names.
struct Case {
    name: String,
    origin: String,
    spec: Result<Spec, Report>,
}

fn shipped_cases() -> impl Iterator<Item = Case> {
    hak_spec::shipped().iter().map(|(name, text)| {
        let origin = format!("specs/{name}.toml");
        let type_name = hak_spec::type_name(Path::new(&origin));
        let spec = hak_spec::parse(text, &origin, &type_name, None);
        Case { name: (*name).to_owned(), origin, spec }
    })
}

fn variant_cases() -> impl Iterator<Item = Case> {
    stems("toml").into_iter().map(|name| {
        let origin = format!("{DIR}/{name}.toml");
        let spec = hak_spec::load(Path::new(&origin));
        Case { name, origin, spec }
    })
}

/// Stems of the files in `DIR` with this ending.
fn stems(ending: &str) -> BTreeSet<String> {
    let paths = fs::read_dir(DIR).unwrap().map(|entry| entry.unwrap().path());
    let with_ending = paths.filter(|path| path.extension().is_some_and(|e| e == ending));
    with_ending.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(DIR).join(format!("{name}.rs"))
}

/// The formatted code, or why there is none.
fn expansion(case: &Case) -> Result<String, String> {
    let spec = case.spec.as_ref().map_err(ToString::to_string)?;
    let tokens = hak_codegen::expand(spec, &Target::plain(&case.origin));
    format::format(tokens).map_err(|error| format!("{}: {error}", case.name))
}

/// What to say of a file that is not what it should be.
fn difference(path: &Path, expected: &str, found: &str) -> String {
    let same = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let from = |text: &str, mark: &str| -> String {
        let lines = text.lines().skip(same).take(SHOWN_LINES);
        lines.map(|line| format!("{mark}{line}\n")).collect()
    };
    let (was, is) = (from(expected, "- "), from(found, "+ "));
    format!("{}:{} (- in the file, + generated)\n{was}{is}", path.display(), same + 1)
}

fn check(case: &Case) -> Option<String> {
    let path = golden_path(&case.name);
    let found = match expansion(case) {
        Ok(found) => found,
        Err(why) => return Some(format!("{why}\n")),
    };
    if std::env::var_os("HAK_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    match fs::read_to_string(&path) {
        Ok(expected) if expected == found => None,
        Ok(expected) => Some(difference(&path, &expected, &found)),
        Err(error) => Some(format!("{}: {error}\n", path.display())),
    }
}

#[test]
fn every_spec_expands_to_its_golden_file() {
    let wrong: Vec<_> =
        shipped_cases().chain(variant_cases()).filter_map(|case| check(&case)).collect();
    assert!(
        wrong.is_empty(),
        "{}\nif this is meant: HAK_BLESS=1 cargo test -p hak-codegen\n",
        wrong.join("\n")
    );
}

#[test]
fn every_golden_file_has_its_spec() {
    let cases: BTreeSet<_> = shipped_cases().chain(variant_cases()).map(|case| case.name).collect();
    let orphans: Vec<_> = stems("rs").difference(&cases).cloned().collect();
    assert_eq!(orphans, Vec::<String>::new(), "no spec in specs/ or {DIR}");
}

/// A variant called like a shipped spec would share its golden file.
#[test]
fn no_variant_is_called_like_a_shipped_spec() {
    let shipped: BTreeSet<_> = shipped_cases().map(|case| case.name).collect();
    assert_eq!(stems("toml").intersection(&shipped).next(), None);
}

#[test]
fn generated_code_names_no_absolute_path_of_this_machine() {
    for case in shipped_cases().chain(variant_cases()) {
        let code = expansion(&case).unwrap();
        assert!(!code.contains(env!("CARGO_MANIFEST_DIR")), "{}", case.name);
    }
}
