//! A comparison, from its kernels and subjects to its results.

use std::process::Command;

use crate::children;
use crate::failure::Failure;
use crate::machine;
use crate::options;
use crate::results::{Control, Kernel, Kind, Peer, Reached, Results, Row, SCHEMA};
use crate::rounds::{self, Plan, Taken, Task};
use crate::subjects::{self, Subject};

/// What is compared.
pub(crate) struct Session {
    pub(crate) reached: Reached,
    /// The tree's, before hours in which it may change.
    pub(crate) commit: String,
    pub(crate) tasks: Vec<Task>,
    pub(crate) peers: Vec<Peer>,
    /// In the order of the peers.
    pub(crate) subjects: Vec<Subject>,
}

impl Session {
    /// Runs every kernel on every subject, round by round, and one subject twice: the control. A
    /// failure where it is interrupted before a round is whole.
    pub(crate) fn run(self, asked: &options::Run, command: &str) -> Result<Results, Failure> {
        let Session { reached, commit, tasks, peers, mut subjects } = self;
        let twin = asked.control(subjects.iter().map(|subject| &*subject.name));
        subjects.push(subjects[twin].again()?);
        let rounds = usize::from(asked.rounds);
        let plan = Plan { tasks: &tasks, subjects: &subjects, rounds };
        let done = rounds::all(&plan, &|| children::interruption().is_some());
        if done.rounds == 0 {
            children::uninterrupted(" before a round was whole: nothing was measured")?;
        }
        let kernels = tasks.into_iter().zip(done.taken);
        Ok(Results {
            schema: SCHEMA,
            kind: Kind::Times,
            machine: machine::describe(),
            compiler: machine::compiler(),
            commit,
            command: asked.command(command),
            reached,
            rounds: done.rounds,
            rounds_asked: done.interrupted.then_some(rounds),
            peers,
            kernels: kernels.map(|(task, taken)| rows(task, &subjects, twin, taken)).collect(),
        })
    }
}

/// The last of the subjects is the control.
fn rows(task: Task, subjects: &[Subject], twin: usize, mut taken: Vec<Taken>) -> Kernel {
    let again = taken.pop().unwrap_or_default();
    let row = |(subject, taken): (&Subject, Taken)| Row {
        peer: subject.name.clone(),
        samples: taken.samples,
        failure: taken.failure,
        resident: taken.resident,
    };
    Kernel {
        name: task.kernel.name,
        group: task.kernel.group.name().to_owned(),
        about: task.kernel.about,
        operation: task.kernel.operation,
        own: task.own,
        rows: subjects.iter().zip(taken).map(row).collect(),
        control: Control { of: subjects[twin].name.clone(), samples: again.samples },
    }
}

/// The tree's commit, as git tells it.
pub(crate) fn commit() -> String {
    let mut git = Command::new("git");
    git.current_dir(subjects::root()).args(["describe", "--always", "--dirty", "--exclude=*"]);
    let git = children::output(&mut git);
    let said = git.ok().filter(|output| output.status.success());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    said.unwrap_or_else(|| "unknown".to_owned())
}
