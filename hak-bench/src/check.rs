//! `hak-bench check`: whether the kernels are the same program on every allocator.

mod divisions;
mod own;
mod program;

use std::fs;
use std::time::Duration;

use hak_bench_kernels::Group;
use indicatif::ProgressBar;

use crate::asked::{self, Asked};
use crate::callgrind;
use crate::children;
use crate::choice::Choice;
use crate::counters::output::{Form, print};
use crate::counters::table::rendered;
use crate::counters::taken::other_work;
use crate::failure::Failure;
use crate::options::name;
use crate::run;
use crate::subjects::{self, Subject};
use crate::terminal::Room;

use program::Program;

/// Check that the kernels are the same program on every allocator.
///
/// A kernel must have the same checksum on every peer. Of its own lines every peer must execute as
/// many instructions for each operation, which are counted for the kernels of one thread under
/// callgrind; a small difference is allowed, and shown. And what is timed may not divide. Kernels
/// run with their default parameters, but a hundredth of the first one. Exit status: 0 all is
/// well, 1 something was found that is not.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Kernels or groups of kernels (`pattern`, `threads`, `program`); the first two groups where
    /// none is named.
    #[arg(value_parser = name, default_values_t = ["pattern", "threads"].map(str::to_owned))]
    pub(crate) kernels: Vec<String>,
    /// Peers; all where none is named.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = name)]
    pub(crate) peers: Vec<String>,
    #[command(flatten)]
    pub(crate) limit: callgrind::Limit,
}

/// Folder of the kernels' sources, as it ends.
const KERNELS_FOLDER: &str = "hak-bench/kernels/src/";

/// What is found on the way.
#[derive(Default)]
struct Findings {
    /// What is not as it should be.
    complaints: Vec<String>,
    /// What could not be looked at.
    gaps: Vec<String>,
}

/// Checks, and prints what was found.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    callgrind::find()?;
    let choice = Choice::of(&args.kernels, &asked::peers(args.peers.clone()))?;
    let kernels = choice.kernels.into_iter().map(|kernel| Asked::new(kernel, &[]));
    let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
    let subjects = subjects::ready(&choice.peers, choice.subjects)?;
    let progress = ProgressBar::new_spinner();
    progress.enable_steady_tick(Duration::from_millis(100));
    let mut findings = Findings::default();
    checksums(&kernels, &subjects, &progress, &mut findings);
    let data = subjects.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let programs = subjects.iter().zip(&data).map(|(subject, data)| {
        let program = Program::read(data);
        program.map_err(|why| Failure::Failed(format!("`{}`: {why}", subject.name)))
    });
    let programs = programs.collect::<Result<Vec<_>, _>>()?;
    let programs: Vec<_> = subjects.iter().zip(&programs).collect();
    divided(&programs, &mut findings);
    let table = instructions(&kernels, &programs, args.limit, &progress, &mut findings);
    progress.finish_and_clear();
    children::uninterrupted(": not all was checked")?;
    print(&table)?;
    findings.tell(kernels.len(), subjects.len(), !table.is_empty())
}

fn read(subject: &Subject) -> Result<Vec<u8>, Failure> {
    let data = fs::read(&subject.path);
    data.map_err(|error| Failure::could_not(format!("read {}", subject.path.display()), error))
}

/// The first subject that runs a kernel says what its checksum is.
fn checksums(
    kernels: &[Asked],
    subjects: &[Subject],
    progress: &ProgressBar,
    findings: &mut Findings,
) {
    for asked in kernels {
        let mut expected = None;
        for subject in subjects {
            let place = format!("`{}` on `{}`", asked.kernel.name, subject.name);
            progress.set_message(format!("running {place}"));
            match run::run(subject, &asked.arguments()) {
                Ok(outcome) => {
                    let (found, expected) =
                        (outcome.checksum, *expected.get_or_insert(outcome.checksum));
                    if found != expected {
                        let why = other_work(found, expected);
                        findings.complaints.push(format!("{place} {why}"));
                    }
                }
                Err(why) => findings.complaints.push(format!("{place} {why}")),
            }
        }
    }
}

/// No kernel divides.
fn divided(programs: &[(&Subject, &Program)], findings: &mut Findings) {
    for (subject, program) in programs {
        let name = &subject.name;
        if divisions::functions_of_kernels(program) == 0 {
            findings.complaints.push(format!("`{name}` has no symbols of kernels to look at"));
        }
        match divisions::find(program) {
            Ok(found) => {
                let complaint = |place| format!("`{name}` divides at {place}");
                findings.complaints.extend(found.into_iter().map(complaint));
            }
            Err(why) => findings.complaints.push(format!("`{name}`: {why}")),
        }
    }
}

