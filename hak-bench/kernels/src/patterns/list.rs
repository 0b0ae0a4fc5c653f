//! A million nodes, freed in another order than they were made.
//!
//! As the nodes of a graph, a document or a store: made when it is loaded, freed when something
//! refers to them no more. In the first round the memory is touched for the first time, in the
//! later ones it comes back in the order of the frees. What is far from the processor counts: how
//! close the nodes lie, and how much of the allocator's own state a free touches.

use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "list",
    about: "a list of 1 000 000 nodes of 64 bytes is made, then freed in random order (seed 42), \
            three times; memory is first touched in the timed part",
    group: Group::Pattern,
    operation: "make and free",
    parameters: &[
        parameter("rounds", 3).within(1, 1 << 32),
        parameter("nodes", 1_000_000).within(1, 1 << 24),
        seed(42),
    ],
    run,
};

type Node = Box<[u64; 8]>;

fn run(parameters: &[u64]) -> Measured {
    let &[rounds, nodes, seed] = parameters else { unreachable!("one number for each parameter") };
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    Random::new(seed).shuffle(&mut order);
    let mut list: Vec<Option<Node>> = (0..nodes).map(|_| None).collect();
    measure(rounds * nodes, || work(rounds, &mut list, &order))
}

#[inline(never)]
fn work(rounds: u64, list: &mut [Option<Node>], order: &[u32]) -> u64 {
    let mut sum = 0;
    for round in 0..rounds {
        for (number, node) in (round..).zip(list.iter_mut()) {
            *node = Some(Box::new([number; 8]));
        }
        for &place in order {
            if let Some(node) = list[place as usize].take() {
                sum += node[7];
            }
        }
    }
    sum
}
