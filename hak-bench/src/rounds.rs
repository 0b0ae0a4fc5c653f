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

/// What was taken of all kernels.
pub(crate) struct Done {
    /// For each kernel, for each subject.
    pub(crate) taken: Vec<Vec<Taken>>,
    /// Those that are whole, of which alone there are samples.
    pub(crate) rounds: usize,
    /// Nothing was run any more once it was.
    pub(crate) interrupted: bool,
}

/// Runs all, as long as it is not `interrupted`.
pub(crate) fn all(plan: &Plan, interrupted: &dyn Fn() -> bool) -> Done {
    let mut turn = Turn {
        plan,
        interrupted,
        taken: vec![vec![Taken::default(); plan.subjects.len()]; plan.tasks.len()],
        checksums: HashMap::new(),
        progress: progress(plan),
    };
    let mut rounds = 0;
    while rounds < plan.rounds && turn.round(rounds).is_some() {
        rounds += 1;
    }
    let watched = (rounds == plan.rounds).then(|| turn.watch()).flatten();
    turn.progress.finish_and_clear();
    let mut taken = turn.taken;
    taken.iter_mut().flatten().for_each(|taken| taken.samples.truncate(rounds));
    Done { taken, rounds, interrupted: watched.is_none() }
}

/// What is under way.
struct Turn<'a> {
    plan: &'a Plan<'a>,
    interrupted: &'a dyn Fn() -> bool,
    taken: Vec<Vec<Taken>>,
    checksums: HashMap<&'a str, u64>,
    progress: ProgressBar,
}

impl Turn<'_> {
    /// Every kernel on every subject; nothing where it was interrupted.
    fn round(&mut self, round: usize) -> Option<()> {
        let Plan { tasks, subjects, .. } = *self.plan;
        for (task, taken) in tasks.iter().zip(&mut self.taken) {
            for place in turns(subjects.len(), round) {
                let subject = &subjects[place];
                self.progress.set_message(format!("{} on {}", task.kernel.name, subject.name));
                if taken[place].failure.is_none() {
                    let outcome = run::run(subject, &task.arguments);
                    // It may be that which ended the run.
                    if (self.interrupted)() {
                        return None;
                    }
                    let checksums = &mut self.checksums;
                    let checked = outcome.and_then(|it| checked(it, &task.kernel, checksums));
                    taken[place].add(checked);
                }
                self.progress.inc(1);
            }
        }
        Some(())
    }

    /// The memory of those that have some of their own; nothing where it was interrupted.
    fn watch(&mut self) -> Option<()> {
        let Plan { tasks, subjects, .. } = *self.plan;
        let watched = tasks.iter().zip(&mut self.taken).filter(|(task, _)| task.watched);
        for (task, taken) in watched {
            for (subject, taken) in subjects.iter().zip(taken) {
                let (kernel, name) = (&task.kernel.name, &subject.name);
                self.progress.set_message(format!("memory of {kernel} on {name}"));
                if taken.failure.is_none() {
                    let resident = run::watch(subject, &task.arguments);
                    if (self.interrupted)() {
                        return None;
                    }
                    taken.watched(resident);
                }
                self.progress.inc(1);
            }
        }
        Some(())
    }
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

/// The first subject that runs a kernel says what its checksum is. What is compared with others
/// is more than nothing.
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
    let compared = [outcome.operations, outcome.nanoseconds, outcome.peak_resident_bytes];
    if compared.contains(&0) {
        let [operations, nanoseconds, peak] = compared;
        return Err(format!(
            "told of {operations} operations in {nanoseconds} ns with a peak of {peak} bytes"
        ));
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

    fn watched(&mut self, resident: Result<Vec<Resident>, String>) {
        match resident {
            Ok(resident) => self.resident = resident,
            Err(failure) => self.fail(failure),
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
    use std::cell::Cell;
    use std::path::PathBuf;

    use hak_bench_kernels::{Group, Listed};

    use super::{Done, Plan, Task, all, turns};
    use crate::subjects::{Subject, owned};

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

    /// A subject that prints an outcome.
    fn subject(name: &str) -> Subject {
        let environment = owned(&[("NAME", name)]);
        let (name, path) = (name.to_owned(), PathBuf::from("/bin/sh"));
        Subject { name, path, environment, not_under_valgrind: None }
    }

    /// With a script that is run before.
    fn task(script: &str, operations: u64) -> Task {
        let fields = "nanoseconds checksum peak_resident_bytes minor_faults major_faults \
                      voluntary_switches involuntary_switches user_microseconds \
                      system_microseconds";
        let print =
            format!("echo operations {operations}; for it in {fields}; do echo $it 6; done");
        let text = String::new;
        let kernel = Listed {
            name: "shell".to_owned(),
            group: Group::Pattern,
            operation: text(),
            parameters: Vec::new(),
            about: text(),
        };
        let arguments = vec!["-c".to_owned(), format!("{script}; {print}")];
        Task { kernel, arguments, watched: true, own: text() }
    }

    /// Three rounds of two subjects, interrupted in the run of this number.
    fn interrupted_in(script: &str, run: usize) -> Done {
        let (tasks, subjects) = ([task(script, 2)], ["one", "two"].map(subject));
        let runs = Cell::new(0);
        let interrupted = || {
            runs.set(runs.get() + 1);
            runs.get() >= run
        };
        all(&Plan { tasks: &tasks, subjects: &subjects, rounds: 3 }, &interrupted)
    }

    fn samples(done: &Done) -> Vec<usize> {
        done.taken[0].iter().map(|taken| taken.samples.len()).collect()
    }

    #[test]
    fn whole_rounds_are_kept_where_it_is_interrupted() {
        for (run, rounds) in [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2)] {
            let done = interrupted_in("true", run);
            assert!(done.interrupted);
            assert_eq!((done.rounds, samples(&done)), (rounds, vec![rounds; 2]), "run {run}");
            assert!(done.taken[0].iter().all(|taken| taken.failure.is_none()), "run {run}");
        }
    }

    #[test]
    fn memory_may_be_missing_of_whole_rounds() {
        let done = interrupted_in("sleep 0.05", 8);
        assert_eq!((done.rounds, samples(&done), done.interrupted), (3, vec![3; 2], true));
        let watched = done.taken[0].iter().map(|taken| taken.resident.is_empty());
        assert_eq!(watched.collect::<Vec<_>>(), [false, true]);
        assert!(!interrupted_in("true", 9).interrupted);
    }

    #[test]
    fn what_failed_before_stays_so() {
        let done = interrupted_in("test $NAME = one || exit 7", 3);
        let failures: Vec<_> = done.taken[0].iter().map(|it| it.failure.as_deref()).collect();
        assert_eq!(failures, [None, Some("ended with exit status: 7")]);
        assert_eq!(samples(&done), [1, 0]);
    }

    #[test]
    fn nothing_done_is_a_failure() {
        let (tasks, subjects) = ([task("true", 0)], [subject("one")]);
        let done = all(&Plan { tasks: &tasks, subjects: &subjects, rounds: 1 }, &|| false);
        let failure = done.taken[0][0].failure.as_deref();
        assert_eq!(failure, Some("told of 0 operations in 6 ns with a peak of 6 bytes"));
    }
}
