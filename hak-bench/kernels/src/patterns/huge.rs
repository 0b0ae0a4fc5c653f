//! Blocks of many OS pages, half of each of which is written.
//!
//! As frames of pictures and sound, columns of numbers, and files that are read as a whole: a
//! buffer is as large as the largest case, and the case at hand fills a part of it. Most of the
//! time goes to the operating system, which clears memory that is touched for the first time; what
//! an allocator keeps and gives again is there already, and counts as its own.

use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "huge",
    about: "one of 8 live blocks, at random (seed 42), is replaced by one of 256 KiB to 16 MiB \
            (each doubling as likely as the next), of which the first half and the last byte are \
            written",
    group: Group::Pattern,
    operation: "replace",
    parameters: &[parameter("cycles", 500), parameter("live", 8).within(1, 1024), seed(42)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[cycles, live, seed] = parameters else { unreachable!("one number for each parameter") };
    let mut random = Random::new(seed);
    let mut slots: Vec<Option<Block>> = (0..live).map(|_| None).collect();
    measure(cycles, || work(cycles, &mut slots, &mut random))
}

#[inline(never)]
fn work(cycles: u64, slots: &mut [Option<Block>], random: &mut Random) -> u64 {
    let mut sum = 0;
    for cycle in 0..cycles {
        let slot = &mut slots[random.below(slots.len() as u64) as usize];
        let size = random.scaled(256 << 10, 16 << 20) as usize;
        if let Some(block) = slot.take() {
            sum += block.free();
        }
        let block = Block::new(size, cycle as u8);
        block.fill_half(cycle as u8);
        *slot = Some(block);
    }
    sum
}
