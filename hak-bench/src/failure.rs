//! What can go wrong, and the exit code that it means.

use std::fmt;
use std::io;

use signal_hook::low_level::signal_name;

/// Says what, where and how to mend it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for makes no sense.
    Usage(String),
    /// What was asked for did not work.
    Failed(String),
    /// A signal came, of this number.
    Interrupted(i32, String),
}

impl Failure {
    /// The system refused something: "could not {what}".
    pub(crate) fn could_not(what: impl fmt::Display, error: io::Error) -> Failure {
        Failure::Failed(format!("could not {what}: {error}"))
    }

    /// A signal came; what is told says what became of the work.
    pub(crate) fn interrupted(signal: i32, told: &str) -> Failure {
        let name = signal_name(signal).map_or("a signal".to_owned(), str::to_owned);
        Failure::Interrupted(signal, format!("interrupted by {name}{told}"))
    }

    /// That of a shell where a signal came.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Failed(_) => 1,
            Failure::Interrupted(signal, _) => u8::try_from(128 + signal).unwrap_or(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Failure::Usage(message) | Failure::Failed(message) => message,
            Failure::Interrupted(_, message) => message,
        })
    }
}
