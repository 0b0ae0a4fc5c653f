//! The user's cache folder, where `hak` keeps what it builds, and how files get there.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Why something could not be done, in the words of an error message.
type Result<T> = std::result::Result<T, String>;

/// `hak/NAME` below the folder for caches.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    below(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"), name)
}

fn below(xdg: Option<OsString>, home: Option<OsString>, name: &str) -> Result<PathBuf> {
    let absolute = |folder: OsString| Some(PathBuf::from(folder)).filter(|path| path.is_absolute());
    let caches = xdg.and_then(absolute);
    let caches = caches.or_else(|| Some(home.and_then(absolute)?.join(".cache")));
    let caches = caches.ok_or(
        "there is no folder for what is built\n   = help: set the environment variable \
         `XDG_CACHE_HOME` or `HOME` to an absolute path",
    )?;
    Ok(caches.join("hak").join(name))
}

/// Writes a file unless it says the same already: its time would make cargo build again.
pub(crate) fn update(path: &Path, text: &str) -> Result<bool> {
    let differs = !fs::read_to_string(path).is_ok_and(|old| old == text);
    if differs {
        replace(path, text)?;
    }
    Ok(differs)
}

/// Replaces a file at once: another `hak` may be reading it.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(folder))
        .and_then(|file| fs::write(file.path(), text).map(|()| file))
        .and_then(|file| Ok(file.persist(path)?));
    let describe = |error| format!("cannot write `{}`: {error}", path.display());
    written.map(drop).map_err(describe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let folder = |xdg: Option<&str>, home: Option<&str>| {
            below(xdg.map(OsString::from), home.map(OsString::from), "inspect")
        };
        assert_eq!(folder(Some("/c"), Some("/h")).unwrap(), Path::new("/c/hak/inspect"));
        assert_eq!(folder(None, Some("/h")).unwrap(), Path::new("/h/.cache/hak/inspect"));
        // What is relative does not count.
        assert_eq!(folder(Some("c"), Some("/h")).unwrap(), Path::new("/h/.cache/hak/inspect"));
        assert!(folder(None, None).unwrap_err().contains("`XDG_CACHE_HOME`"));
    }
}
