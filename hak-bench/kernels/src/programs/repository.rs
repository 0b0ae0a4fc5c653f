//! The repository's own files, as input.

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::stop::stop;

/// A text of the repository.
pub(super) struct File {
    /// From the root on.
    pub(super) path: String,
    pub(super) text: String,
}

/// The Rust sources of all crates: what lies in their folders `src`. Without them the process
/// ends.
pub(super) fn sources() -> Vec<File> {
    let in_src = |path: &Path| path.parent().is_some_and(|it| it.iter().any(|it| it == "src"));
    read(&root(), |path| in_src(path) && path.extension().is_some_and(|it| it == "rs"))
        .unwrap_or_else(|why| stop(why))
}

/// The pages in Markdown: those of `docs`, and the ones beside them. Without them the process
/// ends.
pub(super) fn pages() -> Vec<File> {
    let beside_or_in_docs = |path: &Path| path.starts_with("docs") || path.iter().count() == 1;
    read(&root(), |path| beside_or_in_docs(path) && path.extension().is_some_and(|it| it == "md"))
        .unwrap_or_else(|why| stop(why))
}

/// Where the repository was when this was built.
fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).unwrap_or(crate_folder).to_owned()
}

/// All files below `root` that are `wanted` by their path from there, in order of their names.
fn read(root: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<File>, String> {
    let hint = "this kernel reads hak's repository where it was built; build it anew from there";
    let cannot = |path: &Path, why: &dyn std::fmt::Display| {
        format!("could not read {}: {why}; {hint}", path.display())
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(is_ours) {
        let entry = entry.map_err(|error| cannot(error.path().unwrap_or(root), &error))?;
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if entry.file_type().is_file() && wanted(path) {
            let text = fs::read_to_string(entry.path());
            let text = text.map_err(|error| cannot(entry.path(), &error))?;
            files.push(File { path: path.display().to_string(), text });
        }
    }
    if files.is_empty() {
        return Err(cannot(root, &"the files that it needs are not there"));
    }
    Ok(files)
}

/// Neither hidden nor built.
fn is_ours(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    entry.depth() == 0 || !(name == "target" || name.to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{File, pages, read, sources};

    fn has(files: &[File], path: &str) -> bool {
        files.iter().any(|file| file.path == path && !file.text.is_empty())
    }

    #[test]
    fn sources_are_those_of_the_crates() {
        let sources = sources();
        for path in ["src/lib.rs", "hak-runtime/src/lib.rs", "hak-spec/src/lib.rs"] {
            assert!(has(&sources, path), "{path}");
        }
        let only = |file: &File| file.path.ends_with(".rs") && !file.path.contains("golden");
        assert!(sources.iter().all(only));
        assert!(!has(&sources, "tests/tidy.rs"));
    }

    #[test]
    fn pages_are_those_of_the_docs() {
        let pages = pages();
        for path in ["README.md", "ARCHITECTURE.md", "docs/hardening.md"] {
            assert!(has(&pages, path), "{path}");
        }
        assert!(pages.iter().all(|page| page.path.ends_with(".md")));
    }

    #[test]
    fn a_missing_repository_is_told() {
        let message = |root: &str, wanted| read(Path::new(root), |_| wanted).err().unwrap();
        let missing = message("/proc/no-such-folder", true);
        assert!(missing.starts_with("could not read /proc/no-such-folder: "), "{missing}");
        let empty = message(env!("CARGO_MANIFEST_DIR"), false);
        assert!(empty.contains("the files that it needs are not there; "), "{empty}");
        assert!(empty.ends_with("build it anew from there"), "{empty}");
    }
}
