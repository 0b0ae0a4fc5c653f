//! Short threads, which free what they find, make blocks, free half of them and leave the rest.
//!
//! As a server with a thread for each connection, a build tool with one for each job, or a test
//! runner with one for each test. What an allocator sets up for a thread and clears away after it
//! is paid every time, and what the thread leaves must not be lost.

use std::mem;

use super::team::{Estate, in_succession, threads};
use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "churn",
    about: "4 threads at a time, 700 in succession: each frees what its predecessor left, makes \
            1000 blocks of 16 bytes to 1 KiB (each doubling as likely as the next, seed 42), frees \
            half of them at random, starts its successor, leaves it the rest and ends",
    group: Group::Threads,
    operation: "make and free",
    parameters: &[
        parameter("lives", 700).within(1, 1 << 24),
        threads(4),
        parameter("blocks", 1000).within(1, 1 << 20),
        seed(42),
    ],
    run,
};

/// What a thread leaves.
struct Remains {
    blocks: Vec<Block>,
    /// That a thread makes.
    number: u64,
    random: Random,
}

impl Estate for Remains {
    #[inline(never)]
    fn live(&mut self) -> u64 {
        let mut sum: u64 = self.blocks.drain(..).map(Block::free).sum();
        let random = &mut self.random;
        let make = |number| Block::new(random.scaled(16, 1024) as usize, number as u8);
        let mut blocks: Vec<_> = (0..self.number).map(make).collect();
        random.shuffle(&mut blocks);
        sum += blocks.drain(blocks.len() >> 1..).map(Block::free).sum::<u64>();
        self.blocks = blocks;
        sum
    }

    fn dissolve(self) -> u64 {
        self.blocks.into_iter().map(Block::free).sum()
    }
}

fn run(parameters: &[u64]) -> Measured {
    let &[lives, threads, blocks, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let remains = |number| {
        let random = Random::nth(seed, number);
        Remains { blocks: Vec::new(), number: blocks, random }
    };
    let mut estates: Vec<_> = (0..threads).map(remains).collect();
    measure(lives * threads * blocks, || in_succession(lives, mem::take(&mut estates)))
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn every_block_is_freed_by_some_thread() {
        let sum_of_life = 2 * (0..100).sum::<u64>();
        for (lives, threads) in [(1, 1), (5, 3)] {
            let measured = run(&[lives, threads, 100, 42]);
            assert_eq!(measured.operations, lives * threads * 100);
            assert_eq!(measured.checksum, lives * threads * sum_of_life);
        }
    }
}
