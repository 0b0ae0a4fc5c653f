//! Libraries that are built once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};

/// Where libraries and programs are put; what `hak` keeps there speeds the next run up.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/c");

/// A library, shared and static.
#[derive(Clone)]
pub(crate) struct Built {
    pub(crate) shared: PathBuf,
    #[allow(dead_code, reason = "not each test links with it")]
    pub(crate) archive: PathBuf,
}

/// The library of a spec, with its text unless it is a shipped one.
pub(crate) fn library(name: &str, text: &str) -> Built {
    static BUILT: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut all = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).unwrap();
    let mut spec = PathBuf::from(name);
    if !text.is_empty() {
        spec = folder.join(name).with_extension("toml");
        fs::write(&spec, text).unwrap();
    }
    let built = Built {
        shared: folder.join(format!("libhak_{name}.so")),
        archive: folder.join(format!("libhak_{name}.a")),
    };
    if all.iter().any(|one| one == name) {
        return built;
    }
    let output = process::Command::new(env!("CARGO_BIN_EXE_hak"))
        .arg("build")
        .arg(&spec)
        .arg("-o")
        .arg(&built.shared)
        .arg("--static")
        .arg(&built.archive)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    all.push(name.to_owned());
    built
}
