//! Bad specs and the exact text each is answered with: `tests/reject/NAME.toml` and `.txt`.
//!
//! `HAK_BLESS=1 cargo test -p hak-spec` rewrites the texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DIR: &str = "tests/reject";

/// Stems of the files in `DIR` with this ending.
fn stems(ending: &str) -> BTreeSet<String> {
    let paths = fs::read_dir(DIR).unwrap().map(|entry| entry.unwrap().path());
    let with_ending = paths.filter(|path| path.extension().is_some_and(|e| e == ending));
    with_ending.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn path_of(stem: &str, ending: &str) -> PathBuf {
    Path::new(DIR).join(format!("{stem}.{ending}"))
}

/// Names of all rules.
fn rules() -> BTreeSet<String> {
    let parts = fs::read_dir("src/rules").unwrap().map(|entry| entry.unwrap().path());
    let files = parts.chain([PathBuf::from("src/rules.rs")]);
    let text: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    let rules = text.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
    rules.map(|rest| rest.split('(').next().unwrap().to_owned()).collect()
}

/// The text of a report with this crate's folder as `$DIR`.
fn refusal(path: &Path) -> String {
    let report = hak_spec::load(path).expect_err(&format!("{} was accepted", path.display()));
    report.render().replace(env!("CARGO_MANIFEST_DIR"), "$DIR")
}

#[test]
fn every_bad_spec_has_its_text() {
    let mut wrong = Vec::new();
    for stem in stems("toml") {
        let actual = refusal(&path_of(&stem, "toml"));
        let expected_path = path_of(&stem, "txt");
        if std::env::var_os("HAK_BLESS").is_some() {
            fs::write(&expected_path, &actual).unwrap();
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if actual != expected {
            wrong.push(format!("{stem}: expected\n{expected}\nfound\n{actual}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_text_has_its_spec() {
    let without: Vec<_> = stems("txt").difference(&stems("toml")).cloned().collect();
    assert_eq!(without, Vec::<String>::new());
}

/// A file whose name may not begin a type's name is called `1_RULE.toml`.
#[test]
fn every_rule_has_a_case() {
    let rules = rules();
    let cases = stems("toml");
    let cases: BTreeSet<_> = cases.iter().map(|stem| stem.trim_start_matches("1_")).collect();
    let without: Vec<_> = rules.iter().filter(|rule| !cases.contains(rule.as_str())).collect();
    assert!(rules.len() > 40, "the rules were not found");
    assert!(without.is_empty(), "no case in {DIR} for {without:?}");
}

/// One mistake, one message.
#[test]
fn no_rule_makes_another_speak() {
    let rules = rules();
    let cases = stems("toml").into_iter();
    for stem in cases.filter(|stem| rules.contains(stem.trim_start_matches("1_"))) {
        let report = hak_spec::load(&path_of(&stem, "toml")).unwrap_err();
        assert_eq!(report.problems().len(), 1, "{stem}:\n{report}");
    }
}

#[test]
fn a_missing_file_says_where_it_was_looked_for() {
    let text = refusal(Path::new("tests/reject/sizes_growl.toml"));
    assert_eq!(
        text,
        "error: cannot read `tests/reject/sizes_growl.toml`: there is no such file\n   \
         = help: looked for `$DIR/tests/reject/sizes_growl.toml`: paths start from `$DIR`\n   \
         = help: did you mean `tests/reject/sizes_grow.toml`?\n"
    );
}

#[test]
fn a_folder_is_not_a_spec() {
    let text = refusal(Path::new(DIR));
    assert!(text.starts_with("error: cannot read `tests/reject`: it is a folder, not a file\n"));
}

#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("huge.toml");
    fs::write(&path, "# long\n".repeat(200_000)).unwrap();
    let report = hak_spec::load_as(&path, "huge.toml").unwrap_err();
    let message = report.problems()[0].message();
    assert_eq!(message, "cannot read `huge.toml`: a spec has at most 128 KiB, this file has more");
}

#[test]
fn an_inline_spec_extends_no_file_without_a_folder() {
    let text = "schema = 1\nextends = \"base.toml\"";
    let report = hak_spec::parse(text, "inline spec", "Inline", None).unwrap_err();
    assert_eq!(
        report.render(),
        "error: no folder is known in which to look for `base.toml`\n  \
         --> inline spec:2:11\n   |\n 2 | extends = \"base.toml\"\n   |           ^^^^^^^^^^^\n   \
         = help: a spec that is not a file itself can extend shipped specs only\n   \
         = help: shipped specs: `general`, `web`, `batch`, `parallel`, `tiny`, `hardened`\n"
    );
}

#[test]
fn a_report_names_the_files_that_were_read() {
    let report = hak_spec::load(&path_of("base_has_problems", "toml")).unwrap_err();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(DIR);
    let expected = [dir.join("base_has_problems.toml"), dir.join("bases/broken.toml")];
    assert_eq!(report.files(), expected);
}

#[test]
fn a_problem_gives_its_place() {
    let text = "schema = 1\ncache.slots = 0\n";
    let report = hak_spec::parse(text, "inline spec", "Inline", None).unwrap_err();
    let [problem] = report.problems() else { panic!("{report}") };
    assert_eq!(&text[problem.span().unwrap()], "0");
    assert_eq!((problem.file(), problem.name()), (Some(0), Some("inline spec")));
}
