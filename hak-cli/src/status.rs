//! How a command ends, and its ways to stdout and stderr.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

/// The exit status. The worst of several counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// All is well.
    Fine = 0,
    /// A spec has problems, or a file differs.
    Found = 1,
    /// The command could not do its work.
    Failed = 2,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(status as u8)
    }
}

/// Writes data to stdout. A reader that has seen enough and closed the pipe is no failure.
pub(crate) fn print(data: &str) -> Status {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(data.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            fail(format_args!("cannot write to stdout: {error}"))
        }
        _ => Status::Fine,
    }
}

/// Writes to stderr. Whether anyone reads it changes nothing.
pub(crate) fn tell(talk: impl Display) {
    let _ = writeln!(io::stderr(), "{talk}");
}

/// Says why the command could not do its work.
pub(crate) fn fail(why: impl Display) -> Status {
    tell(format_args!("error: {why}"));
    Status::Failed
}
