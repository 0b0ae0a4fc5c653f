//! What can go wrong in a run, and the exit code that it means.

use std::fmt;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The run could not be carried out: a bad argument, an address in use, a broken connection.
    CouldNotRun(String),
    /// The service answered, and not as it should have.
    WrongAnswer(String),
}

impl Failure {
    pub(crate) fn could_not(what: impl fmt::Display, why: impl fmt::Display) -> Failure {
        Failure::CouldNotRun(format!("could not {what}: {why}"))
    }

    /// 1 for a wrong answer, 2 for a run that could not be carried out.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::WrongAnswer(_) => 1,
            Failure::CouldNotRun(_) => 2,
        }
    }

    /// The same failure, with who met it.
    pub(crate) fn met_by(self, who: impl fmt::Display) -> Failure {
        match self {
            Failure::CouldNotRun(text) => Failure::CouldNotRun(format!("{who}: {text}")),
            Failure::WrongAnswer(text) => Failure::WrongAnswer(format!("{who}: {text}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::CouldNotRun(text) | Failure::WrongAnswer(text) => f.write_str(text),
        }
    }
}
