//! Every key of the language, with its type, its default and what it is for.
//!
//! The reader, the "did you mean" of its errors, the JSON schema and the reference page all work
//! from this one table; a default that is written here is written nowhere else.

use std::ops::RangeInclusive;

use crate::spec::{
    CLASS_BYTES_MAX, CLASS_BYTES_MIN, SHARDS_MAX, SLOTS_MAX, SPAN_BYTES_MAX, UNIT_BYTES,
};

/// One key, or one table, of the language.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted path from the top of the file.
    pub path: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// What a spec that is silent gets, as TOML; `None` where silence has a meaning of its own.
    pub default: Option<&'static str>,
    /// How much of the key is generated today.
    pub status: Status,
    /// What it is for: one paragraph.
    pub doc: &'static str,
}

/// What may stand at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A table.
    Table,
    /// A list of tables.
    Tables,
    /// One line of text.
    Text,
    /// `true` or `false`.
    Flag,
    /// An integer within bounds.
    Count(u64, u64),
    /// A size within bounds, in bytes.
    Bytes(u64, u64),
    /// One word: those that work, and those that will.
    Word(&'static [&'static str], &'static [&'static str]),
    /// A list of words: those that work, and those that will.
    Words(&'static [&'static str], &'static [&'static str]),
    /// A list of class sizes.
    Sizes,
    /// A time within bounds, in milliseconds.
    Time(u64, u64),
    /// A word that stands for no number, or a number of the other kind.
    Or(&'static str, &'static Kind),
}

impl Kind {
    /// The word of [`Kind::Or`].
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Kind::Or(word, _) => Some(word),
            _ => None,
        }
    }

    /// What may stand there instead of the word of [`Kind::Or`].
    pub(crate) fn without_word(self) -> Kind {
        match self {
            Kind::Or(_, other) => *other,
            kind => kind,
        }
    }

    /// The bounds of a number.
    pub(crate) fn bounds(self) -> Option<RangeInclusive<u64>> {
        match self.without_word() {
            Kind::Count(min, max) | Kind::Bytes(min, max) | Kind::Time(min, max) => Some(min..=max),
            _ => None,
        }
    }
}

/// How much of a key is generated today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All of it.
    Supported,
    /// Only what the default says; other values are refused.
    OnlyDefault,
    /// Nothing: the key is refused.
    NotYet,
}

impl Key {
    /// The last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The path of the table it stands in; empty for the top of the file.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }
}

/// The key of a path.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The keys that stand directly in a table.
pub fn inside(table: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.table() == table)
}

const fn key(
    path: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    doc: &'static str,
) -> Key {
    Key { path, kind, default, status: Status::Supported, doc }
}

const fn table(path: &'static str, doc: &'static str) -> Key {
    key(path, Kind::Table, None, doc)
}

const fn only(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default: Some(default), status: Status::OnlyDefault, doc }
}

const fn later(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, default: None, status: Status::NotYet, doc }
}

const SLOTS: Kind = Kind::Count(1, SLOTS_MAX as u64);
/// The size of a class.
pub(crate) const CLASS: Kind = Kind::Bytes(CLASS_BYTES_MIN as u64, CLASS_BYTES_MAX as u64);
const LIKELY: Kind = Kind::Word(&["likely", "unlikely", "none"], &[]);

