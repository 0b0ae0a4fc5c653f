//! Packages that use hak, made and built as a user would.
//!
//! They stand below the target directory and share one target directory of their own, so that
//! what they depend on is compiled once. No network is used: the versions are those of the
//! workspace's `Cargo.lock`.

#![allow(dead_code, reason = "each test uses a part")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The dependency on hak, for a manifest.
pub(crate) fn hak(key: &str) -> String {
    format!("{key} = {{ package = \"hak\", path = {ROOT:?} }}\n")
}

/// A folder with one package, or with several in a workspace.
pub(crate) struct UserCrate {
    name: String,
    dir: PathBuf,
}

/// What cargo said.
pub(crate) struct Built {
    /// Whether all went well.
    pub(crate) success: bool,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// Everything it wrote to stderr: progress, warnings, errors.
    pub(crate) stderr: String,
}

impl UserCrate {
    /// An empty folder with the workspace's versions. `name` is that of its program, and is used
    /// by one test alone.
    pub(crate) fn empty(name: &str) -> Self {
        let dir = folder().join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).unwrap();
        }
        fs::create_dir_all(&dir).unwrap();
        fs::copy(Path::new(ROOT).join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
        UserCrate { name: name.to_owned(), dir }
    }

    /// A package that depends on hak and nothing else.
    pub(crate) fn new(name: &str) -> Self {
        let manifest = manifest(name, &hak("hak"));
        UserCrate::empty(name).file("Cargo.toml", &format!("{manifest}\n[workspace]\n"))
    }

    /// Adds a file, or writes it anew.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.edit(path, text);
        self
    }

    /// Adds `specs/NAME.toml`, or writes it anew.
    pub(crate) fn spec(self, name: &str, text: &str) -> Self {
        self.file(&format!("specs/{name}.toml"), text)
    }

    /// Adds the program.
    pub(crate) fn main(self, text: &str) -> Self {
        self.file("src/main.rs", text)
    }

    /// Writes a file anew.
    pub(crate) fn edit(&self, path: &str, text: &str) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Builds with a profile, such as `dev` or `release`.
    pub(crate) fn build(&self, profile: &str) -> Built {
        self.cargo(&["build", "--profile", profile])
    }

    /// Runs a command of cargo in the folder.
    pub(crate) fn cargo(&self, args: &[&str]) -> Built {
        let Output { status, stdout, stderr } = command(&self.dir, args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Built { success: status.success(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Builds and runs the program; what it wrote to stdout.
    pub(crate) fn run(&self) -> String {
        let run = self.cargo(&["run", "--bin", &self.name]);
        run.expect_success();
        run.stdout
    }
}

impl Built {
    /// Ends the test if not all went well.
    pub(crate) fn expect_success(&self) {
        assert!(self.success, "{}", self.stderr);
    }
}

/// The head of a manifest and its dependencies.
pub(crate) fn manifest(name: &str, dependencies: &str) -> String {
    let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
    format!("{package}version = \"0.1.0\"\nlicense = \"MIT\"\n\n[dependencies]\n{dependencies}")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("user-crates")
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(args)
        .args(["--offline", "--target-dir"])
        .arg(folder().join("target"))
        .current_dir(dir)
        .env_remove("HAK_SPEC_ROOT")
        // Flags meant for the tests, such as those of a coverage run, would compile all anew.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    command
}
