//! Programs of `tests/c`: how they are compiled, and how they are run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use crate::c_support::{Built, FOLDER};

/// A program to be compiled.
#[derive(Clone)]
pub(crate) struct Program {
    source: String,
    name: String,
    args: Vec<OsString>,
}

impl Program {
    pub(crate) fn new(source: &str) -> Self {
        Program { source: source.to_owned(), name: "program".to_owned(), args: Vec::new() }
    }

    pub(crate) fn arg(self, arg: &str) -> Self {
        self.args(&[arg])
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    /// Links with a file.
    pub(crate) fn with(mut self, file: &Path) -> Self {
        self.args.push(file.into());
        self
    }

    /// Tells what is made of one source in several ways apart.
    pub(crate) fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    pub(crate) fn compile(&self) -> Compiled {
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c")).join(&self.source);
        let is_c = source.extension().is_some_and(|ending| ending == "c");
        let (compiler, standard) = if is_c { ("cc", "-std=gnu11") } else { ("c++", "-std=c++17") };
        fs::create_dir_all(FOLDER).unwrap();
        let stem = source.file_stem().unwrap().to_str().unwrap();
        let path = Path::new(FOLDER).join(format!("{stem}_{}_{}", process::id(), self.name));
        // The compiler must not know what `malloc` does.
        let output = process::Command::new(compiler)
            .args([standard, "-O1", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra"])
            .args(["-Wno-deprecated-declarations", "-Wno-alloc-size-larger-than"])
            .arg("-o")
            .arg(&path)
            .arg(&source)
            .args(&self.args)
            .output();
        let output = output.unwrap_or_else(|error| {
            panic!(
                "the tests of the C interface need a compiler: cannot start `{compiler}`: {error}"
            )
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Compiled { path }
    }
}

/// A program of `tests/c`, compiled.
pub(crate) fn compile(source: &str) -> Compiled {
    Program::new(source).compile()
}

/// A program that is compiled, and gone when it is dropped.
pub(crate) struct Compiled {
    path: PathBuf,
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Compiled {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn command(&self) -> Command {
        Command { command: process::Command::new(&self.path), mib: None }
    }
}

/// A run of a program.
pub(crate) struct Command {
    command: process::Command,
    mib: Option<u64>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Command {
    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn preload(self, library: &Built) -> Self {
        self.preloads(&[&library.shared])
    }

    pub(crate) fn preloads(mut self, libraries: &[&Path]) -> Self {
        let list: Vec<_> = libraries.iter().map(|path| path.to_str().unwrap()).collect();
        self.command.env("LD_PRELOAD", list.join(":"));
        self
    }

    /// Limits the addresses that the program may have.
    pub(crate) fn limit(mut self, mib: u64) -> Self {
        self.mib = Some(mib);
        self
    }

    pub(crate) fn output(mut self) -> Ended {
        if let Some(mib) = self.mib {
            // The shell sets the limit, and becomes the program.
            let mut shell = process::Command::new("sh");
            shell.arg("-c").arg(format!("ulimit -v {}; exec \"$@\"", mib << 10)).arg0("sh");
            shell.arg("sh").arg(self.command.get_program()).args(self.command.get_args());
            for (key, value) in self.command.get_envs() {
                shell.env(key, value.unwrap_or_default());
            }
            self.command = shell;
        }
        let output = self.command.stdin(Stdio::null()).output().unwrap();
        Ended {
            status: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a program that is to come through.
pub(crate) fn run(command: Command) {
    let ended = command.output();
    let well = ended.status == Some(0) && ended.stdout == "ok\n" && ended.stderr.is_empty();
    assert!(well, "{ended:?}");
}