/// All keys, tables before what they hold, in the order of the reference page.
pub static KEYS: &[Key] = &[
    key(
        "schema",
        Kind::Count(1, 1),
        None,
        "Version of the language, the one key every spec must have. An editor with TOML support \
         completes and checks keys when the file's first line is `#:schema PATH/hak.schema.json`.",
    ),
    key(
        "extends",
        Kind::Text,
        None,
        "What this spec starts from: the name of a shipped spec, or a file beside this one, \
         written with its ending (`\"base.toml\"`).",
    ),
    table("allocator", "What the generated type is called."),
    key(
        "allocator.name",
        Kind::Text,
        None,
        "Name of the Rust type. When left out it is the file's stem in UpperCamelCase: \
         `specs/web-api.toml` declares `WebApi`. Not inherited.",
    ),
    key(
        "allocator.summary",
        Kind::Text,
        Some(r#""""#),
        "First line of the type's rustdoc: whom the allocator is for. Not inherited.",
    ),
    table(
        "classes",
        "The block sizes. A request is served by the smallest class that holds it and whose size \
         is a multiple of its alignment. `ladder` and `sizes` go together: a spec that writes one \
         of them takes neither from its base, and `sizes` without `ladder` means there is no \
         ladder. Every class is a multiple of 8 bytes; there are at most 128.",
    ),
    table(
        "classes.ladder",
        "Sizes by rule: multiples of `quantum` up to `linear_to`, then `steps_per_doubling` equal \
         steps for each doubling, up to `max`.",
    ),
    key(
        "classes.ladder.quantum",
        Kind::Bytes(16, 4096),
        Some("16"),
        "Smallest class, and what every class of the ladder is a multiple of: a power of two.",
    ),
    key(
        "classes.ladder.linear_to",
        CLASS,
        Some("128"),
        "Where the steps of `quantum` end and those per doubling begin: a multiple of `quantum`.",
    ),
    key(
        "classes.ladder.steps_per_doubling",
        Kind::Count(1, 16),
        Some("4"),
        "Classes for each doubling: 1, 2, 4, 8 or 16. More of them waste fewer bytes in each \
         block, but spread the blocks over more slabs. The first step, `linear_to` / \
         `steps_per_doubling`, must be a multiple of `quantum`.",
    ),
    key(
        "classes.ladder.max",
        CLASS,
        Some(r#""32 KiB""#),
        "Largest class of the ladder, exactly. What is larger than every class becomes a span of \
         64 KiB units (see `large.spans_to`).",
    ),
    key(
        "classes.sizes",
        Kind::Sizes,
        Some("[]"),
        "Exact sizes, from small to large, added to the ladder or instead of one.",
    ),
    key(
        "classes.tune",
        Kind::Tables,
        None,
        "What differs for one class. Entries of a base are matched by `size` and merged key by \
         key; those for a class this spec does not have are left out.",
    ),
    key("classes.tune.size", CLASS, None, "The class: one of the sizes of the spec."),
    key(
        "classes.tune.slots",
        SLOTS,
        None,
        "Blocks one magazine of this class holds. Together they may not exceed `cache.bytes`.",
    ),
    key(
        "classes.tune.refill",
        SLOTS,
        None,
        "Blocks of this class fetched from slabs at once; at most its slots.",
    ),
    key(
        "classes.tune.prewarm",
        SLOTS,
        None,
        "Blocks fetched when a thread first uses this class; at most its slots.",
    ),
    table("cache", "What each thread keeps, and what threads hand to each other."),
    key(
        "cache.layers",
        Kind::Words(&["magazine", "depot"], &["freelist"]),
        Some(r#"["magazine", "depot"]"#),
        "Layers between a thread and the slabs, in look-up order: `[\"magazine\", \"depot\"]`, or \
         `[\"magazine\"]` for a cache per thread and nothing between threads. A layer that is not \
         named leaves no instruction and no field behind.",
    ),
    key(
        "cache.slots",
        SLOTS,
        Some("64"),
        "Blocks one magazine holds. A thread has up to two magazines for each class it uses.",
    ),
    key(
        "cache.bytes",
        Kind::Bytes(16, 16 << 20),
        Some(r#""16 KiB""#),
        "Bytes one magazine holds at most, so that large classes get fewer slots (but always one).",
    ),
    table(
        "cache.refill",
        "Blocks fetched from slabs at once when a thread's magazines and the depot are empty; \
         never more than the class has slots.",
    ),
    key("cache.refill.hot", SLOTS, Some("64"), "For the classes of `hints.hot`."),
    key("cache.refill.mid", SLOTS, Some("8"), "For other classes of more than 1 KiB."),
    key("cache.refill.default", SLOTS, Some("16"), "For all other classes."),
    key(
        "cache.prewarm",
        SLOTS,
        None,
        "Blocks fetched when a thread first uses a class, but never more than the class has slots. \
         When left out: the class's refill.",
    ),
    key(
        "cache.depot",
        Kind::Bytes(0, 1 << 30),
        Some(r#""1 MiB""#),
        "Bytes of full magazines the depot keeps for each class (of each shard, see \
         `superslab.shards`), for whichever thread asks next. Without the layer `depot` \
         an inherited value has no meaning, and one of the spec's own is refused.",
    ),
    key(
        "cache.limit",
        Kind::Or("none", &Kind::Bytes(CLASS_BYTES_MIN as u64, 1 << 40)),
        Some(r#""64 MiB""#),
        "Bytes that the magazines of all threads together may hold, so that many threads which \
         once were busy do not keep blocks for ever. A magazine counts with its slots times the \
         block size from the moment a thread has it, full or empty; what the depot keeps does not \
         count. A thread that finds the limit reached works with one magazine for the class \
         instead of two, or with none: then each alloc and dealloc of the class goes to the slabs, \
         the former under the class's lock. The least is one magazine of the class whose \
         magazines are largest.",
    ),
    later(
        "cache.adaptive",
        Kind::Table,
        "Capacity that follows the miss rate between `min` and `max`.",
    ),
    table(
        "hints",
        "What the generated code is laid out for. None of it changes what a program is served.",
    ),
    key(
        "hints.hot",
        Kind::Sizes,
        Some("[]"),
        "Classes that the program uses most, the first one most of all. Their bins stand first in \
         thread-local storage, in this order, so that they share cache lines; and they take \
         `cache.refill.hot`.",
    ),
    key("hints.hit", LIKELY, Some(r#""likely""#), "alloc finds a block in the loaded magazine."),
    key("hints.room", LIKELY, Some(r#""likely""#), "dealloc finds room in the loaded magazine."),
    key("hints.small", LIKELY, Some(r#""likely""#), "The request is within the largest class."),
    key(
        "hints.inline",
        Kind::Word(&["always", "never"], &["constant"]),
        Some(r#""always""#),
        "What becomes part of the caller: the path of a hit, or nothing but a call.",
    ),
    only("hints.prefetch", Kind::Flag, "false", "Touch the next block on alloc."),
    table("validation", "What is checked while the program runs."),
    only(
        "validation.level",
        Kind::Word(&["off"], &["boundary", "full", "hardened"]),
        r#""off""#,
        "A sum of the checks below.",
    ),
    only("validation.foreign", Kind::Flag, "false", "Free of an address of another allocator."),
    only("validation.alignment", Kind::Flag, "false", "Free of a pointer into a block."),
    only("validation.size", Kind::Flag, "false", "Layout that does not match the block's class."),
    only("validation.double_free", Kind::Flag, "false", "Free of a block that is free."),
    only("validation.canary", Kind::Flag, "false", "Write past a block's end, found at free."),
    only("validation.poison", Kind::Flag, "false", "Write after free, found at reuse."),
    only("validation.zero", Kind::Flag, "false", "Memory is zeroed on free."),
    only("validation.random", Kind::Flag, "false", "Blocks are handed out in random order."),
    only("validation.quarantine", Kind::Flag, "false", "A freed block is not reused for a while."),
    only("validation.guard", Kind::Flag, "false", "Guard pages around metadata, slabs and spans."),
    table("superslab", "The regions all classes take their slabs from."),
    only(
        "superslab.size",
        Kind::Bytes(1 << 20, 1 << 30),
        r#""2 MiB""#,
        "Bytes of a region, and its alignment.",
    ),
    key(
        "superslab.shards",
        Kind::Or("auto", &Kind::Count(1, SHARDS_MAX as u64)),
        Some("1"),
        "Copies of every class's lock, slabs and depot. Threads take the shards in turn, so that \
         fewer of them meet at a lock; with `\"auto\"` they take as many as there are processors, \
         up to 8. Each shard begins slabs of its own and has depots of its own: it costs memory \
         that grows with the classes in use. 1 is right for few threads, and wherever locks are \
         not contended.",
    ),
    key(
        "superslab.huge_pages",
        Kind::Word(&["never", "advise"], &[]),
        Some(r#""never""#),
        "`\"advise\"` asks the system for huge pages in what this allocator maps: fewer misses in \
         the translation of addresses for a program with much live memory, but the first touch of \
         a region may make 2 MiB resident, and a purge splits what it returns. `\"never\"` keeps \
         superslabs free of them whatever the system's setting; mappings of their own follow that.",
    ),
    table(
        "superslab.purge",
        "How memory that is free goes back to the operating system. What is meant is the memory of \
         whole units (empty slabs, freed spans); the address space stays. Superslabs are shared by \
         all allocators of a program; the spec of the one that freed last in a superslab decides \
         for all that is free in it.",
    ),
    key(
        "superslab.purge.how",
        Kind::Word(&["dontneed", "free", "never"], &[]),
        Some(r#""dontneed""#),
        "`\"dontneed\"`: the system takes the memory at once (`MADV_DONTNEED`), and the next use \
         of it costs page faults. `\"free\"`: the system takes it when it is short of memory \
         (`MADV_FREE`); cheaper where it is soon used again, but the process looks large until \
         then. `\"never\"`: it is kept for reuse, and goes back only when the program calls the \
         type's `purge`; then `after` and `helper` have no meaning: inherited ones are left out, \
         and of the spec's own each is refused.",
    ),
    key(
        "superslab.purge.after",
        Kind::Time(0, 60 * 60 * 1000),
        Some(r#""1 s""#),
        "How long memory must have been free. More frees in the same superslab begin the delay \
         anew, up to four times as long. A short delay keeps the process small, but one that is \
         shorter than the pauses of the program pays page faults for memory that it uses again.",
    ),
    key(
        "superslab.purge.helper",
        Kind::Flag,
        Some("false"),
        "Who purges. `false`: a thread that comes by on a slow path, a few superslabs at a time; \
         what is due when the program goes quiet stays until it allocates again. `true`: a thread \
         of the runtime's own, one for the whole program, which looks twice a second, or sooner \
         when something is due; no request waits for a purge.",
    ),
    key(
        "superslab.limit",
        Kind::Or("none", &Kind::Bytes(2 * UNIT_BYTES as u64, 1 << 47)),
        Some(r#""none""#),
        "Bytes this allocator may hold. An alloc that would go beyond them first gives back what \
         its thread and the depots cache and what `large.keep` holds, and returns null when that \
         is not enough. What counts: units that slabs and spans take, in steps of 64 KiB, and \
         mappings, kept ones too; not the headers of superslabs, and not units that are free. At \
         least a slab of the largest class and one unit more, since a slab is the least that a \
         class can take.",
    ),
    key(
        "superslab.prefault",
        Kind::Flag,
        Some("false"),
        "Whether what this allocator maps is made resident at once: no page fault later, but all \
         2 MiB of a superslab and the whole of a mapping count, used or not, and mapping one takes \
         longer. Memory that was purged is not made resident again.",
    ),
    table("large", "Requests that no class serves."),
    key(
        "large.spans_to",
        Kind::Bytes(UNIT_BYTES as u64, SPAN_BYTES_MAX as u64),
        Some(r#""1 MiB""#),
        "Requests up to here become runs of 64 KiB units, larger ones a mapping of their own. A \
         multiple of 64 KiB, and at least the largest class.",
    ),
    key(
        "large.keep",
        Kind::Bytes(0, 1 << 40),
        Some(r#""32 MiB""#),
        "Bytes of freed mappings kept for reuse; 0 returns each at once.",
    ),
    table("stats", "What the allocator counts about itself."),
    only("stats.counters", Kind::Flag, "false", "Allocs, deallocs and misses of each class."),
    only("stats.profile", Kind::Flag, "false", "Sampled cycles, sizes and lifetimes."),
];
