//! The two crates of a library: the runtime, which all libraries share, and what a spec becomes.

use std::path::{Path, PathBuf};

use hak_spec::Spec;
use include_dir::{Dir, DirEntry, include_dir};
use sha2::{Digest as _, Sha256};

use super::Result;
use crate::cache::{replace, update};
use crate::format::format;

/// The source of `hak-runtime`: a link in the repository, and a copy in a published package.
static RUNTIME: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/runtime");

/// The version of `libc`.
const LOCK: &str = include_str!("../../c/Cargo.lock");

const VERSION: &str = env!("CARGO_PKG_VERSION");
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Letters of a name that come from what is named.
const DIGEST_LETTERS: usize = 24;

/// What is written and built.
pub(super) struct Crates {
    /// Names the library by all that goes into it.
    pub(super) name: String,
    /// The folder of the runtime, named by what is in it.
    runtime: String,
    /// The source of the library's crate.
    source: String,
}

impl Crates {
    /// The crates of a spec; `shown` is how it is called, and `compiler` what builds them.
    pub(super) fn new(spec: &Spec, shown: &str, compiler: &str) -> Self {
        let source = format(hak_codegen::library(spec, shown)).expect("generated code is Rust");
        let runtime = format!("runtime-{}", digest(&files()));
        let manifest = manifest("", &runtime);
        let inputs = [&source, &runtime, &manifest, LOCK, VERSION, compiler];
        let key = digest(&inputs.map(str::as_bytes).map(|bytes| (PathBuf::new(), bytes)));
        let name = format!("hak_{}_{key}", spec.name.to_lowercase());
        Crates { name, runtime, source }
    }

    /// Writes them, and gives the library's manifest.
    pub(super) fn write(&self, cache: &Path) -> Result<PathBuf> {
        let runtime = cache.join(&self.runtime);
        for (path, text) in files() {
            update(&runtime.join("src").join(path), &String::from_utf8_lossy(text))?;
        }
        update(&runtime.join("Cargo.toml"), &runtime_manifest())?;
        let folder = cache.join(&self.name);
        let path = folder.join("Cargo.toml");
        update(&path, &manifest(&self.name, &self.runtime))?;
        update(&folder.join("src/lib.rs"), &self.source)?;
        replace(&folder.join("Cargo.lock"), LOCK)?;
        Ok(path)
    }
}

/// The runtime's files, but for those of its tests and models.
fn files() -> Vec<(PathBuf, &'static [u8])> {
    let mut all = Vec::new();
    let mut folders = vec![&RUNTIME];
    while let Some(folder) = folders.pop() {
        for entry in folder.entries() {
            match entry {
                DirEntry::Dir(folder) => folders.push(folder),
                DirEntry::File(file) => all.push((file.path().to_owned(), file.contents())),
            }
        }
    }
    all.sort();
    all
}

/// A name for texts, each with its path.
fn digest<T: AsRef<[u8]>>(texts: &[(PathBuf, T)]) -> String {
    let mut hasher = Sha256::new();
    for (path, text) in texts {
        let (path, text) = (path.as_os_str().as_encoded_bytes(), text.as_ref());
        // The lengths say where one ends and the next begins.
        hasher.update(path.len().to_le_bytes());
        hasher.update(path);
        hasher.update(text.len().to_le_bytes());
        hasher.update(text);
    }
    let letters: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    letters[..DIGEST_LETTERS].to_owned()
}

fn runtime_manifest() -> String {
    format!(
        "\
[package]
name = \"hak-runtime\"
version = \"{VERSION}\"
edition = \"2024\"
rust-version = \"{RUST_VERSION}\"
autobins = false

[features]
c = []

[dependencies]
libc = {{ version = \"0.2\", default-features = false }}

[lints.rust]
unexpected_cfgs = {{ level = \"warn\", check-cfg = [\"cfg(loom)\"] }}
"
    )
}

fn manifest(name: &str, runtime: &str) -> String {
    format!(
        "\
[package]
name = \"{name}\"
edition = \"2024\"
rust-version = \"{RUST_VERSION}\"

[lib]
crate-type = [\"cdylib\", \"staticlib\"]

[dependencies]
hak-runtime = {{ path = \"../{runtime}\", features = [\"c\"] }}

[profile.release]
opt-level = 3
lto = \"fat\"
codegen-units = 1
panic = \"abort\"
debug = false
debug-assertions = false
overflow-checks = false
strip = \"debuginfo\"

[workspace]
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str, compiler: &str) -> String {
        let spec = hak_spec::parse(text, "test.toml", "Test", None).unwrap();
        Crates::new(&spec, "test.toml", compiler).name
    }

    #[test]
    fn a_name_follows_from_what_goes_in() {
        let usual = name("schema = 1", "rustc 1");
        assert!(usual.starts_with("hak_test_"), "{usual}");
        assert_eq!(usual, name("schema = 1 # the same", "rustc 1"));
        assert_ne!(usual, name("schema = 1", "rustc 2"));
        assert_ne!(usual, name("schema = 1\nlarge.keep = 0", "rustc 1"));
    }

    #[test]
    fn the_runtime_is_carried_whole() {
        let files = files();
        assert!(files.iter().any(|(path, _)| path == Path::new("lib.rs")));
        assert!(files.iter().any(|(path, _)| path == Path::new("superslab/pool.rs")));
    }

    /// A library is built on the `libc` that all else is tested with.
    #[test]
    fn the_version_of_libc_is_the_workspaces() {
        let Ok(workspace) = std::fs::read_to_string("../Cargo.lock") else { return };
        let libc = |lock: &str| {
            let packages = lock.split("[[package]]").map(str::trim);
            packages.into_iter().find(|one| one.contains("name = \"libc\"")).map(str::to_owned)
        };
        assert!(libc(LOCK).is_some_and(|lines| lines.contains("checksum")));
        assert_eq!(libc(LOCK), libc(&workspace), "copy the lines to `c/Cargo.lock`");
    }
}
