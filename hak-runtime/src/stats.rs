//! What an allocator knows about itself without counting on its hit paths.

use core::fmt;

use crate::class::each_slab;
use crate::depot::{Depot, Depots};
use crate::heap::Heap;
use crate::large::Larges;
use crate::parcel::Parcel;
use crate::purge;
use crate::superslab::{self, UNIT_BYTES};

/// A snapshot of one allocator with `N` classes. Takes locks for a moment each, looks at every slab
/// of the process once, and allocates nothing. Figures of an allocator at work are not of one
/// moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats<const N: usize> {
    /// Per class, from small to large.
    pub classes: [ClassStats; N],
    /// Bytes of units and mappings that this allocator holds: slabs, spans, and huge mappings, the
    /// kept ones included.
    pub held_bytes: usize,
    /// Bytes of freed huge mappings that this allocator keeps for reuse, and of freed blocks in
    /// quarantine that the system has not got back.
    pub kept_bytes: usize,
    /// Bytes that the magazines of all threads hold at most.
    pub cache_bytes_max: usize,
    /// Bytes of all superslabs, which all allocators of the process share.
    pub superslab_bytes: usize,
    /// Of those, bytes of free units that were used and not returned to the system.
    pub dirty_bytes: usize,
    /// Bytes of units that were returned to the system since the start, by any allocator.
    pub purged_bytes: usize,
}

/// A snapshot of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// Times that a thread fetched blocks from slabs.
    pub refills: u64,
    /// Full parcels that threads got from the depot.
    pub exchanges: u64,
    /// Times that a lock of this class was taken: for a refill, to or from the depot, or when a
    /// block given back changed the state of its slab.
    pub locks: u64,
}

impl<D: Depots, L: Larges> Heap<D, L> {
    /// What this heap holds now. `N` is its number of classes.
    pub fn stats<const N: usize>(&self) -> Stats<N> {
        let mut classes = [ClassStats::default(); N];
        each_slab(self.classes, |place, free| {
            let (size, sum) = (&self.classes[place].size, &mut classes[place % self.count]);
            sum.slabs += 1;
            sum.slab_bytes += size.units as usize * UNIT_BYTES;
            sum.blocks_out += (size.blocks as usize).saturating_sub(free);
        });
        // After the walk: what is out has been counted as supplied by now.
        for place in 0..self.classes.len() {
            self.add_counts(place, &mut classes[place % self.count]);
        }
        // The statics have the hot ones first.
        classes.sort_unstable_by_key(|class| class.bytes);
        Stats {
            classes,
            held_bytes: self.account.held(),
            kept_bytes: self.large.kept_bytes(),
            cache_bytes_max: self.account.cached(),
            superslab_bytes: superslab::mapped_bytes(),
            dirty_bytes: superslab::dirty_bytes(),
            purged_bytes: purge::purged_bytes(),
        }
    }

    /// What one shard of a class counted.
    fn add_counts(&self, place: usize, sum: &mut ClassStats) {
        let (class, depot) = self.at(place);
        let (parcels, [taken, given]) = depot.map_or((0, [0; 2]), Depot::census);
        let census = class.census();
        sum.bytes = class.size.bytes as usize;
        sum.blocks_in_depot += parcels * D::Parcel::blocks(&class.size);
        sum.supplied += census.supplied;
        sum.refills += census.refills;
        sum.exchanges += taken;
        sum.locks += census.refills + census.settled + taken + given;
    }
}

impl Stats<0> {
    /// Of an allocator without classes: a stub's.
    pub const NONE: Stats<0> = Stats {
        classes: [],
        held_bytes: 0,
        kept_bytes: 0,
        cache_bytes_max: 0,
        superslab_bytes: 0,
        dirty_bytes: 0,
        purged_bytes: 0,
    };
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
        let [held, kept, cache, superslabs, dirty, purged] = self.totals().map(|(_, b)| b >> 10);
        writeln!(f, "held {held} KiB, of that huge mappings kept {kept} KiB")?;
        writeln!(f, "threads may cache {cache} KiB")?;
        write!(f, "superslabs {superslabs} KiB, dirty {dirty} KiB, purged {purged} KiB")
    }
}

impl<const N: usize> Stats<N> {
    /// Bytes that the program uses, or that its threads cache: of slabs the blocks that are out and
    /// not in a depot, and all of spans and mappings but the kept ones.
    pub fn in_use_bytes(&self) -> usize {
        let unused = |class: &ClassStats| {
            let used = class.blocks_out.saturating_sub(class.blocks_in_depot) * class.bytes;
            class.slab_bytes.saturating_sub(used)
        };
        let unused: usize = self.classes.iter().map(unused).sum();
        self.held_bytes.saturating_sub(self.kept_bytes + unused)
    }

    /// The snapshot as one JSON object, with the names of the fields as keys, and `in_use_bytes`.
    pub fn json(&self) -> impl fmt::Display {
        Json(*self)
    }

    fn totals(&self) -> [(&'static str, usize); 6] {
        [
            ("held_bytes", self.held_bytes),
            ("kept_bytes", self.kept_bytes),
            ("cache_bytes_max", self.cache_bytes_max),
            ("superslab_bytes", self.superslab_bytes),
            ("dirty_bytes", self.dirty_bytes),
            ("purged_bytes", self.purged_bytes),
        ]
    }
}

struct Json<const N: usize>(Stats<N>);

impl<const N: usize> fmt::Display for Json<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"in_use_bytes\":{},", self.0.in_use_bytes())?;
        for (name, bytes) in self.0.totals() {
            write!(f, "\"{name}\":{bytes},")?;
        }
        f.write_str("\"classes\":[")?;
        for (number, class) in self.0.classes.iter().enumerate() {
            let ClassStats { bytes, slabs, slab_bytes, blocks_out, blocks_in_depot, .. } = class;
            let ClassStats { supplied, refills, exchanges, locks, .. } = class;
            write!(f, "{}{{\"bytes\":{bytes}", if number == 0 { "" } else { "," })?;
            write!(f, ",\"slabs\":{slabs},\"slab_bytes\":{slab_bytes}")?;
            write!(f, ",\"blocks_out\":{blocks_out},\"blocks_in_depot\":{blocks_in_depot}")?;
            write!(f, ",\"supplied\":{supplied},\"refills\":{refills}")?;
            write!(f, ",\"exchanges\":{exchanges},\"locks\":{locks}}}")?;
        }
        f.write_str("]}")
    }
}
