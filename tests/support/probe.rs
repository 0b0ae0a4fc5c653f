//! Builds small programs on an allocator the way a user would: a package of their own that depends
//! on `hak`, in release mode with fat LTO.
//!
//! Packages and what is built from them stay below the target directory, so that a repeated run
//! builds nothing. No network is used: the versions are those of the workspace's `Cargo.lock`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const PROFILE: &str = "\
[profile.release]
lto = \"fat\"
codegen-units = 1
panic = \"abort\"
strip = \"none\"

[workspace]
";

/// A spec that stands in `specs`.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(ROOT).join("specs").join(name).with_extension("toml")
}

/// Where packages, and specs that a test writes, stand.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("probe")
}

/// Builds the program `source` on the allocator of `spec`, on the system's when there is none,
/// and returns the executable.
pub(crate) fn build(program: &str, source: &str, spec: Option<&Path>) -> PathBuf {
    let allocator = spec.map_or("system", |spec| spec.file_stem().unwrap().to_str().unwrap());
    let name = format!("{program}-{allocator}");
    let package = folder().join(&name);
    write_if_changed(&package.join("Cargo.toml"), &manifest(&name, spec.is_some()));
    write_if_changed(&package.join("src/main.rs"), &with_allocator(source, spec));
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    run_cargo(&package);
    folder().join("target/release").join(name)
}

fn manifest(name: &str, uses_hak: bool) -> String {
    let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n");
    let dependency = format!("[dependencies]\nhak = {{ path = {ROOT:?} }}\n\n");
    package + if uses_hak { &dependency } else { "" } + PROFILE
}

fn with_allocator(source: &str, spec: Option<&Path>) -> String {
    let declare = |spec: &Path| {
        format!("\nhak::hak_allocator!(#[global_allocator] static ALLOCATOR = {spec:?});\n")
    };
    [source, &spec.map(declare).unwrap_or_default()].concat()
}

/// Writes a file, unless it says the same already: its time would make cargo build again.
pub(crate) fn write_if_changed(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn run_cargo(package: &Path) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--offline", "--quiet", "--target-dir"])
        .arg(folder().join("target"))
        .current_dir(package)
        // Flags meant for the tests, such as those of a coverage run, would change the program.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "building {} failed:\n{errors}", package.display());
}
