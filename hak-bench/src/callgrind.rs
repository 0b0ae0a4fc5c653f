//! A subject under callgrind: what its timed part executes, counted on a simulated processor.

mod report;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hak_bench_kernels::{MEASURED_SYMBOL, Outcome};

use crate::children;
use crate::failure::Failure;
use crate::run;
use crate::subjects::Subject;

pub(crate) use report::{Events, Report};

/// First-level caches of 32 KiB and a last one of 8 MiB, in lines of 64 bytes: without this the
/// counts would depend on the caches of the machine at hand.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// How long a run under callgrind may take.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Limit {
    /// Seconds after which a run under callgrind is ended, as if it had failed.
    #[arg(long = "limit", default_value_t = 300, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

/// One run of one subject.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) outcome: Outcome,
    /// Of the thread that ran the timed part.
    pub(crate) report: Report,
    /// Threads that the process had, one after the other or at once. What others than the first
    /// do is in no report.
    pub(crate) threads: usize,
}

/// An error where valgrind is not installed.
pub(crate) fn find() -> Result<(), Failure> {
    let found = children::output(Command::new("valgrind").arg("--version"));
    found.map(drop).map_err(|error| {
        let help = "install valgrind (Debian: apt-get install valgrind)";
        Failure::Failed(format!("could not start valgrind: {error}\nhelp: {help}"))
    })
}

/// Runs a kernel once. An error says why the subject could not be counted, without its name.
pub(crate) fn count(
    subject: &Subject,
    arguments: &[String],
    limit: Limit,
) -> Result<Counted, String> {
    if let Some(why) = subject.not_under_valgrind {
        return Err(why.to_owned());
    }
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|error| format!("could not make a folder: {error}"))?;
    let mut command = Command::new("valgrind");
    command
        .envs(subject.environment.iter().cloned())
        .args(["--quiet", "--tool=callgrind", "--branch-sim=yes", "--cache-sim=yes"])
        .args(CACHES)
        .args(["--collect-atstart=no", &format!("--toggle-collect={MEASURED_SYMBOL}")])
        .args(["--compress-strings=no", "--compress-pos=no", "--dump-instr=yes"])
        .arg("--separate-threads=yes")
        .arg(format!("--callgrind-out-file={}", folder.path().join(REPORT).display()))
        .arg(&subject.path)
        .args(arguments);
    let outcome = run::outcome(&mut command, Duration::from_secs(limit.seconds))?;
    let (report, threads) = read(folder.path())?;
    Ok(Counted { outcome, report, threads })
}

/// Callgrind puts the number of the thread behind it.
const REPORT: &str = "report";

/// The report that the first thread left in a folder, and how many threads left one.
fn read(folder: &Path) -> Result<(Report, usize), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("could not list: {error}"))?;
    let prefix = format!("{REPORT}-");
    let is_report = |name: &str| name.starts_with(&prefix);
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let threads = names.filter(|name| is_report(name)).count();
    let text = fs::read_to_string(folder.join(format!("{prefix}01")));
    let text = text.map_err(|error| format!("could not read callgrind's report: {error}"))?;
    let report = Report::parse(&text)?;
    if report.totals.instructions == 0 {
        return Err(format!("callgrind counted nothing in `{MEASURED_SYMBOL}`"));
    }
    Ok((report, threads))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Limit, count};
    use crate::subjects::Subject;

    fn failure(path: &str, argument: &str, not_under_valgrind: Option<&'static str>) -> String {
        let (name, path) = ("subject".to_owned(), PathBuf::from(path));
        let subject = Subject { name, path, environment: Vec::new(), not_under_valgrind };
        count(&subject, &[argument.to_owned()], Limit { seconds: 2 }).unwrap_err()
    }

    #[test]
    fn what_cannot_be_counted_says_why() {
        assert_eq!(failure("/nowhere", "", Some("it is too large")), "it is too large");
        assert_eq!(failure("/bin/sleep", "60", None), "did not end within 2 s");
        let message = failure("/bin/ls", "/nowhere", None);
        assert!(message.starts_with("ended with exit status: 2: "), "{message}");
        assert!(failure("/nowhere", "", None).contains("/nowhere"));
    }
}
