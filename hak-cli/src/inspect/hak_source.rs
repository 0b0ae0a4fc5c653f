//! Where the crate `hak` is that the inspected program depends on.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::Result;

/// Where this command was built from.
const BUILT_FROM: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The environment variable that names a checkout, as the option `--hak` does.
const VARIABLE: &str = "HAK_SOURCE";

/// Where the crate `hak` is.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum HakSource {
    /// A folder with its `Cargo.toml`.
    Folder(PathBuf),
    /// The registry that this command came from.
    Registry,
}

impl HakSource {
    /// The option comes before the variable, and both before the place that the command knows.
    pub(super) fn find(option: Option<&Path>) -> Result<Self> {
        if let Some(folder) = option {
            return named(folder, "--hak");
        }
        if let Some(folder) = env::var_os(VARIABLE) {
            return named(Path::new(&folder), VARIABLE);
        }
        built_from(Path::new(BUILT_FROM))
    }

    /// The line of a manifest that depends on it.
    pub(super) fn dependency(&self) -> String {
        match self {
            HakSource::Folder(folder) => format!("hak = {{ path = {folder:?} }}\n"),
            HakSource::Registry => format!("hak = \"={VERSION}\"\n"),
        }
    }

    /// The versions of what it depends on, where they are written down.
    pub(super) fn lock(&self) -> Option<String> {
        match self {
            HakSource::Folder(folder) => fs::read_to_string(folder.join("Cargo.lock")).ok(),
            HakSource::Registry => None,
        }
    }
}

fn named(folder: &Path, by: &str) -> Result<HakSource> {
    let is_hak = |folder: &PathBuf| holds_hak(folder);
    let found = fs::canonicalize(folder).ok().filter(is_hak);
    found.map(HakSource::Folder).ok_or_else(|| {
        let folder = folder.display();
        format!(
            "`{folder}`, named by `{by}`, does not hold the source of hak\n   = help: name the \
             folder in which the `Cargo.toml` of the package `hak` stands"
        )
    })
}

/// The checkout, or the registry if this command came from one.
fn built_from(folder: &Path) -> Result<HakSource> {
    if let Some(checkout) = folder.parent().filter(|parent| holds_hak(parent)) {
        return Ok(HakSource::Folder(checkout.to_owned()));
    }
    let is_unpacked = folder.ancestors().any(|above| above.ends_with("registry/src"));
    if is_unpacked {
        return Ok(HakSource::Registry);
    }
    Err(format!(
        "found no source of hak to build on: `{}` is gone\n   = help: name a checkout by `--hak \
         PATH` or in the environment variable `{VARIABLE}`",
        folder.display()
    ))
}

fn holds_hak(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml"));
    manifest.is_ok_and(|text| text.lines().any(|line| line.trim() == "name = \"hak\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_the_folder_above() {
        let root = Path::new(BUILT_FROM).parent().unwrap();
        assert_eq!(built_from(Path::new(BUILT_FROM)), Ok(HakSource::Folder(root.to_owned())));
    }

    #[test]
    fn what_came_from_a_registry_depends_on_its_own_version() {
        let unpacked = Path::new("/nowhere/registry/src/index-0123/hak-cli-0.1.0");
        let source = built_from(unpacked).unwrap();
        assert_eq!(source.dependency(), format!("hak = \"={VERSION}\"\n"));
        assert_eq!(source.lock(), None);
    }

    #[test]
    fn a_checkout_that_is_gone_is_an_error() {
        let why = built_from(Path::new("/nowhere/hak-cli")).unwrap_err();
        assert!(why.starts_with("found no source of hak to build on: `/nowhere/hak-cli` is gone"));
        assert!(why.contains("`--hak PATH`") && why.contains("`HAK_SOURCE`"), "{why}");
    }
}
