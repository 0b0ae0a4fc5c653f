//! A server's threads replace blocks at random, and leave them to their successors.
//!
//! After Larson and Krishnan, "Memory allocation for long-running server applications" (1998), who
//! saw this in servers: a thread ends, or is sent on to other work, and what it had allocated is
//! freed by others. So the blocks of a thread outlive it, and memory bleeds from thread to thread.

use std::mem;

use super::team::{Estate, in_succession, threads};
use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::patterns::random_mixed;
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "larson",
    about: "4 threads at a time, 80 in succession: each replaces 50 000 times one of the 1000 \
            blocks of its array, at random (seed 42), by one of 8 to 1000 bytes, starts its \
            successor, leaves it the array and ends",
    group: Group::Threads,
    operation: "replace",
    parameters: &[
        parameter("lives", 80).within(1, 1 << 24),
        threads(4),
        parameter("blocks", 1000).within(1, 1 << 20),
        seed(42),
    ],
    run,
};

/// Of one thread.
const REPLACEMENTS: u64 = 50_000;

/// An array with the numbers that choose among its blocks.
struct Office {
    blocks: Vec<Option<Block>>,
    random: Random,
}

impl Office {
    fn new(blocks: u64, mut random: Random) -> Office {
        let block = |number| Some(Block::new(random.within(8, 1000) as usize, number as u8));
        Office { blocks: (0..blocks).map(block).collect(), random }
    }
}

impl Estate for Office {
    fn live(&mut self) -> u64 {
        random_mixed::work(REPLACEMENTS, &mut self.blocks, &mut self.random, 8, 1000)
    }

    fn dissolve(self) -> u64 {
        self.blocks.into_iter().flatten().map(Block::free).sum()
    }
}

fn run(parameters: &[u64]) -> Measured {
    let &[lives, threads, blocks, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let office = |number| Office::new(blocks, Random::nth(seed, number));
    let mut offices: Vec<_> = (0..threads).map(office).collect();
    measure(lives * threads * REPLACEMENTS, || in_succession(lives, mem::take(&mut offices)))
}
