//! A burst of small blocks, after which the process idles.
//!
//! As a service after a peak of requests, or an editor after a large file was closed: the threads
//! of the pool stay, and now and then there is something to do. What the burst took is of no use
//! any more, and how soon it goes back to the operating system is what the kernel is for: the
//! resident memory is to be watched from outside, over time.
//!
//! The timed part is the burst alone: from when all threads begin until all have freed what they
//! made. The idle part follows it.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::team::{self, threads};
use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "idle-after-burst",
    about: "2 threads make 600 000 blocks each of 16 to 512 bytes (each doubling as likely as the \
            next, seed 42; 170 MiB in all) and free them in random order; then, untimed, for 500 \
            ms, each makes and frees 100 blocks of these sizes every 20 ms",
    group: Group::Threads,
    operation: "make and free",
    parameters: &[
        parameter("blocks", 600_000).within(1, 1 << 26),
        threads(2),
        parameter("idle-ms", 500).within(0, 1 << 32),
        seed(42),
    ],
    run,
};

/// Between two pieces of work, while the process idles.
const PAUSE_MS: u64 = 20;
/// Blocks of a piece of work.
const PIECE: u64 = 100;

fn run(parameters: &[u64]) -> Measured {
    let &[blocks, threads, idle_ms, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let gate = Barrier::new(threads as usize + 1);
    let sum = AtomicU64::new(0);
    let work = |mut random: Random| {
        gate.wait();
        sum.fetch_add(burst(blocks, &mut random), Ordering::Relaxed);
        gate.wait();
        sum.fetch_add(idle(idle_ms, &mut random), Ordering::Relaxed);
    };
    let mut measured = thread::scope(|scope| {
        let work = &work;
        let start = |number| scope.spawn(move || work(Random::nth(seed, number)));
        let threads: Vec<_> = (0..threads).map(start).collect();
        let measured = measure(blocks * threads.len() as u64, || {
            gate.wait();
            gate.wait();
            0
        });
        team::join(threads);
        measured
    });
    measured.checksum = sum.into_inner();
    measured
}

#[inline(never)]
fn burst(blocks: u64, random: &mut Random) -> u64 {
    let make = |number| block(random, number);
    let mut made: Vec<_> = (0..blocks).map(make).collect();
    random.shuffle(&mut made);
    made.into_iter().map(Block::free).sum()
}

fn idle(idle_ms: u64, random: &mut Random) -> u64 {
    let mut sum = 0;
    for _ in 0..idle_ms / PAUSE_MS {
        thread::sleep(Duration::from_millis(PAUSE_MS));
        let made: Vec<_> = (0..PIECE).map(|number| block(random, number)).collect();
        sum += black_box(made).into_iter().map(Block::free).sum::<u64>();
    }
    sum
}

fn block(random: &mut Random, mark: u64) -> Block {
    Block::new(random.scaled(16, 512) as usize, mark as u8)
}
