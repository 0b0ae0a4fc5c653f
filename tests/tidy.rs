//! Style as a test: what a reader relies on in every file of this project.

use std::fs;
use std::path::{Path, PathBuf};

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
const COLUMNS_MAX: usize = 100;

/// A source file of the tree.
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn is_expected_output(&self) -> bool {
        self.path.components().any(|part| part.as_os_str() == "golden")
    }

    fn is_ui_case(&self) -> bool {
        self.path.starts_with("tests/ui")
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder with one of these endings.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        if kind.is_dir() && !hidden && name != "target" {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| path.extension().is_some_and(|e| e == *ending)) {
            found.push(path);
        }
    }
    found
}

fn sources() -> Vec<Source> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        Source { path: path.strip_prefix(root()).unwrap().to_owned(), text }
    };
    let sources: Vec<_> = files(root(), &["rs"]).into_iter().map(read).collect();
    assert!(sources.len() > 50, "the walk found only {} files", sources.len());
    sources
}

/// Fails with all complaints at once.
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_file_opens_with_its_purpose() {
    let has_purpose = |source: &Source| source.text.starts_with("//! ");
    let sources = sources();
    let ours = sources.iter().filter(|s| !s.is_expected_output() && !s.is_ui_case());
    none(ours.filter(|source| !has_purpose(source)).map(Source::name).collect());
}

#[test]
fn lines_and_files_are_short() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| !source.is_expected_output()) {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!("{}: {lines} lines", source.name()));
        }
        for (number, line) in (1..).zip(source.text.lines()) {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                complaints.push(format!("{}:{number}: {columns} columns", source.name()));
            }
        }
    }
    none(complaints);
}

/// Relies on the formatter: a function ends at the first brace that stands where it began.
#[test]
fn functions_are_short() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| !source.is_expected_output()) {
        let lines: Vec<_> = source.text.lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let is_function = code.starts_with("fn ") || code.contains(" fn ");
            let head = lines[start..].iter().find(|line| line.ends_with(['{', ';', '}']));
            let has_body = head.is_some_and(|head| !head.ends_with(';'));
            if !is_function || code.starts_with("//") || !has_body {
                continue;
            }
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            let length = lines[start..].iter().position(|line| *line == end).unwrap_or(0);
            if length > FUNCTION_LINES_MAX {
                complaints.push(format!("{}:{}: {length} lines", source.name(), start + 1));
            }
        }
    }
    none(complaints);
}

/// The order is the one in the head of `hak-runtime/src/lib.rs`.
#[test]
fn runtime_layers_look_down_only() {
    let folder = root().join("hak-runtime/src");
    let head = fs::read_to_string(folder.join("lib.rs")).unwrap();
    let layers: Vec<_> = head
        .lines()
        .skip_while(|line| *line != "//! # Layers")
        .take_while(|line| *line != "//! # Locks")
        .filter(|line| line.starts_with("//! `"))
        .take_while(|line| line.contains(" · "))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect();
    assert!(layers.len() > 10, "the list of layers was not found");
    let mut complaints = Vec::new();
    for path in files(&folder, &["rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        let relative = path.strip_prefix(&folder).unwrap().with_extension("");
        let layer = relative.iter().next().unwrap().to_str().unwrap();
        let Some(at) = layers.iter().position(|name| *name == layer) else {
            assert!(["lib", "lookup"].contains(&layer), "`{layer}` is in no layer");
            continue;
        };
        let code = text.split("#[cfg(test)]").next().unwrap();
        let uses = code
            .split("crate::")
            .skip(1)
            .map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap());
        for used in uses.filter(|used| layers[..at].contains(used)) {
            complaints.push(format!("`{layer}` uses `{used}`, which stands above it"));
        }
    }
    none(complaints);
}

/// Anything else of the standard library might allocate, and so come back to the runtime.
#[test]
fn the_runtime_takes_nothing_else_from_std() {
    let mut complaints = Vec::new();
    for path in files(&root().join("hak-runtime/src"), &["rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        let tests = ["models", "modelled", "fake", "fake_for_models", "tests"];
        let below = path.strip_prefix(root().join("hak-runtime/src")).unwrap().with_extension("");
        if below.iter().any(|part| tests.iter().any(|name| part == *name)) {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let uses = code.lines().filter(|line| line.contains("std::") && !line.contains("//"));
        for line in uses.filter(|line| !line.contains("std::thread_local")) {
            complaints.push(format!("{}: {line}", path.display()));
        }
    }
    none(complaints);
}

#[test]
fn expected_output_has_its_input() {
    let mut complaints = Vec::new();
    for (folder, ending, input) in
        [("tests/ui", "stderr", "rs"), ("hak-spec/tests/reject", "txt", "toml")]
    {
        for path in files(&root().join(folder), &[ending]) {
            if !path.with_extension(input).exists() {
                complaints.push(format!("{} has no .{input} beside it", path.display()));
            }
        }
    }
    none(complaints);
}

/// Every package takes version, edition and lints from the workspace.
#[test]
fn packages_share_their_settings() {
    let mut complaints = Vec::new();
    for path in files(root(), &["toml"]).iter().filter(|path| path.ends_with("Cargo.toml")) {
        let text = fs::read_to_string(path).unwrap();
        for setting in ["version.workspace", "edition.workspace", "[lints]\nworkspace = true"] {
            if !path.starts_with(root().join("tests")) && !text.contains(setting) {
                complaints.push(format!("{} lacks `{setting}`", path.display()));
            }
        }
    }
    none(complaints);
}
