//! Takes the figures: each subject once under callgrind, then all of them in turn without it.

use indicatif::ProgressBar;

use crate::asked::Asked;
use crate::callgrind::{self, Counted, Events, Limit};
use crate::children;
use crate::counters::several_threads;
use crate::failure::Failure;
use crate::peers::Peer;
use crate::run;
use crate::spread::Spread;
use crate::subjects::Subject;

/// What was taken of all subjects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Taken {
    /// The kernel with its numbers, as on the command line, and what it does.
    pub(crate) about: String,
    /// What one operation is.
    pub(crate) operation: String,
    /// Name and version; nothing where no subject could be counted.
    pub(crate) simulator: Option<Simulator>,
    /// How often each was timed.
    pub(crate) runs: u16,
    /// In the order of the subjects.
    pub(crate) rows: Vec<Row>,
}

/// What counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Simulator {
    /// Name and version.
    pub(crate) name: String,
    /// A sentence for each simulated cache.
    pub(crate) caches: Vec<String>,
}

/// One subject.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Or why there are none.
    pub(crate) figures: Result<Figures, String>,
}

/// Of the timed part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figures {
    pub(crate) operations: u64,
    pub(crate) events: Events,
    /// Nanoseconds of each run without callgrind.
    pub(crate) times: Vec<f64>,
    /// Threads beside the kernel's own, which are not counted.
    pub(crate) other_threads: usize,
}

impl Taken {
    /// An error where there are no figures at all: the tables have said why.
    pub(crate) fn any(&self) -> Result<(), Failure> {
        match self.rows.iter().any(|row| row.figures.is_ok()) {
            true => Ok(()),
            false => Err(Failure::Failed("nothing was counted: every peer failed".to_owned())),
        }
    }

    /// Rows for all peers in their order, those that nothing was taken of among them.
    pub(super) fn with_all_of(self, peers: &[&Peer]) -> Taken {
        let row = |peer: &&Peer| match peer.not_under_valgrind {
            Some(why) => Some(Row { name: peer.name.to_owned(), figures: Err(why.to_owned()) }),
            None => self.rows.iter().find(|row| row.name == peer.name).cloned(),
        };
        Taken { rows: peers.iter().filter_map(row).collect(), ..self }
    }
}

impl Figures {
    /// Nanoseconds: the median. There is at least one run.
    pub(crate) fn time(&self) -> f64 {
        Spread::of(self.times.clone()).median
    }
}

/// An error where the kernel itself runs in several threads: seen at the first subject, which is
/// the system allocator and starts none.
pub(crate) fn all(
    asked: &Asked,
    subjects: &[Subject],
    runs: u16,
    limit: Limit,
) -> Result<Taken, Failure> {
    let arguments = asked.arguments();
    let progress = ProgressBar::new_spinner();
    progress.enable_steady_tick(std::time::Duration::from_millis(100));
    let mut counted = Vec::new();
    for subject in subjects {
        progress.set_message(format!("counting {} on {}", asked.kernel.name, subject.name));
        let result = callgrind::count(subject, &arguments, limit);
        let first = counted.is_empty();
        if first && result.as_ref().is_ok_and(|counted| counted.threads > 1) {
            progress.finish_and_clear();
            return Err(several_threads(&asked.kernel.name));
        }
        counted.push(result);
    }
    let simulator = counted.iter().flatten().next().map(|counted| Simulator {
        name: counted.report.creator.clone(),
        caches: counted.report.caches.clone(),
    });
    let mut rows = rows(subjects, counted);
    for run in 1..=runs {
        for (subject, row) in subjects.iter().zip(&mut rows) {
            progress.set_message(format!("timing {}, {run} of {runs}", subject.name));
            row.time(subject, &arguments);
        }
    }
    progress.finish_and_clear();
    children::uninterrupted(": not all was counted")?;
    Ok(Taken {
        about: format!("{}: {}", arguments.join(" "), asked.kernel.about),
        operation: asked.kernel.operation.clone(),
        simulator,
        runs,
        rows,
    })
}

