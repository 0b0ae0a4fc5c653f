//! What an allocator knows about itself without counting on its hit paths.

use core::fmt;

use crate::depot::{Depot, Depots};
use crate::heap::Heap;
use crate::superslab::{self, SUPERSLAB_BYTES, UNIT_BYTES};

/// A snapshot of one allocator with `N` classes. Takes locks for a moment, allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats<const N: usize> {
    /// Per class, in the order of the class table.
    pub classes: [ClassStats; N],
    /// Bytes of all superslabs, which all allocators of the process share.
    pub superslab_bytes: usize,
    /// Bytes of freed huge mappings that this allocator keeps for reuse.
    pub kept_bytes: usize,
}

/// A snapshot of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassStats {
    /// Bytes of a block.
    pub bytes: usize,
    /// Slabs held.
    pub slabs: usize,
    /// Bytes of those slabs.
    pub slab_bytes: usize,
    /// Blocks that are not free in a slab: in use, in a thread's bin, or in the depot.
    pub blocks_out: usize,
    /// Of those, blocks in the depot.
    pub blocks_in_depot: usize,
    /// Blocks that slabs handed out since the start. A thread uses a block many times before it
    /// goes back, so this is far below the number of allocations.
    pub supplied: u64,
    /// Times a thread fetched blocks from slabs.
    pub refills: u64,
    /// Full magazines a thread got from the depot.
    pub exchanges: u64,
}

impl<D: Depots> Heap<D> {
    /// What this heap holds now. `N` is its number of classes.
    pub fn stats<const N: usize>(&self) -> Stats<N> {
        Stats {
            classes: core::array::from_fn(|index| self.class_stats(index)),
            superslab_bytes: superslab::all().count() * SUPERSLAB_BYTES,
            kept_bytes: self.large.huge.kept_bytes(),
        }
    }

    fn class_stats(&self, index: usize) -> ClassStats {
        let class = &self.classes[index];
        let (magazines, exchanges) = self.depots.of(index).map_or((0, 0), Depot::census);
        let census = class.census();
        let slabs = census.slabs as usize;
        let blocks = slabs * class.size.blocks as usize;
        ClassStats {
            bytes: class.size.bytes as usize,
            slabs,
            slab_bytes: slabs * class.size.units as usize * UNIT_BYTES,
            blocks_out: blocks.saturating_sub(census.free_blocks),
            blocks_in_depot: (magazines * class.size.slots) as usize,
            supplied: census.supplied,
            refills: census.refills,
            exchanges,
        }
    }
}

/// A table with a row for each class that was used.
impl<const N: usize> fmt::Display for Stats<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " class   slabs  slab KiB    out  in depot   supplied  refills  exchanges")?;
        for class in self.classes.iter().filter(|class| class.supplied > 0) {
            writeln!(
                f,
                "{:>6} {:>7} {:>9} {:>6} {:>9} {:>10} {:>8} {:>10}",
                class.bytes,
                class.slabs,
                class.slab_bytes >> 10,
                class.blocks_out,
                class.blocks_in_depot,
                class.supplied,
                class.refills,
                class.exchanges,
            )?;
        }
        write!(f, "superslabs {} KiB", self.superslab_bytes >> 10)?;
        write!(f, ", huge mappings kept {} KiB", self.kept_bytes >> 10)
    }
}
