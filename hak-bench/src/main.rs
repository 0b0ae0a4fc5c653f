//! hak's allocators and their peers, measured side by side in one run.
//!
//! | file | what is in it |
//! |---|---|
//! | `options.rs` | the command line |
//! | `peers.rs` | the allocators, and their versions |
//! | `choice.rs` | which kernels and peers are meant |
//! | `subjects.rs`, `run.rs` | builds a peer's program; runs one once |
//! | `rounds.rs` | every kernel on every peer, in turns, round by round |
//! | `counters.rs`, `plan.rs` | counts on a simulated processor: of a kernel, of a plan's steps |
//! | `check.rs` | whether the kernels are the same program on every peer |
//! | `asked.rs`, `callgrind.rs` | what is counted; counts one run of a peer's program |
//! | `results.rs` | what a run found, as a file |
//! | `spread.rs`, `summary.rs` | medians and their bounds; comparisons |
//! | `terminal.rs`, `markdown.rs`, `page.rs` | the results as text, tables and pictures |
//! | `failure.rs` | what can go wrong, and the exit code that it means |

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Parser;

use choice::Choice;
use failure::Failure;
use options::{Options, Output};
use results::{Control, Kernel, Peer, Results, Row, SCHEMA};
use rounds::{Plan, Taken};
use subjects::Subject;

mod asked;
mod callgrind;
mod check;
mod choice;
mod counters;
mod failure;
#[path = "../../examples/price_list/machine.rs"]
mod machine;
mod markdown;
mod options;
mod page;
mod peers;
mod plan;
mod results;
mod rounds;
mod run;
mod spread;
mod subjects;
mod summary;
mod terminal;
mod text;

fn main() -> ExitCode {
    let done = match Options::parse().command {
        options::Command::List => list(),
        options::Command::Run(run) => measure(&run),
        options::Command::Counters(args) => counters::run(&args),
        options::Command::Plan(args) => plan::run(&args),
        options::Command::Check(args) => check::run(&args),
        options::Command::Show(show) => load(&show.results).and_then(|it| put(&it, &show.output)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn list() -> Result<(), Failure> {
    print!("{}", terminal::list(&choice::all_kernels()?, peers::PEERS));
    Ok(())
}

fn measure(run: &options::Run) -> Result<(), Failure> {
    run.output.check()?;
    // Before hours in which the tree may change.
    let commit = commit();
    let choice = Choice::of(&run.kernels, &run.peers)?;
    let versions = peers::Versions::read()?;
    let mut subjects = subjects::ready(&choice.peers, choice.subjects)?;
    let twin = subjects.iter().position(|subject| subject.name == run.control).unwrap_or(0);
    subjects.push(subjects[twin].again()?);
    let rounds = usize::from(run.rounds);
    let plan = Plan { kernels: &choice.kernels, subjects: &subjects, rounds };
    let taken = rounds::all(&plan);
    let results = Results {
        schema: SCHEMA,
        machine: machine::describe(),
        compiler: machine::compiler(),
        commit,
        command: run.command(),
        rounds,
        peers: peers(&choice, &subjects, &versions)?,
        kernels: choice
            .kernels
            .iter()
            .zip(taken)
            .map(|(kernel, taken)| {
                let own = choice.own(&kernel.name).to_owned();
                rows(kernel, own, &subjects, twin, taken)
            })
            .collect(),
    };
    put(&results, &run.output)
}

fn peers(
    choice: &Choice,
    subjects: &[Subject],
    versions: &peers::Versions,
) -> Result<Vec<Peer>, Failure> {
    let peer = |(peer, subject): (&&peers::Peer, &Subject)| {
        Ok(Peer {
            name: peer.name.to_owned(),
            version: versions.of(peer),
            about: peer.about.to_owned(),
            kind: peer.kind(),
            text_bytes: text::bytes(&subject.path)?,
        })
    };
    choice.peers.iter().zip(subjects).map(peer).collect()
}

/// The last of the subjects is the control.
fn rows(
    kernel: &hak_bench_kernels::Listed,
    own: String,
    subjects: &[Subject],
    twin: usize,
    mut taken: Vec<Taken>,
) -> Kernel {
    let again = taken.pop().unwrap_or_default();
    let row = |(subject, taken): (&Subject, Taken)| Row {
        peer: subject.name.clone(),
        samples: taken.samples,
        failure: taken.failure,
        resident: taken.resident,
    };
    Kernel {
        name: kernel.name.clone(),
        group: kernel.group.name().to_owned(),
        about: kernel.about.clone(),
        operation: kernel.operation.clone(),
        own,
        rows: subjects.iter().zip(taken).map(row).collect(),
        control: Control { of: subjects[twin].name.clone(), samples: again.samples },
    }
}

/// The tree's commit, as git tells it.
fn commit() -> String {
    let git = Command::new("git")
        .current_dir(subjects::root())
        .args(["describe", "--always", "--dirty", "--exclude=*"])
        .output();
    let said = git.ok().filter(|output| output.status.success());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    said.unwrap_or_else(|| "unknown".to_owned())
}

fn load(path: &Path) -> Result<Results, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::could_not(format!("read {}", path.display()), error))?;
    let results: Results = serde_json::from_str(&text).map_err(|error| {
        let shown = path.display();
        Failure::Failed(format!("{shown} does not hold results of `hak-bench run`: {error}"))
    })?;
    if results.schema != SCHEMA {
        let (shown, found) = (path.display(), results.schema);
        let message = format!("{shown} has the form {found}; this hak-bench reads {SCHEMA}");
        return Err(Failure::Failed(message));
    }
    Ok(results)
}

/// To the terminal, and to the files that are named.
fn put(results: &Results, output: &Output) -> Result<(), Failure> {
    if let Some(path) = &output.json {
        let text = serde_json::to_string(results)
            .map_err(|error| Failure::Failed(format!("the results are no JSON: {error}")))?;
        write(path, &(text + "\n"))?;
    }
    if let Some(path) = &output.markdown {
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::could_not(format!("read {}", path.display()), error))?;
        write(path, &markdown::filled(&text, results)?)?;
    }
    if let Some(path) = &output.html {
        write(path, &page::render(results))?;
    }
    print!("{}", terminal::report(results));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::could_not(format!("write {}", path.display()), error))
}
