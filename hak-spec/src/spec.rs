//! The checked model: what a spec means, with every default filled in and every count resolved.
//!
//! `Spec` is the waist of the hourglass: the macro and the command line flow into it, code and
//! reports flow out of it. A `Spec` is always consistent; whoever holds one need not check again.

use std::path::PathBuf;

/// Bytes of a unit, the grain in which a superslab is cut into slabs and spans.
pub const UNIT_BYTES: u32 = 64 << 10;
/// Bytes of a superslab, and its alignment.
pub const SUPERSLAB_BYTES: u32 = 2 << 20;
/// Most blocks a slab may hold: one free bit each, 64 words of 64 bits.
pub const SLAB_BLOCKS_MAX: u32 = 4096;
/// Fewest blocks a slab is cut into; larger classes take slabs of several units. With guard pages
/// the largest classes have one fewer.
pub const SLAB_BLOCKS_MIN: u32 = 8;
/// Most units a slab may take.
pub const SLAB_UNITS_MAX: u32 = 16;
/// Smallest class: with 4096 blocks it fills one unit.
pub const CLASS_BYTES_MIN: u32 = 16;
/// Largest class: `SLAB_BLOCKS_MIN` of them fill a slab of `SLAB_UNITS_MAX` units.
pub const CLASS_BYTES_MAX: u32 = SLAB_UNITS_MAX * UNIT_BYTES / SLAB_BLOCKS_MIN;
/// Most classes a spec may have.
pub const CLASSES_MAX: usize = 128;
/// Most shards, and what `shards = "auto"` means: a thread uses one of as many as there are
/// processors, up to [`SHARDS_AUTO`].
pub const SHARDS_MAX: u32 = 64;
/// Shards generated for `"auto"`.
pub const SHARDS_AUTO: u32 = 8;
/// Most blocks one parcel may hold.
pub const SLOTS_MAX: u32 = 1024;
/// Most spare parcels a thread may keep of a class.
pub const SPARES_MAX: u32 = 64;
/// Bytes at the end of each slab that `validation.guard` keeps free for a guard page.
pub const GUARD_BYTES: u32 = 4096;
/// Bytes by which `validation.canary` makes a request grow before its class is chosen.
pub const CANARY_BYTES: u32 = 8;
/// Largest span: half of a superslab, so that a fresh one always has room for it.
pub const SPAN_BYTES_MAX: u32 = 1 << 20;
/// Classes above this size take `cache.refill.mid` when neither they nor `hints.hot` say otherwise.
pub const MID_ABOVE_BYTES: u32 = 1024;

/// One allocator, as its spec describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Type name, a Rust identifier (may be a keyword only in raw form, which is refused).
    pub name: String,
    /// First line of the type's rustdoc; empty when the spec has none.
    pub summary: String,
    /// Size classes, from the smallest. Never empty.
    pub classes: Vec<Class>,
    /// Layers between a thread and the slabs.
    pub layers: Layers,
    /// Most spare parcels a thread keeps of a class when their number follows use; `None` when it
    /// does not: then there is one. Behind an array two chains count as one.
    pub adaptive: Option<u32>,
    /// Which way branches usually go, and what is inlined.
    pub hints: Hints,
    /// What is checked while the program runs.
    pub checks: Checks,
    /// Whether what each class does is counted.
    pub counters: bool,
    /// Whether sizes, lifetimes and slow paths are sampled.
    pub profile: bool,
    /// Bytes that a thread asks for between two samples, in the mean; at least 1.
    pub sample_bytes: u64,
    /// Requests of at most this many bytes that no class serves become spans of units; 0 when
    /// each becomes a mapping.
    pub spans_to: u32,
    /// Bytes of freed huge mappings kept for reuse.
    pub keep: u64,
    /// Bytes that the parcels of all threads may hold; `None` without a bound.
    pub cache_limit: Option<u64>,
    /// How memory comes from the system and goes back.
    pub superslab: Superslab,
    /// Every file that was read, absolute, the spec itself first. Shipped specs are not files.
    pub files: Vec<PathBuf>,
}

/// One size class with its counts resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Block size in bytes, a multiple of 8.
    pub bytes: u32,
    /// Blocks one magazine, or one chain without magazines, holds: at least 1. 1 without a cache.
    pub slots: u32,
    /// Blocks fetched from slabs when cache and depot are empty; 1 to `slots`.
    pub refill: u32,
    /// Blocks fetched when a thread first uses the class; 1 to `slots`.
    pub prewarm: u32,
    /// Full parcels the depot keeps at most; 0 without a depot. See [`Layers::parcel`].
    pub depot: u32,
    /// Units of one slab.
    pub units: u32,
    /// Blocks of one slab.
    pub blocks: u32,
    /// Place among `hints.hot`, counted from 0; `None` when not hot.
    pub hot: Option<u32>,
}

impl Class {
    /// Bytes at a slab's end that no block covers, a guard page among them.
    pub fn tail(&self) -> u32 {
        self.units * UNIT_BYTES - self.blocks * self.bytes
    }
}

