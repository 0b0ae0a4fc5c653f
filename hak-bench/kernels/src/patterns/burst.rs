//! Many boxes are made, then all of them are dropped.
//!
//! As a syntax tree, a page's nodes or a request's data: built piece by piece, and thrown away as a
//! whole. Memory that is free is asked for long after it was freed, and many blocks at a time.

use std::hint::black_box;

use crate::kernel::{Group, Kernel, parameter};
use crate::measure::{Measured, measure};

pub(super) const KERNEL: Kernel = Kernel {
    name: "burst",
    about: "1000 boxes of 48 bytes are made, then dropped in the order they were made, over and \
            over",
    group: Group::Pattern,
    operation: "make and drop",
    parameters: &[
        parameter("rounds", 15_000).within(1, 1 << 32),
        parameter("boxes", 1000).within(1, 1 << 24),
    ],
    run,
};

type Boxes = Vec<Box<[u64; 6]>>;

fn run(parameters: &[u64]) -> Measured {
    let &[rounds, boxes] = parameters else { unreachable!("one number for each parameter") };
    let mut kept = Boxes::with_capacity(boxes as usize);
    measure(rounds * boxes, || work(rounds, boxes, &mut kept))
}

#[inline(never)]
fn work(rounds: u64, boxes: u64, kept: &mut Boxes) -> u64 {
    let mut sum = 0;
    for round in 0..rounds {
        for number in 0..boxes {
            kept.push(black_box(Box::new([round + number; 6])));
        }
        for block in kept.drain(..) {
            sum += block[5];
        }
    }
    sum
}
