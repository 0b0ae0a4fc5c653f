//! What a kernel is.

use crate::measure::Measured;

/// One pattern of requests, or one real program.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// As on the command line and in the tables.
    pub name: &'static str,
    /// What it does, with its sizes, in one sentence.
    pub about: &'static str,
    /// What kind of kernel it is.
    pub group: Group,
    /// What one operation is, as in "ns per …".
    pub operation: &'static str,
    /// In the order in which [`run`](Self::run) takes them.
    pub parameters: &'static [Parameter],
    /// Does it once, with one number for each parameter.
    pub run: fn(&[u64]) -> Measured,
}

/// What kind of kernel it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Requests of one thread.
    Pattern,
    /// Requests of several threads, which free each other's blocks.
    Threads,
    /// Real code on real input.
    Program,
}

/// A number that a kernel can be told.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// In one word.
    pub name: &'static str,
    /// Used when it is not told.
    pub default: u64,
    /// The least number that the kernel can do with.
    pub least: u64,
    /// The greatest one.
    pub most: u64,
}

impl Parameter {
    /// The same, with bounds: what is told is tested against them before the kernel runs.
    pub(crate) const fn within(self, least: u64, most: u64) -> Parameter {
        Parameter { least, most, ..self }
    }
}

impl Kernel {
    /// What it runs with when nothing is told.
    pub fn defaults(&self) -> Vec<u64> {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }
}

/// For the tables of kernels: how much of something, with its default. Nothing is too little: there
/// would be nothing to measure.
pub(crate) const fn parameter(name: &'static str, default: u64) -> Parameter {
    Parameter { name, default, least: 1, most: u64::MAX }
}

/// Where random numbers begin, which may be anywhere.
pub(crate) const fn seed(default: u64) -> Parameter {
    parameter("seed", default).within(0, u64::MAX)
}