/// How memory comes from the system and goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Superslab {
    /// Copies of each class's shared state, 1 to [`SHARDS_MAX`].
    pub shards: u32,
    /// Whether threads use no more of them than there are processors.
    pub shards_by_processors: bool,
    /// When free units go back; `None` for never.
    pub purge: Option<Purge>,
    /// Bytes of units and mappings that the allocator may hold; `None` without a bound.
    pub limit: Option<u64>,
    /// Whether the kernel is asked for huge pages.
    pub huge_pages: bool,
    /// What is made resident ahead of its use.
    pub prefault: Prefault,
}

/// What is made resident ahead of its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefault {
    /// Nothing.
    None,
    /// Slabs of classes that have many.
    Growing,
    /// All that is mapped.
    All,
}

/// When and how free units go back to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purge {
    /// Milliseconds that a unit must have been free.
    pub after_ms: u64,
    /// By which call.
    pub how: PurgeHow,
    /// Whether a thread of the allocator's own does it when no other comes by.
    pub helper: bool,
}

/// By which call memory goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeHow {
    /// `MADV_DONTNEED`: at once.
    DontNeed,
    /// `MADV_FREE`: when the system needs it.
    Free,
}

/// Cache layers in front of the slabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layers {
    /// `[]`: each operation goes to the slabs.
    None,
    /// `["magazine"]`, and `"depot"` behind it.
    Magazine {
        /// Whether threads exchange full magazines.
        depot: bool,
    },
    /// `["freelist"]`, and `"depot"` behind it.
    Freelist {
        /// Whether threads exchange whole chains.
        depot: bool,
    },
    /// `["magazine", "freelist"]`, and `"depot"` behind them.
    MagazineFreelist {
        /// Whether threads exchange whole chains.
        depot: bool,
    },
}

impl Layers {
    /// Whether threads keep blocks.
    pub fn has_cache(self) -> bool {
        self != Layers::None
    }

    /// Whether a thread's loaded blocks stand in an array.
    pub fn has_magazine(self) -> bool {
        matches!(self, Layers::Magazine { .. } | Layers::MagazineFreelist { .. })
    }

    /// Whether blocks are linked through their own memory.
    pub fn has_freelist(self) -> bool {
        matches!(self, Layers::Freelist { .. } | Layers::MagazineFreelist { .. })
    }

    /// Whether threads exchange parcels.
    pub fn has_depot(self) -> bool {
        match self {
            Layers::None => false,
            Layers::Magazine { depot }
            | Layers::Freelist { depot }
            | Layers::MagazineFreelist { depot } => depot,
        }
    }

    /// Blocks of a full parcel, which goes to the depot as a whole: of a class with so many slots.
    pub fn parcel(self, slots: u32) -> u32 {
        match self {
            Layers::MagazineFreelist { .. } => slots.div_ceil(2),
            _ => slots,
        }
    }
}

/// Branch and inlining hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// alloc finds a cached block. No hint without a cache, as with `room`.
    pub hit: Likely,
    /// dealloc finds room in the cache.
    pub room: Likely,
    /// The request is within the largest class.
    pub small: Likely,
    /// What is inlined into callers.
    pub inline: Inline,
    /// Whether alloc prefetches the block that comes next.
    pub prefetch: bool,
}

/// What is checked while the program runs: one bit for each check, see the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Free of an address that is not this allocator's.
    pub foreign: bool,
    /// Free of a pointer into a block. Only with `foreign`.
    pub alignment: bool,
    /// Layout that is not the block's. Only with `foreign`.
    pub size: bool,
    /// Free of a block that is free.
    pub double_free: bool,
    /// Write past the end of a block. Never with a freelist.
    pub canary: bool,
    /// Write after free. Never with a freelist.
    pub poison: bool,
    /// Memory is zeroed when it is freed.
    pub zero: bool,
    /// Blocks are handed out in random order. Only with magazines.
    pub random: bool,
    /// A freed block waits before it is reused. Only with a cache.
    pub quarantine: bool,
    /// Pages without access around slabs, metadata and large blocks.
    pub guard: bool,
    /// Bytes of one class that a thread holds back; 0 without `quarantine`.
    pub quarantine_bytes: u32,
    /// Where `random` begins; `None` for a seed from the system.
    pub seed: Option<u64>,
}

impl Checks {
    /// No check.
    pub const OFF: Checks = Checks {
        foreign: false,
        alignment: false,
        size: false,
        double_free: false,
        canary: false,
        poison: false,
        zero: false,
        random: false,
        quarantine: false,
        guard: false,
        quarantine_bytes: 0,
        seed: None,
    };

    /// Whether every large request is a mapping of its own that goes back when it is freed.
    pub fn maps_large(&self) -> bool {
        self.poison || self.guard
    }
}

/// Which way a branch usually goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likely {
    /// Usually true: the other side is cold.
    Likely,
    /// Usually false: this side is cold.
    Unlikely,
    /// No hint.
    None,
}

/// How much of alloc and dealloc is inlined into callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inline {
    /// The hit path, always.
    Always,
    /// The hit path where the Layout is a constant, else a call.
    Constant,
    /// Nothing: every call is a call.
    Never,
}
