//! A subject: all kernels on one global allocator.

use std::env;
use std::fmt;
use std::hint::black_box;
use std::process::ExitCode;

use crate::kernel::{Kernel, Parameter};
use crate::listed::Listed;
use crate::usage::Usage;

/// What one run of a subject tells. Figures of the process are from its start on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Operations in the timed part.
    pub operations: u64,
    /// Wall clock of the timed part.
    pub nanoseconds: u64,
    /// Equal on every allocator.
    pub checksum: u64,
    /// Most bytes that were resident at a time.
    pub peak_resident_bytes: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// A thread waited and another ran.
    pub voluntary_switches: u64,
    /// A thread was made to wait.
    pub involuntary_switches: u64,
    /// Time of all threads in the program's own code.
    pub user_microseconds: u64,
    /// Time of all threads in the system's code.
    pub system_microseconds: u64,
}

impl Outcome {
    /// From what a subject printed, a line for each field: its name and a number. An error names
    /// the field that is not there.
    pub fn parse(text: &str) -> Result<Outcome, String> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let number = line.and_then(|number| number.trim().parse().ok());
            number.ok_or_else(|| format!("the subject did not print its `{name}`"))
        };
        Ok(Outcome {
            operations: field("operations")?,
            nanoseconds: field("nanoseconds")?,
            checksum: field("checksum")?,
            peak_resident_bytes: field("peak_resident_bytes")?,
            minor_faults: field("minor_faults")?,
            major_faults: field("major_faults")?,
            voluntary_switches: field("voluntary_switches")?,
            involuntary_switches: field("involuntary_switches")?,
            user_microseconds: field("user_microseconds")?,
            system_microseconds: field("system_microseconds")?,
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Outcome { operations, nanoseconds, checksum, peak_resident_bytes, .. } = self;
        writeln!(formatter, "operations {operations}")?;
        writeln!(formatter, "nanoseconds {nanoseconds}")?;
        writeln!(formatter, "checksum {checksum}")?;
        writeln!(formatter, "peak_resident_bytes {peak_resident_bytes}")?;
        writeln!(formatter, "minor_faults {}", self.minor_faults)?;
        writeln!(formatter, "major_faults {}", self.major_faults)?;
        writeln!(formatter, "voluntary_switches {}", self.voluntary_switches)?;
        writeln!(formatter, "involuntary_switches {}", self.involuntary_switches)?;
        writeln!(formatter, "user_microseconds {}", self.user_microseconds)?;
        writeln!(formatter, "system_microseconds {}", self.system_microseconds)
    }
}

/// The whole of a subject. With the name of a kernel, and its parameters or fewer, runs it once
/// and prints its [`Outcome`]; without, prints the kernels that it has, as [`Listed`] reads them.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let said = match arguments.as_slice() {
        [] => Ok(crate::kernels().iter().map(Listed::line).collect()),
        [name, numbers @ ..] => run(name, numbers).map(|outcome| outcome.to_string()),
    };
    match said {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(name: &str, numbers: &[String]) -> Result<Outcome, String> {
    let kernels = crate::kernels();
    let kernel = kernels.iter().find(|kernel| kernel.name == name);
    let kernel = kernel.ok_or_else(|| format!("no kernel is named `{name}` in this subject"))?;
    let parameters = parameters(kernel, numbers)?;
    let measured = (kernel.run)(black_box(&parameters));
    let usage = Usage::read().map_err(|error| format!("could not read the usage: {error}"))?;
    Ok(Outcome {
        operations: measured.operations,
        nanoseconds: measured.elapsed.as_nanos() as u64,
        checksum: measured.checksum,
        peak_resident_bytes: usage.peak_resident_bytes,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        user_microseconds: usage.user_microseconds,
        system_microseconds: usage.system_microseconds,
    })
}

/// What is told comes first; defaults fill up.
fn parameters(kernel: &Kernel, told: &[String]) -> Result<Vec<u64>, String> {
    let mut parameters = kernel.defaults();
    if told.len() > parameters.len() {
        let names: Vec<_> = kernel.parameters.iter().map(|parameter| parameter.name).collect();
        return Err(format!("`{}` takes only: {}", kernel.name, names.join(" ")));
    }
    for (parameter, text) in parameters.iter_mut().zip(told) {
        *parameter = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    }
    for (number, Parameter { name, least, most, .. }) in parameters.iter().zip(kernel.parameters) {
        if !(least..=most).contains(&number) {
            let kernel = kernel.name;
            return Err(format!("`{name}` of `{kernel}` is from {least} to {most}, not {number}"));
        }
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::{Outcome, run};

    #[test]
    fn an_outcome_is_read_as_it_was_printed() {
        let outcome = run("pair", &["10".to_owned()]).unwrap();
        assert_eq!(outcome.operations, 10);
        assert_eq!(Outcome::parse(&outcome.to_string()), Ok(outcome));
    }

    #[test]
    fn a_line_that_is_not_there_is_named() {
        let message = "the subject did not print its `nanoseconds`";
        assert_eq!(Outcome::parse("operations 7\n"), Err(message.to_owned()));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let error = |name: &str, numbers: &[&str]| {
            run(name, &numbers.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).unwrap_err()
        };
        assert_eq!(error("pear", &[]), "no kernel is named `pear` in this subject");
        assert_eq!(error("pair", &["x"]), "`x` is not a number");
        assert_eq!(error("pair", &["1", "2"]), "`pair` takes only: operations");
        let message = error("random-mixed", &["10", "0"]);
        assert_eq!(message, "`live` of `random-mixed` is from 1 to 16777216, not 0");
        let message = error("larson", &["1", "65"]);
        assert_eq!(message, "`threads` of `larson` is from 1 to 64, not 65");
    }
}
