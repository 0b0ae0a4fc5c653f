//! `hak-bench preload`: programs in C, each on libraries that are preloaded.
//!
//! | file | what is in it |
//! |---|---|
//! | `libraries.rs` | the allocators as libraries: found, built, and tried |
//! | `kernels.rs` | the kernels of `hak-bench/c`, compiled |
//! | `programs.rs` | tools that every system has, and what they are to do |
//! | `inputs.rs`, `git.rs` | what they are to do it with, from a seed |
//!
//! One program in C is the subject: it has the kernels, and starts the tools, so that all of them
//! report in the same way. What differs between two subjects is `LD_PRELOAD` alone.

mod git;
mod inputs;
mod kernels;
mod libraries;
mod programs;

use std::path::Path;

use hak_bench_kernels::{Group, Listed};

use crate::choice::{USUAL, chosen};
use crate::failure::Failure;
use crate::options;
use crate::peers::Versions;
use crate::results::{Reached, Results};
use crate::rounds::Task;
use crate::session::{self, Session};
use crate::subjects::{Subject, bench_folder, owned};
use crate::terminal::{self, Room};
use inputs::Inputs;
use libraries::Library;
use programs::{PROGRAMS, Program};

/// What stands for hak in every line: one library for whatever is started with it.
const OWN: &str = USUAL;

/// The folder of all that is made here, in that of the bench.
const FOLDER: &str = "preload";

/// What every program finds, so that it does the same everywhere, and with malloc alone.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("PYTHONMALLOC", "malloc"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
];

/// The tools and the libraries there are.
pub(crate) fn list(room: Room) -> String {
    let tools: Vec<_> = PROGRAMS.iter().map(Program::listed).collect();
    let all: Vec<_> = libraries::all().iter().map(|it| (it.name(), it.about())).collect();
    terminal::list_preloaded(&tools, &all, room)
}

/// Times what is asked for on all libraries in turn.
pub(crate) fn run(asked: &options::Run) -> Result<Results, Failure> {
    asked.output.check(Reached::Preloaded)?;
    let commit = session::commit();
    let libraries = libraries::chosen(&asked.peers)?;
    asked.check_control(libraries.iter().map(Library::name))?;
    let folder = bench_folder(FOLDER)?;
    let program = kernels::compile(&folder)?;
    let tasks = tasks(&asked.kernels, &kernels::list(&program)?, &folder)?;
    let versions = Versions::read()?;
    let loaded = libraries::ready(&libraries, &folder, &program)?;
    let mut peers = Vec::new();
    let mut subjects = Vec::new();
    for (library, path) in libraries.iter().zip(&loaded) {
        peers.push(library.told(path.as_deref(), &versions)?);
        let mut environment = owned(&ENVIRONMENT);
        environment.push(libraries::preload(path.as_deref())?);
        let (name, path) = (library.name().to_owned(), program.clone());
        subjects.push(Subject { name, path, environment, not_under_valgrind: None });
    }
    let session = Session { reached: Reached::Preloaded, commit, tasks, peers, subjects };
    session.run(asked, "preload")
}

/// The kernels in C, then the tools, of which only those that are asked for have to be there.
fn tasks(names: &[String], kernels: &[Listed], folder: &Path) -> Result<Vec<Task>, Failure> {
    let mut all = kernels.to_vec();
    all.extend(PROGRAMS.iter().map(Program::listed));
    let asked = if names.is_empty() { all } else { chosen(names, &all)? };
    let inputs = Inputs::below(folder);
    if asked.iter().any(|kernel| kernel.group == Group::Program) {
        inputs.write()?;
    }
    let task = |kernel: Listed| match PROGRAMS.iter().find(|program| program.name == kernel.name) {
        Some(program) => program.task(&inputs),
        None => {
            let arguments = vec![kernel.name.clone()];
            Ok(Task { kernel, arguments, watched: true, own: OWN.to_owned() })
        }
    };
    asked.into_iter().map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::kernels;
    use crate::results::Sample;
    use crate::rounds::{self, Plan, Taken, Task};
    use crate::subjects::{Subject, owned};

    fn subject(folder: &tempfile::TempDir, environment: &[(&str, &str)]) -> Subject {
        let path = kernels::compile(folder.path()).unwrap();
        let name = format!("{environment:?}");
        Subject { name, path, environment: owned(environment), not_under_valgrind: None }
    }

    /// A shell's command as a program that a subject runs.
    fn task(folder: &tempfile::TempDir, script: &str) -> Task {
        let words = ["--program", "4", "/bin/sh", "-c", script];
        let kernel = kernels::list(&kernels::compile(folder.path()).unwrap()).unwrap().remove(0);
        let arguments = words.map(str::to_owned).to_vec();
        Task { kernel, arguments, watched: false, own: String::new() }
    }

    fn taken(folder: &tempfile::TempDir, script: &str) -> Vec<Taken> {
        let subjects = [subject(folder, &[("MARK", "1")]), subject(folder, &[("MARK", "2")])];
        let tasks = [task(folder, script)];
        rounds::all(&Plan { tasks: &tasks, subjects: &subjects, rounds: 2 }, &|| false)
            .taken
            .remove(0)
    }

    #[test]
    fn what_a_program_prints_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let same = taken(&folder, "echo much; exit 0");
        assert!(same.iter().all(|taken| taken.samples.len() == 2 && taken.failure.is_none()));
        let [first, second] = &taken(&folder, "echo $MARK")[..] else { unreachable!() };
        assert!(first.failure.is_none());
        let failure = second.failure.as_deref().unwrap();
        assert!(failure.starts_with("did other work than its peers: checksum "), "{failure}");
    }

    #[test]
    fn a_program_that_fails_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let failure = taken(&folder, "exit 3").remove(0).failure.unwrap();
        assert_eq!(failure, "ended with exit status: 1: /bin/sh ended with 3");
        let failure = taken(&folder, "kill -SEGV $$").remove(0).failure.unwrap();
        assert!(failure.ends_with(": /bin/sh was ended by signal 11"), "{failure}");
    }

    #[test]
    fn a_program_is_measured_with_what_it_starts() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sort /dev/null; head -c 20000000 /dev/zero | sort | wc -c; sleep 0.05";
        let Sample { nanoseconds, peak_resident_bytes, .. } =
            taken(&folder, script).remove(0).samples[0];
        // For each of four operations.
        assert!(nanoseconds > 0.05 * 1e9 / 4.0);
        assert!(peak_resident_bytes > 20_000_000);
    }
}
