//! One block at a time, of a size that the compiler knows.
//!
//! As a future, an iterator or an error that is boxed for one call: what was freed last is asked
//! for next, so that nothing is measured but the way in and the way out.

use std::hint::black_box;

use crate::kernel::{Group, Kernel, parameter};
use crate::measure::{Measured, measure};

pub(super) const KERNEL: Kernel = Kernel {
    name: "pair",
    about: "a box of 48 bytes is made and dropped, over and over",
    group: Group::Pattern,
    operation: "make and drop",
    parameters: &[parameter("operations", 25_000_000)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[operations] = parameters else { unreachable!("one number for each parameter") };
    measure(operations, || work(operations))
}

#[inline(never)]
fn work(operations: u64) -> u64 {
    let mut sum = 0;
    for number in 0..operations {
        let block = black_box(Box::new([number; 6]));
        sum += block[5];
    }
    sum
}
