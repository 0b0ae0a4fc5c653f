//! Libraries with the C interface: written, built by cargo, and kept in the user's cache folder.
//!
//! A library's crate is what its spec becomes, and the runtime, whose source this command carries;
//! its only dependency is `libc`, in one version, so that without a network it builds as soon as
//! cargo has that. A build is named by all that goes into it. Who finds one of that name calls no
//! cargo; of several who do not, one builds and the others wait.

mod crates;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hak_spec::Spec;
use indicatif::ProgressBar;

use crate::cache;
use crates::Crates;

/// Why something could not be done, in the words of an error message.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// A library that is built.
pub(crate) struct Library {
    pub(crate) shared: PathBuf,
    pub(crate) archive: PathBuf,
}

impl Library {
    /// The library in a folder.
    fn in_folder(folder: &Path) -> Self {
        Library { shared: folder.join("libhak.so"), archive: folder.join("libhak.a") }
    }

    /// Whether both files are there, and not emptied.
    fn is_there(&self) -> bool {
        let has_bytes = |path: &Path| {
            path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
        };
        has_bytes(&self.shared) && has_bytes(&self.archive)
    }
}

/// The library of a spec, which is built unless it is there.
pub(crate) fn of(origin: &Path, spec: &Spec) -> Result<Library> {
    let shown = origin.display().to_string();
    let compiler = compiler()?;
    let crates = Crates::new(spec, &shown, &compiler);
    let cache = cache::folder("c")?;
    let library = Library::in_folder(&cache.join(&crates.name));
    if library.is_there() {
        return Ok(library);
    }
    let _lock = lock(&cache, &crates.name)?;
    if !library.is_there() {
        build(&cache, &crates, &shown, &library)?;
    }
    Ok(library)
}

/// What the compiler says of itself: its version, and what it compiles for.
fn compiler() -> Result<String> {
    let rustc = rustc();
    let output = Command::new(&rustc).arg("-vV").stdin(Stdio::null()).output();
    let output = output.map_err(|error| cannot_start(Path::new(&rustc), &error))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{} -vV` failed:\n\n{}", Path::new(&rustc).display(), why.trim_end()));
    }
    if !said.contains("host: x86_64-") || !said.contains("-linux-") {
        return Err(format!(
            "libraries for C are built for x86-64 Linux only; the compiler says:\n\n{said}"
        ));
    }
    Ok(said)
}

fn rustc() -> OsString {
    env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

fn cannot_start(program: &Path, error: &std::io::Error) -> String {
    let help = match error.kind() {
        ErrorKind::NotFound => {
            "\n   = help: a library is built with Rust: install it from https://rustup.rs, and \
             have `cargo` and `rustc` in `PATH`"
        }
        _ => "",
    };
    format!("cannot start `{}`: {error}{help}", program.display())
}

/// Waits until nobody else builds the library of a name, until the file is closed.
fn lock(cache: &Path, name: &str) -> Result<File> {
    let path = cache.join(format!("{name}.lock"));
    let locked = fs::create_dir_all(cache)
        .and_then(|()| File::create(&path))
        .and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn build(cache: &Path, crates: &Crates, shown: &str, library: &Library) -> Result<()> {
    let manifest = crates.write(cache)?;
    let progress = ProgressBar::new_spinner().with_message(format!("building `{shown}`"));
    progress.enable_steady_tick(Duration::from_millis(100));
    let output = cargo(&manifest, &cache.join("target"));
    progress.finish_and_clear();
    let output = output?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "the library of `{shown}` does not build; cargo said:\n\n{}",
            said.trim_end()
        ));
    }
    let made = |ending| made(&output.stdout, ending).ok_or("cargo does not name what it built");
    keep(&made(".so")?, &library.shared)?;
    keep(&made(".a")?, &library.archive)
}

/// Cargo works in the crate's folder, so that it reads no configuration that is meant for the
/// programs where the user is, and gets no flags that are. The toolchain is that of where the user
/// is all the same. `nodelete`: what a library has allocated outlives it, so it stays when it is
/// closed.
fn cargo(manifest: &Path, target: &Path) -> Result<Output> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command
        .args(["rustc", "--release", "--lib", "--message-format", "json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .args(["--", "-C", "link-arg=-Wl,-z,nodelete"])
        .current_dir(manifest.parent().unwrap_or(Path::new(".")))
        .stdin(Stdio::null());
    if let Some(toolchain) = toolchain() {
        command.env("RUSTUP_TOOLCHAIN", toolchain);
    }
    let names = env::vars_os().map(|(name, _)| name);
    names.filter(|name| is_for_other_builds(name)).for_each(|name| {
        command.env_remove(name);
    });
    command.output().map_err(|error| cannot_start(Path::new(&cargo), &error))
}

/// The folder of the compiler's toolchain, by which rustup knows it.
fn toolchain() -> Option<PathBuf> {
    let output = Command::new(rustc()).args(["--print", "sysroot"]).stdin(Stdio::null()).output();
    let printed = String::from_utf8(output.ok()?.stdout).ok()?;
    Some(PathBuf::from(printed.trim_end())).filter(|folder| folder.is_absolute())
}

/// Whether a variable tells compilers how to build what is built where the user is.
fn is_for_other_builds(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let (names, beginnings) = (
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_INCREMENTAL", "RUSTC_WORKSPACE_WRAPPER"],
        ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_"],
    );
    names.contains(&name) || beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Cargo tells in a line of JSON for each crate what it made: the last file of an ending.
fn made(stdout: &[u8], ending: &str) -> Option<PathBuf> {
    let lines = stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let files = messages.filter_map(|message| {
        let files = message.get("filenames")?.as_array()?.iter();
        files
            .filter_map(|file| file.as_str())
            .rfind(|file| file.ends_with(ending))
            .map(PathBuf::from)
    });
    files.collect::<Vec<_>>().pop()
}

/// Copies what was made into the cache, at once.
fn keep(made: &Path, place: &Path) -> Result<()> {
    let folder = place.parent().unwrap_or(place);
    let kept = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        fs::copy(made, file.path())?;
        Ok(file.persist(place)?)
    });
    kept.map(drop).map_err(|error| format!("cannot write `{}`: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_last_is_found_by_its_ending() {
        let said = b"{\"filenames\":[\"/libc.rlib\"]}\nno json\n\
            {\"filenames\":[\"/x.so\",\"/x.a\"]}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(made(said, ".so"), Some(PathBuf::from("/x.so")));
        assert_eq!(made(said, ".a"), Some(PathBuf::from("/x.a")));
        assert_eq!(made(b"", ".so"), None);
    }
}
