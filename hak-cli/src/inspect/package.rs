//! The package of an inspected program, in the user's cache folder.
//!
//! Each spec file has a package of its own, named after it, so that a second run of an unchanged
//! spec builds nothing. All packages share one target folder.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use hak_codegen::Target;
use hak_spec::Spec;
use proc_macro2::TokenStream;

use super::Result;
use super::hak_source::HakSource;
use super::names::PROGRAM;
use crate::cache::{self, replace, update};
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
    let cache = cache::folder("inspect")?;
    let name = name(origin, hak);
    let folder = cache.join(&name);
    let manifest = folder.join("Cargo.toml");
    update_lock(&folder, hak)?;
    update(&manifest, &manifest_of(&name, hak))?;
    update(&folder.join("src/main.rs"), &format!("{SOURCE}\nconst BYTES: usize = {bytes};\n"))?;
    update(&folder.join("src/allocator.rs"), &allocator(spec, origin))?;
    Ok(Package { manifest, target: cache.join("target") })
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

#[cfg(test)]
mod tests {
    use super::*;

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
