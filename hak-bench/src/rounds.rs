//! Rounds over all kernels, in each of which every peer has its turn.

use std::collections::HashMap;

use hak_bench_kernels::{Listed, Outcome};
use indicatif::{ProgressBar, ProgressStyle};

use crate::results::{Resident, Sample};
use crate::run;
use crate::subjects::Subject;

/// What is to be run.
pub(crate) struct Plan<'a> {
    pub(crate) tasks: &'a [Task],
    /// The control among them.
    pub(crate) subjects: &'a [Subject],
    pub(crate) rounds: usize,
}

/// A kernel, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) kernel: Listed,
    /// Of the subject.
    pub(crate) arguments: Vec<String>,
    /// Whether the memory of the subject's process is that of the kernel, and to be watched.
    pub(crate) watched: bool,
    /// The hak peer whose spec is meant for it.
    pub(crate) own: String,
}

/// What one subject took for one kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    /// One for each round, or none where one failed.
    pub(crate) samples: Vec<Sample>,
    pub(crate) failure: Option<String>,
    /// From a run of its own.
    pub(crate) resident: Vec<Resident>,
}

/// For each kernel, for each subject.
pub(crate) fn all(plan: &Plan) -> Vec<Vec<Taken>> {
    let mut taken = vec![vec![Taken::default(); plan.subjects.len()]; plan.tasks.len()];
    let mut checksums = HashMap::new();
    let progress = progress(plan);
    for round in 0..plan.rounds {
        for (task, taken) in plan.tasks.iter().zip(&mut taken) {
            for place in turns(plan.subjects.len(), round) {
                let subject = &plan.subjects[place];
                progress.set_message(format!("{} on {}", task.kernel.name, subject.name));
                if taken[place].failure.is_none() {
                    let outcome = run::run(subject, &task.arguments);
                    let checked = outcome.and_then(|it| checked(it, &task.kernel, &mut checksums));
                    taken[place].add(checked);
                }
                progress.inc(1);
            }
        }
    }
    for (task, taken) in plan.tasks.iter().zip(&mut taken).filter(|(task, _)| task.watched) {
        for (subject, taken) in plan.subjects.iter().zip(taken) {
            progress.set_message(format!("memory of {} on {}", task.kernel.name, subject.name));
            taken.watch(subject, task);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    taken
}

/// The places of the subjects in the order of their turns. Each round begins with another, and
/// every second goes backwards: no subject always runs behind the same one.
fn turns(subjects: usize, round: usize) -> Vec<usize> {
    let mut places: Vec<_> = (0..subjects).collect();
    places.rotate_left(round % subjects.max(1));
    if round % 2 == 1 {
        places.reverse();
    }
    places
}

/// The first subject that runs a kernel says what its checksum is.
fn checked<'a>(
    outcome: Outcome,
    kernel: &'a Listed,
    checksums: &mut HashMap<&'a str, u64>,
) -> Result<Sample, String> {
    let expected = *checksums.entry(&kernel.name).or_insert(outcome.checksum);
    if outcome.checksum != expected {
        let found = outcome.checksum;
        return Err(format!("did other work than its peers: checksum {found}, not {expected}"));
    }
    Ok(sample(&outcome))
}

fn sample(outcome: &Outcome) -> Sample {
    let seconds = |microseconds| microseconds as f64 / 1e6;
    Sample {
        nanoseconds: outcome.nanoseconds as f64 / outcome.operations as f64,
        peak_resident_bytes: outcome.peak_resident_bytes,
        minor_faults: outcome.minor_faults,
        major_faults: outcome.major_faults,
        voluntary_switches: outcome.voluntary_switches,
        involuntary_switches: outcome.involuntary_switches,
        user_seconds: seconds(outcome.user_microseconds),
        system_seconds: seconds(outcome.system_microseconds),
    }
}

impl Taken {
    fn add(&mut self, sample: Result<Sample, String>) {
        match sample {
            Ok(sample) => self.samples.push(sample),
            Err(failure) => self.fail(failure),
        }
    }

    fn watch(&mut self, subject: &Subject, task: &Task) {
        if self.failure.is_none() {
            match run::watch(subject, &task.arguments) {
                Ok(resident) => self.resident = resident,
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// Rounds are compared one by one: a subject that missed one is not compared.
    fn fail(&mut self, failure: String) {
        self.samples.clear();
        self.failure = Some(failure);
    }
}

fn progress(plan: &Plan) -> ProgressBar {
    let watched = plan.tasks.iter().filter(|task| task.watched).count();
    let runs = (plan.tasks.len() * plan.rounds + watched) * plan.subjects.len();
    let style = "{bar:30} {pos}/{len} runs, {eta} left  {msg}";
    let style =
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(runs as u64).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn everybody_has_a_turn_in_every_round() {
        for round in 0..10 {
            let mut places = turns(4, round);
            places.sort_unstable();
            assert_eq!(places, [0, 1, 2, 3]);
        }
        assert_eq!((turns(3, 0), turns(3, 1)), (vec![0, 1, 2], vec![0, 2, 1]));
        assert!(turns(0, 1).is_empty());
    }
}
