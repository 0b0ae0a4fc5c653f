//! Blocks of mixed sizes that replace each other at random.
//!
//! As the entries of a cache, of a session store or of an interpreter's heap: how long one lives
//! has nothing to do with its size or with when it was made. `random-mixed` has 135 KB of live
//! blocks, which a second-level cache holds; the others have 4 MB and more.

use std::hint::black_box;

use crate::block::Block;
use crate::kernel::{Group, Kernel, Parameter, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "random-mixed",
    about: "one of 256 live blocks, at random (seed 42), is replaced by one of 16 to 1040 bytes",
    group: Group::Pattern,
    operation: "replace",
    parameters: &parameters(10_000_000, 256),
    run: |parameters| run(parameters, 16, 1040),
};

pub(super) const LARGE: Kernel = Kernel {
    name: "random-mixed-large",
    about: "one of 8192 live blocks, at random (seed 42), is replaced by one of 16 to 1040 bytes",
    parameters: &parameters(7_000_000, 8192),
    ..KERNEL
};

pub(super) const UP_TO_8K: Kernel = Kernel {
    name: "mixed-8k",
    about: "one of 2048 live blocks, at random (seed 42), is replaced by one of 16 bytes to 8 KiB",
    parameters: &parameters(1_500_000, 2048),
    run: |parameters| run(parameters, 16, 8 << 10),
    ..KERNEL
};

pub(super) const UP_TO_32K: Kernel = Kernel {
    name: "mixed-32k",
    about: "one of 2048 live blocks, at random (seed 42), is replaced by one of 16 bytes to 32 KiB",
    parameters: &parameters(1_500_000, 2048),
    run: |parameters| run(parameters, 16, 32 << 10),
    ..KERNEL
};

const fn parameters(cycles: u64, live: u64) -> [Parameter; 3] {
    [parameter("cycles", cycles), parameter("live", live).within(1, 1 << 24), seed(42)]
}

fn run(parameters: &[u64], least: u64, most: u64) -> Measured {
    let &[cycles, live, seed] = parameters else { unreachable!("one number for each parameter") };
    let mut random = Random::new(seed);
    let mut slots: Vec<Option<Block>> = (0..live).map(|_| None).collect();
    let (least, most) = black_box((least, most));
    measure(cycles, || work(cycles, &mut slots, &mut random, least, most))
}

/// Replaces one of the slots' blocks by one of `least` to `most` bytes, `cycles` times.
#[inline(never)]
pub(crate) fn work(
    cycles: u64,
    slots: &mut [Option<Block>],
    random: &mut Random,
    least: u64,
    most: u64,
) -> u64 {
    let mut sum = 0;
    for cycle in 0..cycles {
        let slot = &mut slots[random.below(slots.len() as u64) as usize];
        let size = random.within(least, most) as usize;
        if let Some(block) = slot.take() {
            sum += block.free();
        }
        *slot = Some(Block::new(size, cycle as u8));
    }
    sum
}
