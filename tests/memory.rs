//! What an allocator costs a program that needs little: its peak of resident memory.
//!
//! `cargo test --test memory -- --nocapture` prints the figures of every spec.
//!
//! A program reads its own peak, `VmHWM`, when its work is done. `wait4` tells a parent a child's
//! peak too, but that figure starts at what the parent had when it forked, and a test process is
//! larger than the programs it would measure.
//!
//! Where the system places a program decides how much of its file is mapped at a time, which is
//! 100 KiB and more. So programs run at fixed addresses where that is allowed; the median of a few
//! runs serves where it is not.

#[path = "support/probe.rs"]
mod probe;

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = include_str!("support/programs/memory.rs");

const RUNS: usize = 5;
/// What tiny may add to the system allocator's peak.
const TINY_ADDS_MAX_KIB: u64 = 100;
/// Peak of a program that touches one OS page of a GiB.
const UNTOUCHED_MAX_KIB: u64 = 16 << 10;

fn build(spec: Option<&Path>) -> PathBuf {
    probe::build("memory", PROGRAM, spec)
}

/// Every shipped spec, by name.
fn shipped() -> Vec<(String, PathBuf)> {
    let folder = probe::shipped("tiny");
    let files = fs::read_dir(folder.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let specs = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let mut specs: Vec<_> =
        specs.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect();
    specs.sort();
    specs
}

/// Peak of a program that does some work: the median of a few runs.
fn peak_kib(program: &Path, work: &str) -> u64 {
    let mut peaks: Vec<_> = (0..RUNS).map(|_| peak_of_one_run_kib(program, work)).collect();
    peaks.sort_unstable();
    peaks[RUNS / 2]
}

fn peak_of_one_run_kib(program: &Path, work: &str) -> u64 {
    let mut command = Command::new(program);
    command.arg(work);
    // SAFETY: the hook touches no memory.
    unsafe { command.pre_exec(use_fixed_addresses) };
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {work}: {errors}", program.display());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().last().unwrap().parse().unwrap()
}

/// For this process and what it executes. Not all sandboxes allow it.
fn use_fixed_addresses() -> io::Result<()> {
    // SAFETY: a system call that touches no memory.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as _) };
    Ok(())
}

#[test]
fn tiny_adds_little_to_a_program_that_needs_little() {
    let system = build(None);
    let works = ["nothing", "line"];
    let before = works.map(|work| peak_kib(&system, work));
    println!("peak KiB   nothing   one line");
    println!("{:<10}{:>8}{:>11}", "system", before[0], before[1]);
    for (name, spec) in shipped() {
        let program = build(Some(&spec));
        let peaks = works.map(|work| peak_kib(&program, work));
        println!("{name:<10}{:>8}{:>11}", peaks[0], peaks[1]);
        for (peak, before) in peaks.into_iter().zip(before) {
            let added = peak.saturating_sub(before);
            assert!(name != "tiny" || added <= TINY_ADDS_MAX_KIB, "{name} adds {added} KiB");
        }
    }
}

/// Fresh memory is zero: `alloc_zeroed` of a large block touches nothing.
#[test]
fn a_zeroed_gib_takes_the_memory_that_is_touched() {
    for (name, spec) in shipped() {
        let peak = peak_kib(&build(Some(&spec)), "zeroed");
        println!("{name}: {peak} KiB with one OS page of 1 GiB touched");
        assert!(peak < UNTOUCHED_MAX_KIB, "{name}: {peak} KiB");
    }
}
