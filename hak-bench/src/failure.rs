//! What can go wrong, and the exit code that it means.

use std::fmt;
use std::io;

/// Says what, where and how to mend it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for makes no sense.
    Usage(String),
    /// What was asked for did not work.
    Failed(String),
}

impl Failure {
    /// The system refused something: "could not {what}".
    pub(crate) fn could_not(what: impl fmt::Display, error: io::Error) -> Failure {
        Failure::Failed(format!("could not {what}: {error}"))
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let (Failure::Usage(message) | Failure::Failed(message)) = self;
        formatter.write_str(message)
    }
}
