//! The fast path as it runs: instructions, branches and mispredictions, counted by simulation.
//!
//! Programs run under callgrind, whose counts are exact. Each runs with N iterations and with 2 N:
//! the difference is N iterations without what a process does at its start and end.
//! `cargo test --test counts -- --nocapture` prints what was counted, for the system's allocator
//! too.
//!
//! Without valgrind nothing is counted, and the test says so; where `CI` is set it fails.

#[path = "support/probe.rs"]
mod probe;

use std::env;
use std::fs;
use std::io::{self, Write};
use std::ops::Sub;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = include_str!("support/programs/counts.rs");

/// An iteration is an alloc and a free.
const OPERATIONS: f64 = 2.0;
/// Conditional branches of an operation of constant size, beyond the loop's own.
const CONSTANT_BRANCHES_MAX: f64 = 1.0;
/// Mispredicted conditional branches of a whole iteration of random size, a free and an alloc, the
/// loop's own included. A look-up with a branch on the size's range has about 0.28.
const MIXED_MISPREDICTED_MAX: f64 = 0.05;

/// Events of one run, or of one iteration.
#[derive(Debug, Clone, Copy)]
struct Counts {
    instructions: f64,
    branches: f64,
    mispredicted: f64,
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

/// The program on one allocator.
struct Program {
    executable: PathBuf,
}

impl Program {
    fn build(spec: Option<&Path>) -> Self {
        Program { executable: probe::build("counts", PROGRAM, spec) }
    }

    /// One iteration of a kernel.
    fn iteration(&self, kernel: &str, iterations: u32) -> Counts {
        let run = |iterations| self.run(kernel, iterations);
        let difference = run(2 * iterations) - run(iterations);
        let per_iteration = |count| count / f64::from(iterations);
        Counts {
            instructions: per_iteration(difference.instructions),
            branches: per_iteration(difference.branches),
            mispredicted: per_iteration(difference.mispredicted),
        }
    }

    fn run(&self, kernel: &str, iterations: u32) -> Counts {
        // Two tests may count the same at the same time.
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("callgrind.out");
        let output = Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind", "--branch-sim=yes"])
            .arg(format!("--callgrind-out-file={}", report.display()))
            .arg(&self.executable)
            .args([kernel, &iterations.to_string()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        totals(&fs::read_to_string(report).unwrap())
    }
}

/// The totals of a callgrind report: a line names the events, another has a figure for each.
fn totals(report: &str) -> Counts {
    let line = |head| {
        let line = report.lines().find_map(|line| line.strip_prefix(head));
        line.unwrap_or_else(|| panic!("no line `{head}`")).split_whitespace()
    };
    let count = |event| {
        let place = line("events:").position(|name| name == event);
        let figure = place.and_then(|place| line("totals:").nth(place));
        figure.unwrap_or_else(|| panic!("no event `{event}`")).parse().unwrap()
    };
    // Bc and Bcm: conditional branches, and those of them that were mispredicted.
    Counts { instructions: count("Ir"), branches: count("Bc"), mispredicted: count("Bcm") }
}

/// Whether there is a simulator; a test that counts nothing must not look like one that counted.
fn can_count() -> bool {
    let found = Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        let message = "nothing was counted: valgrind is not installed (apt-get install valgrind)";
        assert!(env::var_os("CI").is_none(), "{message}");
        // Past the harness, which shows what a passing test prints to no one.
        io::stderr().write_all(format!("{message}\n").as_bytes()).unwrap();
    }
    found
}

fn print(kernel: &str, allocator: &str, counts: Counts) {
    let Counts { instructions, branches, mispredicted } = counts;
    println!("{kernel:<8}{allocator:<10}{instructions:>12.2}{branches:>10.3}{mispredicted:>14.4}");
}

/// What counting and sampling add to an alloc and a free: the instructions that
/// `tests/watched_paths.rs` shows, and in the mean little for what goes off the hit path.
#[test]
fn counting_and_sampling_add_what_the_listings_show() {
    /// Two that count; of eight that sample two are branches.
    const ADDED: [(&str, &str, [f64; 2]); 3] = [
        ("counted", "counters = true", [2.0, 0.0]),
        ("sampled", "profile = true", [8.0, 2.0]),
        ("both", "counters = true, profile = true", [10.0, 2.0]),
    ];
    /// For samples, of which there are some in each run.
    const SAMPLES_MAX: f64 = 0.2;
    if !can_count() {
        return;
    }
    let plain = Program::build(Some(&probe::shipped("general")));
    let [plain, plain_mixed] = ["pair", "mixed"].map(|kernel| plain.iteration(kernel, 100_000));
    print("pair", "general", plain);
    print("mixed", "general", plain_mixed);
    for (name, stats, [instructions, branches]) in ADDED {
        let spec = probe::folder().join(format!("specs/{name}.toml"));
        let text = format!("schema = 1\nextends = \"general\"\nstats = {{ {stats} }}\n");
        probe::write_if_changed(&spec, &text);
        let program = Program::build(Some(&spec));
        let pair = program.iteration("pair", 100_000);
        print("pair", name, pair);
        print("mixed", name, program.iteration("mixed", 100_000));
        let added = pair - plain;
        let most = instructions + SAMPLES_MAX;
        assert!(added.instructions <= most, "{name} adds {added:?}, not {instructions}");
        assert!(added.branches <= branches + SAMPLES_MAX, "{name} adds {added:?}");
    }
}

#[test]
fn branches_are_few_and_predicted() {
    if !can_count() {
        return;
    }
    println!("kernel  allocator instructions  branches  mispredicted   (for an alloc and a free)");
    let [general, web] = ["general", "web"].map(|name| (name, Some(probe::shipped(name))));
    for (allocator, spec) in [("system", None), general, web] {
        let program = Program::build(spec.as_deref());
        // The loop and the initialisation of the block are in both.
        let pair = program.iteration("pair", 100_000) - program.iteration("empty", 100_000);
        print("pair", allocator, pair);
        let mixed = program.iteration("mixed", 200_000);
        print("mixed", allocator, mixed);
        if spec.is_some() {
            let (branches, mispredicted) = (pair.branches, mixed.mispredicted);
            assert!(branches <= OPERATIONS * CONSTANT_BRANCHES_MAX, "{allocator}: {pair:?}");
            assert!(mispredicted <= MIXED_MISPREDICTED_MAX, "{allocator}: {mixed:?}");
        }
    }
}