/// Every peer executes as many instructions of a kernel's own lines. A subject that cannot be
/// counted once is not tried again: it may have taken the whole limit.
fn instructions(
    kernels: &[Asked],
    programs: &[(&Subject, &Program)],
    limit: callgrind::Limit,
    progress: &ProgressBar,
    findings: &mut Findings,
) -> String {
    let mut programs = programs.to_vec();
    let mut rows = Vec::new();
    for asked in kernels.iter().filter(|asked| asked.kernel.group == Group::Pattern) {
        let mut counts = Vec::new();
        programs.retain(|(subject, program)| {
            progress.set_message(format!("counting {} on {}", asked.kernel.name, subject.name));
            let counted = callgrind::count(subject, &asked.arguments(), limit);
            match counted.and_then(|counted| own::count(&counted, program)) {
                Ok(count) => {
                    counts.push((subject.name.as_str(), count));
                    true
                }
                Err(why) => {
                    findings.gaps.push(format!("`{}` is not counted: {why}", subject.name));
                    false
                }
            }
        });
        rows.extend(compared(&asked.kernel.name, &counts, findings));
    }
    if rows.is_empty() {
        return String::new();
    }
    let first = programs.first().map_or("", |(subject, _)| subject.name.as_str());
    let heads = ["own instructions", first, "least", "on", "most", "on", "may differ by"];
    rendered(&heads, 1, &rows, Form::Columns(Room::found()))
}

/// A row of the table: the first peer, with which the others are compared, the least, and the most.
fn compared(kernel: &str, counts: &[(&str, f64)], findings: &mut Findings) -> Option<Vec<String>> {
    let &(first, expected) = counts.first()?;
    let allowed = own::allowed(expected);
    for (peer, count) in counts {
        let difference = count - expected;
        if difference.abs() > allowed {
            findings.complaints.push(format!(
                "`{kernel}` on `{peer}` executes {count:.2} instructions of its own for each \
                 operation, and {expected:.2} on `{first}`"
            ));
        } else if *count == 0.0 {
            let why = "executes no instructions of its own";
            findings.complaints.push(format!("`{kernel}` on `{peer}` {why}"));
        }
    }
    let least = counts.iter().map(|(_, count)| *count).min_by(f64::total_cmp)?;
    let most = counts.iter().map(|(_, count)| *count).max_by(f64::total_cmp)?;
    let [expected, least_text, most_text, allowed] =
        [expected, least, most, allowed].map(|count| format!("{count:.2}"));
    let (least, most) = (peers(counts, least), peers(counts, most));
    Some(vec![kernel.to_owned(), expected, least_text, least, most_text, most, allowed])
}

/// The peers with a count: the name of one, or how many they are.
fn peers(counts: &[(&str, f64)], wanted: f64) -> String {
    let peers = counts.iter().filter(|(_, count)| (count - wanted).abs() < 0.005);
    match peers.collect::<Vec<_>>().as_slice() {
        [(peer, _)] => (*peer).to_owned(),
        peers => format!("{} peers", peers.len()),
    }
}

impl Findings {
    /// Nothing is said of work where no kernel was counted.
    fn tell(self, kernels: usize, subjects: usize, is_counted: bool) -> Result<(), Failure> {
        for gap in &self.gaps {
            print(&format!("{gap}\n"))?;
        }
        if self.complaints.is_empty() {
            let work = if is_counted { ", equal work but for what is allowed" } else { "" };
            return print(&format!(
                "\nkernels: {kernels}, peers: {subjects}; equal checksums, no divisions{work}\n"
            ));
        }
        let complaints = self.complaints.join("\n       ");
        Err(Failure::Failed(complaints))
    }
}

#[cfg(test)]
mod tests {
    use super::{Findings, compared};

    fn complaints(counts: &[(&str, f64)]) -> Vec<String> {
        let mut findings = Findings::default();
        compared("pair", counts, &mut findings);
        findings.complaints
    }

    #[test]
    fn who_does_more_or_less_is_named() {
        let expected = "`pair` on `hak` executes 22.10 instructions of its own for each operation, \
                        and 20.00 on `system`";
        assert_eq!(complaints(&[("system", 20.0), ("b", 21.9), ("hak", 22.1)]), [expected]);
        assert_eq!(complaints(&[("system", 20.0), ("b", 17.9)]).len(), 1);
        assert_eq!(complaints(&[("system", 20.0), ("b", 18.1)]), [""; 0]);
    }

    #[test]
    fn a_kernel_that_was_optimised_away_is_found() {
        let expected = "`pair` on `hak` executes no instructions of its own";
        assert_eq!(complaints(&[("system", 1.0), ("hak", 0.0)]), [expected]);
    }

    #[test]
    fn a_row_names_one_peer_and_counts_several() {
        let counts = [("system", 20.0), ("b", 20.0), ("c", 21.0)];
        let row = compared("pair", &counts, &mut Findings::default()).unwrap();
        assert_eq!(row, ["pair", "20.00", "20.00", "2 peers", "21.00", "c", "2.00"]);
        assert_eq!(compared("pair", &[], &mut Findings::default()), None);
    }
}