/// The first subject that was counted says what the checksum is.
fn rows(subjects: &[Subject], counted: Vec<Result<Counted, String>>) -> Vec<Row> {
    let expected = counted.iter().flatten().next().map(|counted| counted.outcome.checksum);
    let figures = |counted: Counted| {
        let (found, outcome) = (counted.outcome.checksum, counted.outcome);
        match expected.filter(|expected| *expected != found) {
            Some(expected) => Err(other_work(found, expected)),
            None => Ok(Figures {
                operations: outcome.operations,
                events: counted.report.totals,
                times: Vec::new(),
                other_threads: counted.threads - 1,
            }),
        }
    };
    let row = |(subject, counted): (&Subject, Result<Counted, String>)| Row {
        name: subject.name.clone(),
        figures: counted.and_then(figures),
    };
    subjects.iter().zip(counted).map(row).collect()
}

pub(crate) fn other_work(found: u64, expected: u64) -> String {
    format!("did other work than its peers: checksum {found}, not {expected}")
}

impl Row {
    /// Once. A row that fails here has no figures any more.
    fn time(&mut self, subject: &Subject, arguments: &[String]) {
        if let Ok(figures) = &mut self.figures {
            match run::run(subject, arguments) {
                Ok(outcome) => figures.times.push(outcome.nanoseconds as f64),
                Err(why) => self.figures = Err(format!("without callgrind it {why}")),
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Figures, Row, Simulator, Taken};
    use crate::callgrind::Events;
    use crate::peers::PEERS;

    /// Made up.
    pub(crate) fn taken() -> Taken {
        let row = |name: &str, figures| Row { name: name.to_owned(), figures };
        let system = Events {
            instructions: 400,
            branches: 100,
            mispredicted: 10,
            loads: 50,
            load_misses: 5,
        };
        let hak = Events { instructions: 200, branches: 25, ..Events::default() };
        let times = vec![2100.0, 2000.0, 9000.0];
        let half = vec![1050.0, 900.0, 3000.0];
        let caches = ["I1 cache: 32768 B", "D1 cache: 32768 B"].map(str::to_owned).to_vec();
        Taken {
            about: "pair 10: makes".to_owned(),
            operation: "make".to_owned(),
            simulator: Some(Simulator { name: "callgrind-3.19.0".to_owned(), caches }),
            runs: 3,
            rows: vec![
                row(
                    "system",
                    Ok(Figures { operations: 10, events: system, times, other_threads: 0 }),
                ),
                row("tcmalloc", Err("ended with signal: 4".to_owned())),
                row(
                    "hak",
                    Ok(Figures { operations: 10, events: hak, times: half, other_threads: 1 }),
                ),
            ],
        }
    }

    #[test]
    fn peers_that_cannot_be_counted_have_their_rows() {
        let peers: Vec<_> = PEERS.iter().filter(|it| it.name != "hak-web").collect();
        let mut taken = taken();
        taken.rows.retain(|row| row.name == "system");
        let names: Vec<_> = taken.with_all_of(&peers).rows.into_iter().map(|it| it.name).collect();
        let cannot = PEERS.iter().filter(|peer| peer.not_under_valgrind.is_some());
        let expected: Vec<_> = ["system"].into_iter().chain(cannot.map(|peer| peer.name)).collect();
        assert!(expected.len() > 1);
        assert_eq!(names, expected);
    }

    #[test]
    fn no_figures_at_all_are_a_failure() {
        let mut taken = taken();
        assert!(taken.any().is_ok());
        taken.rows.retain(|row| row.figures.is_err());
        assert_eq!(taken.any().unwrap_err().exit_code(), 1);
    }

    #[test]
    fn a_time_is_the_median() {
        assert_eq!(taken().rows[0].figures.as_ref().unwrap().time(), 2100.0);
    }
}
