//! Allocators under test behind one interface, and blocks of them that know their contents.

use std::alloc::{GlobalAlloc, Layout};

/// An allocator that a test runs on, and what it tells about itself.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) allocator: &'static (dyn GlobalAlloc + Sync),
    pub(crate) totals: fn() -> Totals,
    pub(crate) flush: fn(),
    pub(crate) purge: fn(),
}

/// Makes a [`Subject`] of a type that `hak_allocator!` declared.
macro_rules! subject {
    ($name:ident) => {
        subject::Subject {
            name: stringify!($name),
            allocator: &$name,
            totals: || subject::Totals::of(&$name::stats()),
            flush: $name::flush,
            purge: $name::purge,
        }
    };
}
pub(crate) use subject;

/// What an allocator holds, summed over its classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Bytes of the blocks that are neither in a slab nor in the depot.
    pub(crate) out_bytes: usize,
    /// Bytes that the threads' magazines may hold.
    pub(crate) cache_bytes: usize,
    /// Bytes that were returned to the system, by any allocator.
    pub(crate) purged_bytes: usize,
}

impl Totals {
    pub(crate) fn of<const N: usize>(stats: &hak::Stats<N>) -> Totals {
        let out =
            |class: &hak::ClassStats| class.bytes * (class.blocks_out - class.blocks_in_depot);
        Totals {
            out_bytes: stats.classes.iter().map(out).sum(),
            cache_bytes: stats.cache_bytes_max,
            purged_bytes: stats.purged_bytes,
        }
    }
}

/// A size in each class of most specs, and sizes that no class serves: spans and mappings.
pub(crate) const SIZES: [usize; 20] = [
    1, 16, 24, 48, 64, 100, 160, 256, 500, 592, 1024, 1500, 2048, 4096, 9000, 16_384, 32_768,
    100_000, 400_000, 2_000_000,
];

/// How many of [`SIZES`] are small: a class serves them.
pub(crate) const SMALL_SIZES: usize = 17;

/// A block, filled with a mark at both ends.
pub(crate) struct Block {
    start: *mut u8,
    size: usize,
    subject: Subject,
}

// SAFETY: a block belongs to whoever holds it.
unsafe impl Send for Block {}

impl Block {
    pub(crate) fn new(subject: Subject, size: usize) -> Block {
        // SAFETY: the size is not 0.
        let start = unsafe { subject.allocator.alloc(Self::layout(size)) };
        assert!(!start.is_null(), "{} has no {size} bytes", subject.name);
        let block = Block { start, size, subject };
        for place in block.marked() {
            // SAFETY: both places lie in the block, which is ours.
            unsafe { place.write(block.mark()) };
        }
        block
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 1).unwrap()
    }

    /// Tells blocks from each other.
    fn mark(&self) -> u8 {
        (self.start.addr() >> 4).to_le_bytes()[0] ^ self.size.to_le_bytes()[0]
    }

    fn marked(&self) -> [*mut u8; 2] {
        [self.start, self.start.wrapping_add(self.size - 1)]
    }
}

/// Checks the contents and frees the block.
impl Drop for Block {
    fn drop(&mut self) {
        for place in self.marked() {
            // SAFETY: both places lie in the block, and `new` wrote them.
            assert_eq!(unsafe { place.read() }, self.mark(), "{} bytes changed", self.size);
        }
        // SAFETY: the block is ours, and gone after this.
        unsafe { self.subject.allocator.dealloc(self.start, Self::layout(self.size)) };
    }
}

/// A block of each size of a list.
pub(crate) fn blocks(subject: Subject, sizes: &[usize]) -> Vec<Block> {
    sizes.iter().map(|&size| Block::new(subject, size)).collect()
}
