//! The figures of a class, and which block a byte of a slab belongs to.

use crate::magazine;
use crate::superslab::UNIT_BYTES;

/// Reciprocals of block sizes are scaled by this power of two.
const RECIPROCAL_SHIFT: u32 = 42;
/// Brings a product's low bits to the top of a word.
const DEPTH_SHIFT: u32 = u64::BITS - RECIPROCAL_SHIFT;
/// Bytes that processors hand each other at a time.
const LINE_BYTES: u32 = 64;
/// Most units of a slab.
const SLAB_UNITS_MAX: u32 = 16;

/// Most words of a slab's free bits: one summary bit for each. Models need few, and loom's atomics
/// are large.
pub(crate) const WORDS_MAX: u32 = if cfg!(all(test, loom)) { 3 } else { 64 };
/// Most blocks of a slab: one bit each.
pub(crate) const BLOCKS_MAX: u32 = WORDS_MAX * 64;

/// The figures of a class, all known when the allocator is generated.
#[derive(Debug, Clone, Copy)]
pub struct SizeClass {
    /// Bytes of a block, a multiple of 8.
    pub bytes: u32,
    /// Blocks of a magazine.
    pub slots: u32,
    /// Blocks fetched from slabs at a time.
    pub refill: u32,
    /// Blocks fetched when a thread first uses the class.
    pub prewarm: u32,
    /// Full magazines the depot keeps at most.
    pub depot: u32,
    /// Units of a slab.
    pub units: u32,
    /// Blocks of a slab.
    pub blocks: u32,
    /// `2^42 / bytes`, rounded up.
    reciprocal: u64,
}

/// How far a byte is into its block: the low bits of its product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depth(u64);

impl SizeClass {
    /// A class with these figures. Figures that disagree do not compile.
    #[must_use]
    pub const fn new(
        [bytes, slots, refill, prewarm, depot]: [u32; 5],
        [units, blocks]: [u32; 2],
    ) -> Self {
        assert!(bytes >= 16 && bytes.is_multiple_of(8), "a block holds whole words");
        assert!(units >= 1 && units <= SLAB_UNITS_MAX, "a slab has 1 to 16 units");
        assert!(blocks >= 1 && blocks <= BLOCKS_MAX, "a slab has a free bit for each block");
        assert!(blocks as u64 * bytes as u64 <= units as u64 * UNIT_BYTES as u64, "blocks fit");
        assert!(slots >= 1 && slots as usize <= magazine::SLOTS_MAX, "slots are bounded");
        assert!(refill >= 1 && refill <= slots, "a refill fits the magazine");
        assert!(prewarm >= 1 && prewarm <= slots, "a prewarm fits the magazine");
        let reciprocal = (1u64 << RECIPROCAL_SHIFT).div_ceil(bytes as u64);
        SizeClass { bytes, slots, refill, prewarm, depot, units, blocks, reciprocal }
    }

    /// Whether several blocks lie in one cache line: threads that write them slow each other down.
    pub(crate) fn shares_lines(&self) -> bool {
        self.bytes < LINE_BYTES
    }

    /// The block that a byte of a slab belongs to, counted from the slab's start, and how far into
    /// the block it is, for [`SizeClass::is_first`].
    ///
    /// Multiplying by the rounded-up reciprocal equals dividing while
    /// `offset * (reciprocal * bytes - 2^42) < 2^42`. The factor in brackets is below `bytes`, at
    /// most 2^17, and an offset is below 2^20. Of an offset beyond that
    /// something is made, no more.
    #[inline]
    pub(crate) fn index_at(&self, offset: usize) -> (u32, Depth) {
        let product = (offset as u64).wrapping_mul(self.reciprocal);
        // A slab has at most 4096 blocks.
        ((product >> RECIPROCAL_SHIFT) as u32, Depth(product << DEPTH_SHIFT))
    }

    /// Whether a byte is the first of its block.
    ///
    /// A product's low bits are the block's number times the factor in brackets, which is less than
    /// the reciprocal, and a reciprocal more for each byte that precedes this one in the block.
    #[inline]
    pub(crate) fn is_first(&self, depth: Depth) -> bool {
        depth.0 < self.reciprocal << DEPTH_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_size(bytes: u32, units: u32) -> SizeClass {
        let whole = units * u32::try_from(UNIT_BYTES).unwrap();
        SizeClass::new([bytes, 64, 16, 16, 0], [units, (whole / bytes).min(BLOCKS_MAX)])
    }

    #[test]
    fn the_reciprocal_divides() {
        for (bytes, units) in [(16, 1), (24, 1), (48, 1), (7168, 1), (40_960, 5), (131_072, 16)] {
            let class = with_size(bytes, units);
            for offset in 0..units as usize * UNIT_BYTES {
                let index = u32::try_from(offset / bytes as usize).unwrap();
                let expected = (index, offset.is_multiple_of(bytes as usize));
                let (index, depth) = class.index_at(offset);
                assert_eq!((index, class.is_first(depth)), expected, "{bytes} at {offset}");
            }
        }
    }
}
