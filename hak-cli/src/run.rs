//! `hak run`: a command on an allocator from a spec.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::args::Run;
use crate::library::{self, Result};
use crate::source::{self, Problems};
use crate::status::{fail, tell};

/// The dynamic linker's list of libraries that come first.
const PRELOAD: &str = "LD_PRELOAD";
/// Exit statuses of a command that did not start, as of a shell.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

pub(crate) fn run(args: &Run) -> ExitCode {
    let spec = match source::load(&args.spec) {
        Ok(spec) => spec,
        Err(report) => return Problems::default().show(&report).into(),
    };
    let preload = library::of(&args.spec, &spec)
        .and_then(|library| preload(&library.shared, env::var_os(PRELOAD)));
    match preload {
        Ok(preload) => start(&args.command, &preload),
        Err(why) => fail(why).into(),
    }
}

/// The library before what is loaded already.
fn preload(library: &Path, before: Option<OsString>) -> Result<OsString> {
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Err(format!(
            "`{}` cannot be preloaded: to the dynamic linker a space or `:` ends a path\n   = \
             help: set the environment variable `XDG_CACHE_HOME` to a folder without",
            library.display()
        ));
    }
    let mut list = library.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    Ok(list)
}

/// Becomes the command; what comes back is why it did not.
fn start(command: &[OsString], preload: &OsStr) -> ExitCode {
    let (program, arguments) = command.split_first().expect("a command was asked for");
    let error = Command::new(program).args(arguments).env(PRELOAD, preload).exec();
    tell(format_args!("error: cannot start `{}`: {error}", program.display()));
    ExitCode::from(status_of(&error))
}

fn status_of(error: &Error) -> u8 {
    if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_START }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_preloaded_already_comes_after() {
        let list = |before: Option<&str>| preload(Path::new("/a.so"), before.map(OsString::from));
        assert_eq!(list(None).unwrap(), "/a.so");
        assert_eq!(list(Some("")).unwrap(), "/a.so");
        assert_eq!(list(Some("/b.so /c.so")).unwrap(), "/a.so:/b.so /c.so");
    }

    #[test]
    fn a_path_that_the_linker_would_split_is_refused() {
        let why = preload(Path::new("/my caches/a.so"), None).unwrap_err();
        assert!(why.contains("`/my caches/a.so`") && why.contains("`XDG_CACHE_HOME`"), "{why}");
    }
}
