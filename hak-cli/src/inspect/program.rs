//! Builds an inspected program with cargo, and runs it.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hak_spec::Spec;
use indicatif::ProgressBar;

use super::hak_source::HakSource;
use super::package::{self, PROFILE};
use super::{Result, canary_bytes};

/// The request that is looked at when no class is hot, if there is a class for it.
const USUAL_BYTES: u32 = 64;
/// Exit statuses of the program, in `probe/main.rs`.
const NO_MEMORY: i32 = 3;
const NO_TRAPS: i32 = 4;

/// A program that is built.
pub(super) struct Program {
    /// How messages call it: after its spec.
    spec: String,
    pub(super) executable: PathBuf,
    /// Bytes that its constant layouts ask for.
    pub(super) bytes: u32,
}

/// Writes and builds the program of a spec.
pub(super) fn build(origin: &Path, spec: &Spec, hak: &HakSource) -> Result<Program> {
    let bytes = request_bytes(spec);
    let package = package::write(origin, spec, bytes, hak)?;
    let shown = origin.display().to_string();
    let progress = ProgressBar::new_spinner().with_message(format!("building `{shown}`"));
    progress.enable_steady_tick(Duration::from_millis(100));
    let output = cargo(&package);
    progress.finish_and_clear();
    let output = output?;
    if !output.status.success() {
        return Err(build_failed(&shown, &output, hak));
    }
    let executable = executable(&output.stdout).ok_or("cargo does not name what it built")?;
    Ok(Program { spec: shown, executable, bytes })
}

/// What fills a block of the first hot class, or of the largest up to the usual size.
fn request_bytes(spec: &Spec) -> u32 {
    let hot = spec.classes.iter().filter(|class| class.hot.is_some()).min_by_key(|c| c.hot);
    let usual = spec.classes.iter().rfind(|class| class.bytes <= USUAL_BYTES);
    hot.or(usual).unwrap_or(&spec.classes[0]).bytes - canary_bytes(spec)
}

/// Cargo works where the user is, so that the compiler and the flags are those of the user's
/// programs there. Flags meant for this command's own build, such as those of a coverage run,
/// are not handed on.
fn cargo(package: &package::Package) -> Result<Output> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command
        .args(["build", "--profile", PROFILE, "--message-format", "json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(&package.manifest)
        .arg("--target-dir")
        .arg(&package.target)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .stdin(Stdio::null());
    command.output().map_err(|error| {
        let cargo = Path::new(&cargo).display();
        let help = match error.kind() {
            ErrorKind::NotFound => "\n   = help: `hak inspect` builds a program: it needs Rust",
            _ => "",
        };
        format!("cannot start `{cargo}`: {error}{help}")
    })
}

fn build_failed(shown: &str, output: &Output, hak: &HakSource) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let help = match hak {
        HakSource::Registry => "`--hak PATH` builds on a checkout of hak instead of the registry's",
        HakSource::Folder(_) => "the crate `hak` must be of the same version as this command",
    };
    format!(
        "the program to inspect `{shown}` by does not build; cargo said:\n\n{}\n\n   = help: \
         {help}",
        said.trim_end()
    )
}

/// Cargo tells in a line of JSON for each crate what it made.
fn executable(stdout: &[u8]) -> Option<PathBuf> {
    let lines = stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let mut executables = messages.filter_map(|message| {
        message.get("executable").and_then(|path| path.as_str()).map(PathBuf::from)
    });
    executables.next_back()
}

impl Program {
    /// What it notes about itself.
    pub(super) fn run(&self) -> Result<Vec<u8>> {
        let cannot = |why: String| format!("cannot run the program of `{}`: {why}", self.spec);
        let output = Command::new(&self.executable).stdin(Stdio::null()).output();
        let output = output.map_err(|error| cannot(error.to_string()))?;
        match output.status.code() {
            Some(0) => Ok(output.stdout),
            Some(NO_MEMORY) => Err(cannot(format!(
                "its allocator has no memory for {} bytes\n   = help: see `superslab.limit`",
                self.bytes
            ))),
            Some(NO_TRAPS) => Err(cannot(
                "this system does not let a program step through itself by the trap flag".into(),
            )),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(cannot(format!("{}\n{}", output.status, said.trim_end())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(spec: &str) -> u32 {
        let text = format!("schema = 1\n{spec}\n");
        request_bytes(&hak_spec::parse(&text, "test.toml", "Test", None).unwrap())
    }

    #[test]
    fn the_first_hot_class_is_asked_for() {
        assert_eq!(request(""), 64);
        assert_eq!(request("hints.hot = [128, 32]"), 128);
        assert_eq!(request("classes.sizes = [16, 48, 128]"), 48);
    }

    #[test]
    fn a_canary_finds_room() {
        assert_eq!(request("classes.sizes = [64]"), 64);
        assert_eq!(request("classes.sizes = [64]\nvalidation.canary = true"), 56);
        assert_eq!(request("classes.sizes = [256]\nvalidation.canary = true"), 248);
    }

    #[test]
    fn the_executable_is_the_last_that_cargo_names() {
        let said = b"{\"reason\":\"x\",\"executable\":null}\n{\"executable\":\"/a/b\"}\nno json\n";
        assert_eq!(executable(said), Some(PathBuf::from("/a/b")));
        assert_eq!(executable(b""), None);
    }
}
