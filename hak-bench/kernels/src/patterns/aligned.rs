//! Blocks that must begin at a multiple of sixteen bytes or more.
//!
//! As the vectors and matrices of numeric code (16 to 64 bytes), what threads share and pad to
//! cache lines (64 or 128), and buffers for direct input and output (512 to 4096). As with all
//! types of Rust, a size is a multiple of its alignment.

use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "aligned",
    about: "one of 512 live blocks, at random (seed 42), is replaced by one of 16 to 4096 bytes, \
            aligned to a power of two from 16 to 4096 and as large as a multiple of it (each \
            doubling of size and alignment as likely as the next)",
    group: Group::Pattern,
    operation: "replace",
    parameters: &[
        parameter("cycles", 1_200_000),
        parameter("live", 512).within(1, 1 << 24),
        seed(42),
    ],
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
        let (size, align) = layout(random);
        if let Some(block) = slot.take() {
            sum += u64::from(block.is_aligned()) + block.free();
        }
        *slot = Some(Block::aligned(size, align, cycle as u8));
    }
    sum
}

/// Size and alignment of the next block.
fn layout(random: &mut Random) -> (usize, usize) {
    let align = 1 << random.within(4, 12);
    let size = random.scaled(16, 4096) as usize;
    // By mask: the compiler does not know that a division by the alignment is one.
    ((size + align - 1) & !(align - 1), align)
}

#[cfg(test)]
mod tests {
    use super::{Random, layout};

    #[test]
    fn sizes_are_multiples_of_alignments_and_reach_their_bounds() {
        let mut random = Random::new(42);
        let layouts: Vec<_> = (0..10_000).map(|_| layout(&mut random)).collect();
        assert!(layouts.iter().all(|(size, align)| align.is_power_of_two() && size % align == 0));
        assert!(layouts.contains(&(16, 16)));
        assert!(layouts.contains(&(4096, 4096)));
        assert!(layouts.iter().all(|(size, align)| *size <= 4096 && (16..=4096).contains(align)));
    }
}
