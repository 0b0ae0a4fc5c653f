//! The stress test for as long as you like: threads that allocate, resize, pass on and free blocks
//! at random, on every shipped spec and other layers in turn. Every block is checked against all
//! others.
//!
//! `cargo run --release --example soak -- --minutes 60`

#[path = "../tests/support/stress.rs"]
mod stress;

use std::alloc::GlobalAlloc;
use std::time::{Duration, Instant};

use clap::Parser;
use hak::hak_allocator;
use indicatif::{ProgressBar, ProgressStyle};
use stress::{Pattern, Plan};

hak_allocator!("specs/general.toml");
hak_allocator!("specs/web.toml");
hak_allocator!("specs/tiny.toml");
hak_allocator!("specs/hardened.toml");
hak_allocator!(struct NoLayers = { schema = 1, extends = "general", cache.layers = [] });
hak_allocator!(struct Lists = {
    schema = 1, extends = "general", cache.layers = ["freelist", "depot"],
    cache.adaptive = { min = 8, max = 64 }
});
hak_allocator!(struct Layered = {
    schema = 1, extends = "general", cache.layers = ["magazine", "freelist", "depot"]
});
hak_allocator!(struct Sharded = {
    schema = 1, extends = "general", superslab.shards = 4, cache.depot = "8 KiB",
    superslab.purge = { after = "1 ms", helper = true }
});

/// Runs the stress test until the time is over.
#[derive(Parser)]
struct Options {
    /// How long.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// Threads at most; each round uses some number from 2 up to it.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(2..=256))]
    threads: u64,
    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// An allocator under test: its name, a round on it, and what of it did not come back.
struct Subject {
    name: &'static str,
    run: fn(Plan) -> usize,
    blocks_out: fn() -> usize,
}

macro_rules! subject {
    ($allocator:ident) => {
        Subject {
            name: stringify!($allocator),
            run: |plan| round(&$allocator, plan),
            blocks_out: || {
                $allocator::flush();
                $allocator::stats().classes.iter().map(|class| class.blocks_out).sum()
            },
        }
    };
}

const SUBJECTS: [Subject; 8] = [
    subject!(General),
    subject!(Web),
    subject!(Tiny),
    subject!(Hardened),
    subject!(NoLayers),
    subject!(Lists),
    subject!(Layered),
    subject!(Sharded),
];

fn round<A: GlobalAlloc + Sync>(allocator: &A, plan: Plan) -> usize {
    stress::run(allocator, plan)
}

fn main() {
    let options = Options::parse();
    let time = Duration::from_secs(options.minutes * 60);
    let style = ProgressStyle::with_template("{elapsed_precise} {bar:40} {msg}").unwrap();
    let bar = ProgressBar::new(time.as_secs()).with_style(style);
    let (start, mut operations, mut rounds) = (Instant::now(), 0, 0);
    while start.elapsed() < time {
        let seed = options.seed + rounds;
        let subject = &SUBJECTS[rounds as usize % SUBJECTS.len()];
        let pattern = Pattern::ALL[rounds as usize / SUBJECTS.len() % Pattern::ALL.len()];
        let threads = usize::try_from(2 + seed % (options.threads - 1)).unwrap();
        operations += (subject.run)(Plan { threads, operations: 100_000, pattern, seed });
        assert_eq!((subject.blocks_out)(), 0, "{}, seed {seed}: blocks are lost", subject.name);
        rounds += 1;
        bar.set_position(start.elapsed().as_secs());
        bar.set_message(format!("{rounds} rounds, {operations} operations"));
    }
    bar.finish_and_clear();
    println!("{rounds} rounds, {operations} operations: no overlap, nothing lost");
}
