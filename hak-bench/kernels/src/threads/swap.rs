//! Threads exchange blocks through slots that all of them share.
//!
//! As a table of connections or sessions, or a pool of objects, in which one worker's entry is
//! replaced by another's: a block is freed by whichever thread comes by, long after it was made.
//!
//! A slot holds a bundle of 32 blocks and is exchanged as a whole, by one atomic operation, so that
//! the exchange is no part of what is measured.
//!
//! # Rules
//!
//! 1. A slot holds the address of a bundle, made by `Box::into_raw`, which belongs to the slot.
//! 2. Who exchanges gives a bundle away and owns the one that comes out.
//!
//! An exchange acquires and releases: whoever gets a bundle sees all that was written to it.

use std::array;
use std::mem;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::team::{side_by_side, threads};
use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "swap",
    about: "4 threads, and 256 shared slots of 32 blocks: a thread replaces the blocks it holds by \
            others of 16 bytes to 2 KiB (each doubling as likely as the next, seed 42) and \
            exchanges them for those of a slot at random, over and over",
    group: Group::Threads,
    operation: "replace",
    parameters: &[
        parameter("turns", 20_000).within(1, 1 << 32),
        threads(4),
        parameter("slots", 256).within(1, 1 << 16),
        seed(42),
    ],
    run,
};

const BUNDLE: usize = 32;

struct Bundle([Block; BUNDLE]);

impl Bundle {
    fn new(random: &mut Random) -> Box<Bundle> {
        Box::new(Bundle(array::from_fn(|number| Bundle::block(random, number as u64))))
    }

    fn block(random: &mut Random, mark: u64) -> Block {
        Block::new(random.scaled(16, 2048) as usize, mark as u8)
    }

    /// Replaces each block; the sum of the old ones.
    fn renew(&mut self, random: &mut Random, turn: u64) -> u64 {
        let mut sum = 0;
        for (block, mark) in self.0.iter_mut().zip(turn..) {
            sum += mem::replace(block, Bundle::block(random, mark)).free();
        }
        sum
    }

    fn free(self) -> u64 {
        self.0.into_iter().map(Block::free).sum()
    }
}

struct Slot(AtomicPtr<Bundle>);

impl Slot {
    fn new(bundle: Box<Bundle>) -> Slot {
        Slot(AtomicPtr::new(Box::into_raw(bundle)))
    }

    fn exchange(&self, bundle: Box<Bundle>) -> Box<Bundle> {
        let other = self.0.swap(Box::into_raw(bundle), Ordering::AcqRel);
        // SAFETY: by rule 1 it is a bundle's, by rule 2 it is no one else's now.
        unsafe { Box::from_raw(other) }
    }

    fn into_bundle(self) -> Box<Bundle> {
        // SAFETY: by rule 1 it is a bundle's, and belongs to the slot, which ends here.
        unsafe { Box::from_raw(self.0.into_inner()) }
    }
}

fn run(parameters: &[u64]) -> Measured {
    let &[turns, threads, slots, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut random = Random::new(seed);
    let slots: Vec<_> = (0..slots).map(|_| Slot::new(Bundle::new(&mut random))).collect();
    let members = || (1..=threads).map(|number| Random::nth(seed, number)).collect();
    let mut measured = measure(turns * threads * BUNDLE as u64, || {
        side_by_side(members(), |random| work(turns, &slots, random))
    });
    // Which blocks are left in the slots depends on who was faster; the sum of all blocks does not.
    let left = slots.into_iter().map(|slot| slot.into_bundle().free());
    measured.checksum += left.sum::<u64>();
    measured
}

#[inline(never)]
fn work(turns: u64, slots: &[Slot], mut random: Random) -> u64 {
    let mut sum = 0;
    let mut bundle = Bundle::new(&mut random);
    for turn in 0..turns {
        sum += bundle.renew(&mut random, turn);
        let slot = &slots[random.below(slots.len() as u64) as usize];
        bundle = slot.exchange(bundle);
    }
    sum + bundle.free()
}

#[cfg(test)]
mod tests {
    use std::array;

    use super::{BUNDLE, Block, Bundle, Slot};

    fn marked(mark: u8) -> Box<Bundle> {
        Box::new(Bundle(array::from_fn(|_| Block::new(16, mark))))
    }

    #[test]
    fn what_was_given_comes_out_once() {
        let sum_of = |mark: u64| 2 * mark * BUNDLE as u64;
        let slot = Slot::new(marked(1));
        assert_eq!(slot.exchange(marked(20)).free(), sum_of(1));
        assert_eq!(slot.exchange(marked(50)).free(), sum_of(20));
        assert_eq!(slot.into_bundle().free(), sum_of(50));
    }
}
