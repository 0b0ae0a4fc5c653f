//! Small blocks that threads write many times.
//!
//! After cache-thrash and cache-scratch of Berger and others (Hoard, 2000). As counters, states of
//! tasks and reference counts, which one thread has and writes all the time. When an allocator
//! gives parts of one cache line to two threads, each write of the one takes the line away from the
//! other: the program is slow, and nothing in it shows why.
//!
//! *Active*: the allocator itself deals out a line to threads that ask at the same time. *Passive*:
//! one thread made neighbouring blocks and handed them out; those who free them are given the same
//! ones again.
//!
//! The effect needs two processors that run at the same time: on a busy machine it is not seen. A
//! thread has sixteen boxes and writes them in turn, for the processor holds back and joins writes
//! of a single one, and so hides what they cost.
//!
//! There is no hand-over in the timed part but, in the passive one, that of the first blocks.
//! Writes are plain loads and stores, written as relaxed atomics so that none is left out.

use std::hint::black_box;
use std::mem;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use super::team::{side_by_side, threads};
use crate::kernel::{Group, Kernel, Parameter, parameter};
use crate::measure::{Measured, measure};

pub(super) const ACTIVE: Kernel = Kernel {
    name: "false-sharing-active",
    about: "2 threads: each makes 16 boxes of 8 bytes, writes each of them 100 times in turn, and \
            frees them, over and over",
    group: Group::Threads,
    operation: "write",
    parameters: &parameters(250_000),
    run: |parameters| run(parameters, false),
};

pub(super) const PASSIVE: Kernel = Kernel {
    name: "false-sharing-passive",
    about: "2 threads: each frees every other one of 32 neighbouring boxes of 8 bytes that the \
            main thread made; then each makes 16 boxes, writes each of them 100 times in turn, and \
            frees them, over and over",
    parameters: &parameters(20_000),
    run: |parameters| run(parameters, true),
    ..ACTIVE
};

const fn parameters(rounds: u64) -> [Parameter; 3] {
    [
        parameter("rounds", rounds).within(1, 1 << 32),
        threads(2),
        parameter("writes", 100).within(1, 1 << 16),
    ]
}

/// Of one thread.
const BOXES: u64 = 16;

type Boxes = Vec<Box<AtomicU64>>;

fn run(parameters: &[u64], passive: bool) -> Measured {
    let &[rounds, threads, writes] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut members: Vec<_> = (0..threads).map(|_| Boxes::with_capacity(BOXES as usize)).collect();
    if passive {
        hand_out(&mut members);
    }
    let start = Barrier::new(threads as usize);
    measure(rounds * threads * BOXES * writes, || {
        side_by_side(mem::take(&mut members), |boxes| {
            // All at once: one that is alone for a while shares nothing.
            start.wait();
            work(rounds, writes, boxes)
        })
    })
}

/// Makes boxes, one for each thread in turn.
fn hand_out(members: &mut [Boxes]) {
    for number in 0..BOXES {
        for boxes in &mut *members {
            boxes.push(Box::new(AtomicU64::new(number)));
        }
    }
}

#[inline(never)]
fn work(rounds: u64, writes: u64, mut boxes: Boxes) -> u64 {
    let mut sum = boxes.drain(..).map(|number| number.load(Ordering::Relaxed)).sum();
    for round in 0..rounds {
        for number in 0..BOXES {
            boxes.push(black_box(Box::new(AtomicU64::new(round + number))));
        }
        for _ in 0..writes {
            for number in &boxes {
                number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
        }
        sum += boxes.drain(..).map(|number| number.load(Ordering::Relaxed)).sum::<u64>();
    }
    sum
}
