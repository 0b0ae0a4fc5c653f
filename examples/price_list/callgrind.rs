//! The program under callgrind: starts itself there, and reads what was counted.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::ops::Sub;
use std::path::Path;
use std::process::Command;

use super::counting::{Operation, REPETITIONS};
use super::options::Options;
use super::probes::{COUNTED, MARK};
use super::variants::Variant;

/// What is said when nothing can be counted.
pub(crate) const MISSING: &str = "valgrind is not installed (apt-get install valgrind)";

/// Events of one operation, or of all its repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    pub(crate) branches: f64,
    pub(crate) mispredicted: f64,
}

/// The counts of a row, in the order of [`Operation::ALL`].
pub(crate) type RowCounts = [Counts; Operation::ALL.len()];

impl Counts {
    fn each(self, repetitions: usize) -> Counts {
        let each = |count| count / repetitions as f64;
        Counts {
            instructions: each(self.instructions),
            branches: each(self.branches),
            mispredicted: each(self.mispredicted),
        }
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, other: Counts) -> Counts {
        Counts {
            instructions: self.instructions - other.instructions,
            branches: self.branches - other.branches,
            mispredicted: self.mispredicted - other.mispredicted,
        }
    }
}

/// What valgrind says of itself; nothing when it is not installed.
pub(crate) fn version() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().replace("valgrind-", "valgrind "))
}

/// The counts of each row, for one operation.
pub(crate) fn count(rows: &[&Variant]) -> Result<Vec<RowCounts>, String> {
    let folder = tempfile::tempdir()
        .map_err(|error| format!("could not make a folder for callgrind's report: {error}"))?;
    let report = folder.path().join("report");
    run(rows, &report)?;
    let report = fs::read_to_string(report)
        .map_err(|error| format!("could not read callgrind's report: {error}"))?;
    by_row(&parts(&report)?, rows.len())
}

fn run(rows: &[&Variant], report: &Path) -> Result<(), String> {
    let program = env::current_exe()
        .map_err(|error| format!("could not find the program's own file: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--branch-sim=yes"])
        .args(["--collect-atstart=no", "--combine-dumps=yes"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--dump-before={MARK}"))
        .arg(format!("--callgrind-out-file={}", report.display()))
        .args([program.as_os_str(), OsStr::new(Options::COUNTED_RUN), OsStr::new(Options::ONLY)])
        .args(rows.iter().map(|row| row.name))
        .output()
        .map_err(|error| format!("could not start valgrind: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("the run under callgrind failed: {}\n{}", output.status, said.trim_end()))
}

/// What was counted before each mark, in order.
fn parts(report: &str) -> Result<Vec<Counts>, String> {
    let mut parts = Vec::new();
    let mut events = Vec::new();
    for line in report.lines() {
        if let Some(names) = line.strip_prefix("events:") {
            events = names.split_whitespace().collect();
        } else if let Some(figures) = line.strip_prefix("totals:") {
            let figures: Vec<&str> = figures.split_whitespace().collect();
            parts.push(totals(&events, &figures)?);
        }
    }
    Ok(parts)
}

/// The figures of one part, which stand in the order of the events.
fn totals(events: &[&str], figures: &[&str]) -> Result<Counts, String> {
    let count = |event| {
        let place = events.iter().position(|name| *name == event);
        let place = place.ok_or_else(|| format!("callgrind's report has no event `{event}`"))?;
        // Zeros at the end of a line are left out.
        let figure = figures.get(place).unwrap_or(&"0");
        figure.parse().map_err(|_| format!("`{figure}` in callgrind's report is no number"))
    };
    // Bc and Bcm: conditional branches, and those of them that were mispredicted.
    Ok(Counts { instructions: count("Ir")?, branches: count("Bc")?, mispredicted: count("Bcm")? })
}

/// The parts of each row, for one operation, without what was counted around it.
fn by_row(parts: &[Counts], rows: usize) -> Result<Vec<RowCounts>, String> {
    // One more part holds what came after the last mark.
    let expected = (rows + 1) * Operation::ALL.len();
    let Some(parts) = parts.get(..expected) else {
        let found = parts.len();
        return Err(format!("callgrind's report has {found} parts instead of {expected}"));
    };
    let (parts, _) = parts.as_chunks::<{ Operation::ALL.len() }>();
    let [nothing, rows @ ..] = parts else { return Ok(Vec::new()) };
    if nothing.iter().any(|counts| counts.instructions == 0.0) {
        return Err(format!("callgrind counted nothing in `{COUNTED}`"));
    }
    let net = |row: &RowCounts| {
        std::array::from_fn(|place| (row[place] - nothing[place]).each(REPETITIONS))
    };
    Ok(rows.iter().map(net).collect())
}

#[cfg(test)]
mod tests {
    use super::{Counts, REPETITIONS, by_row, parts};

    fn counts(instructions: f64, branches: f64, mispredicted: f64) -> Counts {
        Counts { instructions, branches, mispredicted }
    }

    #[test]
    fn a_report_has_parts() {
        let report = "\
version: 1
part: 1

events: Ir Bc Bcm Bi Bim
fn=(1) price_list_counted_alloc
10 500 70 3 100 1

totals: 500 70 3 100 1

part: 2

events: Ir Bc Bcm Bi Bim

totals: 200 0 0 100
";
        let expected = vec![counts(500.0, 70.0, 3.0), counts(200.0, 0.0, 0.0)];
        assert_eq!(parts(report), Ok(expected));
    }

    #[test]
    fn zeros_at_the_end_are_left_out() {
        let report = "events: Ir Bc Bcm\ntotals: 7\n";
        assert_eq!(parts(report), Ok(vec![counts(7.0, 0.0, 0.0)]));
    }

    #[test]
    fn a_report_without_branches_is_refused() {
        let message = "callgrind's report has no event `Bc`";
        assert_eq!(parts("events: Ir\ntotals: 7\n"), Err(message.to_owned()));
        let message = "`many` in callgrind's report is no number";
        assert_eq!(parts("events: Ir Bc Bcm\ntotals: many\n"), Err(message.to_owned()));
    }

    #[test]
    fn what_surrounds_a_request_is_not_in_a_row() {
        let n = REPETITIONS as f64;
        let nothing = [counts(5.0 * n, 0.0, 0.0); 5];
        let row = [counts(11.0 * n, n, 0.5 * n); 5];
        let after = counts(0.0, 0.0, 0.0);
        let parts = [nothing.as_slice(), &row, &[after]].concat();
        assert_eq!(by_row(&parts, 1), Ok(vec![[counts(6.0, 1.0, 0.5); 5]]));
    }

    #[test]
    fn a_report_that_is_cut_off_is_refused() {
        let parts = [counts(1.0, 0.0, 0.0); 9];
        let message = "callgrind's report has 9 parts instead of 10";
        assert_eq!(by_row(&parts, 1), Err(message.to_owned()));
    }

    #[test]
    fn a_run_in_which_nothing_was_counted_is_refused() {
        let parts = [counts(0.0, 0.0, 0.0); 10];
        let message = "callgrind counted nothing in `price_list_counted_*`";
        assert_eq!(by_row(&parts, 1), Err(message.to_owned()));
    }
}
