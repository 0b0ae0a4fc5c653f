//! Allocates in a loop, to be counted: `counts KERNEL ITERATIONS`.

use std::env;
use std::hint::black_box;

/// Blocks alive at a time in `mixed`.
const SLOTS: u64 = 256;

/// The loop of `pair` without its alloc and free: what they add is the allocator's.
#[inline(never)]
fn empty(iterations: u64) {
    for value in 0..iterations {
        let block = [value; 6];
        black_box(&block);
    }
}

/// A block of 48 bytes is made and dropped.
#[inline(never)]
fn pair(iterations: u64) {
    for value in 0..iterations {
        let block = Box::new([value; 6]);
        black_box(&*block);
    }
}

/// One of 256 live blocks is replaced by one of 16 to 1040 bytes.
#[inline(never)]
fn mixed(iterations: u64, seed: u64) {
    let mut slots: Vec<Vec<u8>> = (0..SLOTS).map(|_| Vec::new()).collect();
    let mut state = seed;
    for _ in 0..iterations {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let slot = reduce(state, SLOTS);
        let size = 16 + reduce(state >> 32, 1025);
        slots[slot] = Vec::with_capacity(black_box(size));
    }
    black_box(&slots);
}

/// The low half of a number as a number below `limit`, without a division.
fn reduce(number: u64, limit: u64) -> usize {
    ((number & 0xffff_ffff) * limit >> 32) as usize
}

fn main() {
    let mut arguments = env::args().skip(1);
    let kernel = arguments.next().expect("a kernel");
    let iterations = arguments.next().expect("a number").parse().expect("a number");
    let iterations = black_box(iterations);
    match kernel.as_str() {
        "empty" => empty(iterations),
        "pair" => pair(iterations),
        "mixed" => mixed(iterations, black_box(0x9e37_79b9_7f4a_7c15)),
        other => panic!("no kernel `{other}`"),
    }
}
