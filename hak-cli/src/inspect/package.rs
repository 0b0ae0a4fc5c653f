//! The package of an inspected program, in the user's cache folder.
//!
//! Each spec file has a package of its own, named after it, so that a second run of an unchanged
//! spec builds nothing. All packages share one target folder.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use hak_codegen::Target;
use hak_spec::Spec;
use proc_macro2::TokenStream;

use super::Result;
use super::hak_source::HakSource;
use super::names::PROGRAM;
use crate::format::format;

const SOURCE: &str = include_str!("../../probe/main.rs");

/// The profile: a release build that keeps its symbols.
pub(super) const PROFILE: &str = "inspect";

const PROFILE_SETTINGS: &str = "\
[profile.inspect]
inherits = \"release\"
opt-level = 3
lto = \"fat\"
codegen-units = 1
panic = \"abort\"
strip = \"none\"
debug = false
debug-assertions = false
overflow-checks = false

[workspace]
";

/// A package that is written.
pub(super) struct Package {
    pub(super) manifest: PathBuf,
    pub(super) target: PathBuf,
}

/// Writes the package of a spec; `bytes` is what the constant layouts ask for.
pub(super) fn write(origin: &Path, spec: &Spec, bytes: u32, hak: &HakSource) -> Result<Package> {
    let cache = cache_folder(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))?;
    let name = name(origin, hak);
    let folder = cache.join(&name);
    let manifest = folder.join("Cargo.toml");
    update_lock(&folder, hak)?;
    update(&manifest, &manifest_of(&name, hak))?;
    update(&folder.join("src/main.rs"), &format!("{SOURCE}\nconst BYTES: usize = {bytes};\n"))?;
    update(&folder.join("src/allocator.rs"), &allocator(spec, origin))?;
    Ok(Package { manifest, target: cache.join("target") })
}

/// `hak/inspect` below the folder for caches.
fn cache_folder(xdg: Option<OsString>, home: Option<OsString>) -> Result<PathBuf> {
    let absolute = |folder: OsString| Some(PathBuf::from(folder)).filter(|path| path.is_absolute());
    let caches = xdg.and_then(absolute);
    let caches = caches.or_else(|| Some(home.and_then(absolute)?.join(".cache")));
    let caches = caches.ok_or(
        "there is no folder for what is built\n   = help: set the environment variable \
         `XDG_CACHE_HOME` or `HOME` to an absolute path",
    )?;
    Ok(caches.join("hak/inspect"))
}

/// Two files of the same name get different packages, and so does one that is built on different
/// sources of hak: both may be at work at the same time.
fn name(origin: &Path, hak: &HakSource) -> String {
    let file = fs::canonicalize(origin).unwrap_or_else(|_| origin.to_owned());
    let mut hasher = DefaultHasher::new();
    (&file, hak).hash(&mut hasher);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let letters = stem.chars().filter(char::is_ascii_alphanumeric);
    format!("{PROGRAM}_{}_{:016x}", letters.collect::<String>(), hasher.finish())
}

fn manifest_of(name: &str, hak: &HakSource) -> String {
    let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n");
    format!("{package}[dependencies]\n{}libc = \"0.2\"\n\n{PROFILE_SETTINGS}", hak.dependency())
}

/// What the spec becomes, as the global allocator of the program.
fn allocator(spec: &Spec, origin: &Path) -> String {
    let target = Target::plain(&origin.to_string_lossy());
    let instance = format!("#[global_allocator] static HAK: {0} = {0};", spec.name);
    let instance: TokenStream = instance.parse().expect("a name of a type was checked");
    let items = [hak_codegen::expand(spec, &target), instance].into_iter().collect();
    format(items).expect("generated code is Rust")
}

/// The versions that hak was tested with. Cargo then leaves out what the program does not need.
fn update_lock(folder: &Path, hak: &HakSource) -> Result<()> {
    let Some(lock) = hak.lock() else { return Ok(()) };
    if update(&folder.join("hak.lock"), &lock)? {
        replace(&folder.join("Cargo.lock"), &lock)?;
    }
    Ok(())
}

/// Writes a file unless it says the same already: its time would make cargo build again.
fn update(path: &Path, text: &str) -> Result<bool> {
    let differs = !fs::read_to_string(path).is_ok_and(|old| old == text);
    if differs {
        replace(path, text)?;
    }
    Ok(differs)
}

/// Replaces a file at once: another `hak inspect` may be reading it.
fn replace(path: &Path, text: &str) -> Result<()> {
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
            cache_folder(xdg.map(OsString::from), home.map(OsString::from))
        };
        assert_eq!(folder(Some("/c"), Some("/h")).unwrap(), Path::new("/c/hak/inspect"));
        assert_eq!(folder(None, Some("/h")).unwrap(), Path::new("/h/.cache/hak/inspect"));
        // What is relative does not count.
        assert_eq!(folder(Some("c"), Some("/h")).unwrap(), Path::new("/h/.cache/hak/inspect"));
        assert!(folder(None, None).unwrap_err().contains("`XDG_CACHE_HOME`"));
    }

    #[test]
    fn packages_are_named_after_files_and_sources() {
        let (one, other) = (Path::new("/a/my-Web.toml"), Path::new("/b/my-Web.toml"));
        let [here, there] = ["/h", "/t"].map(|folder| HakSource::Folder(folder.into()));
        assert!(name(one, &here).starts_with("hak_inspected_myweb_"));
        assert_eq!(name(one, &here), name(one, &here));
        assert_ne!(name(one, &here), name(other, &here));
        assert_ne!(name(one, &here), name(one, &there));
    }
}
