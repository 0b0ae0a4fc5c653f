//! hak's allocators and their peers, measured side by side in one run.
//!
//! | file | what is in it |
//! |---|---|
//! | `options.rs` | the command line |
//! | `peers.rs` | the allocators, and their versions |
//! | `choice.rs` | which kernels and peers are meant |
//! | `subjects.rs`, `run.rs` | builds a peer's program; runs one once |
//! | `preload.rs` | programs in C, each on libraries that are preloaded |
//! | `children.rs` | processes that are started, and signals that end them |
//! | `session.rs` | a comparison, from its kernels and subjects to its results |
//! | `rounds.rs` | every kernel on every peer, in turns, round by round |
//! | `counters.rs`, `plan.rs` | counts on a simulated processor: of a kernel, of a plan's steps |
//! | `check.rs` | whether the kernels are the same program on every peer |
//! | `asked.rs`, `callgrind.rs` | what is counted; counts one run of a peer's program |
//! | `results.rs` | what a run found, as a file |
//! | `spread.rs`, `summary.rs` | medians and their bounds; comparisons |
//! | `notes.rs` | what has to be known beside the figures |
//! | `targets.rs` | what hak shall reach beside preloaded libraries |
//! | `terminal.rs`, `markdown.rs`, `page.rs` | the results as text, tables and pictures |
//! | `failure.rs` | what can go wrong, and the exit code that it means |

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use hak_bench_kernels::Listed;

use choice::Choice;
use failure::Failure;
use options::{Options, Output};
use results::{Peer, Reached, Results};
use rounds::Task;
use session::Session;
use subjects::Subject;
use terminal::Room;

mod asked;
mod callgrind;
mod check;
mod children;
mod choice;
mod counters;
mod failure;
#[path = "../../examples/price_list/machine.rs"]
mod machine;
mod markdown;
mod notes;
mod options;
mod page;
mod peers;
mod plan;
mod preload;
mod results;
mod rounds;
mod run;
mod session;
mod spread;
mod subjects;
mod summary;
mod targets;
mod terminal;
mod text;

fn main() -> ExitCode {
    let command = Options::parse().command;
    // What only shows starts nothing, and ends where a signal comes as any program does.
    let shows = matches!(command, options::Command::Show(_));
    let listens = if shows { Ok(()) } else { children::listen() };
    match listens.and_then(|()| carry_out(command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn carry_out(command: options::Command) -> Result<(), Failure> {
    let done = match command {
        options::Command::List => list(),
        options::Command::Run(run) => measure(&run).and_then(|it| finish(&it, &run.output)),
        options::Command::Preload(run) => {
            preload::run(&run).and_then(|it| finish(&it, &run.output))
        }
        options::Command::Counters(args) => counters::run(&args),
        options::Command::Plan(args) => plan::run(&args),
        options::Command::Check(args) => check::run(&args),
        options::Command::Show(show) => Results::read(&show.results).and_then(|it| {
            show.output.check(it.reached)?;
            put(&it, &show.output)
        }),
    };
    match done {
        // What else failed did so for that reason.
        Err(Failure::Usage(_) | Failure::Failed(_)) => {
            children::uninterrupted(": nothing was measured").and(done)
        }
        done => done,
    }
}

/// Shows and writes what there is; then tells where it is not what was asked for.
fn finish(results: &Results, output: &Output) -> Result<(), Failure> {
    let done = put(results, output);
    if results.rounds_asked.is_some() {
        let failed = done.as_ref().err().map_or(String::new(), |failure| format!("\n{failure}"));
        children::uninterrupted(&format!(": {}{failed}", results.rounds_told()))?;
    }
    done?;
    match results.any() {
        true => Ok(()),
        false => Err(Failure::Failed("nothing was measured: every run failed".to_owned())),
    }
}

fn list() -> Result<(), Failure> {
    let room = Room::found();
    let kernels = terminal::list(&choice::all_kernels()?, peers::PEERS, room);
    show(&(kernels + &preload::list(room)))
}

fn measure(run: &options::Run) -> Result<Results, Failure> {
    run.output.check(Reached::Linked)?;
    let commit = session::commit();
    let choice = Choice::of(&run.kernels, &run.peers)?;
    run.check_control(choice.peers.iter().map(|peer| peer.name))?;
    let versions = peers::Versions::read()?;
    let subjects = subjects::ready(&choice.peers, choice.subjects)?;
    let task = |kernel: &Listed| Task {
        arguments: vec![kernel.name.clone()],
        watched: true,
        own: choice.own(&kernel.name).to_owned(),
        kernel: kernel.clone(),
    };
    let session = Session {
        reached: Reached::Linked,
        commit,
        tasks: choice.kernels.iter().map(task).collect(),
        peers: peers(&choice, &subjects, &versions)?,
        subjects,
    };
    session.run(run, "run")
}

fn peers(
    choice: &Choice,
    subjects: &[Subject],
    versions: &peers::Versions,
) -> Result<Vec<Peer>, Failure> {
    let peer = |(peer, subject): (&&peers::Peer, &Subject)| {
        Ok(peer.told(versions, text::bytes(&subject.path)?))
    };
    choice.peers.iter().zip(subjects).map(peer).collect()
}

/// To the terminal first, since what was measured must not be lost; then to each of the files that
/// are named, whether or not another can be written.
fn put(results: &Results, output: &Output) -> Result<(), Failure> {
    let shown = show(&terminal::report(results, Room::found()));
    let json = output.json.as_deref().map(|path| {
        let text = serde_json::to_string(results)
            .map_err(|error| Failure::Failed(format!("the results are no JSON: {error}")))?;
        write(path, &(text + "\n"))
    });
    let markdown = output
        .markdown
        .as_deref()
        .map(|path| write(path, &markdown::filled(&markdown::read(path)?, results)?));
    let html = output.html.as_deref().map(|path| write(path, &page::render(results)));
    [Some(shown), json, markdown, html].into_iter().flatten().collect()
}

/// Prints a text. Who reads it may stop when it has read enough.
pub(crate) fn show(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::could_not("print the results", error))
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::could_not(format!("write {}", path.display()), error))
}
