//! `[superslab]` and `[large]`: how memory comes from the system and goes back.

use super::{Key, Kind, key, only, table};
use crate::spec::{SHARDS_MAX, SPAN_BYTES_MAX, UNIT_BYTES};

/// `[superslab]` and `[large]`.
pub(super) static MEMORY: &[Key] = &[
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
         not contended. Without a cache layer there is 1, as the shard is a part of what a thread \
         keeps.",
    ),
    key(
        "superslab.huge_pages",
        Kind::Word(&["never", "advise"]),
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
        Kind::Word(&["dontneed", "free", "never"]),
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
        Kind::Or("growing", &Kind::Flag),
        Some(r#""growing""#),
        "What is made resident ahead of its use. `\"growing\"`: each further slab of a class that \
         has 16 already, by one system call instead of a page fault for each of its pages; of a \
         class, that is at most a sixteenth more than it uses. Not of blocks longer than a page, \
         which a program may touch in part. `true`: all that this allocator maps, at once: no page \
         fault later, but all 2 MiB of a superslab and the whole of a mapping count, used or not, \
         mapping one takes longer, and memory that was purged is not made resident again. \
         `false`: nothing; a page is resident from its first use.",
    ),
    table("large", "Requests that no class serves."),
    key(
        "large.spans_to",
        Kind::Bytes(UNIT_BYTES as u64, SPAN_BYTES_MAX as u64),
        Some(r#""1 MiB""#),
        "Requests up to here become runs of 64 KiB units, larger ones a mapping of their own. A \
         multiple of 64 KiB, and at least the largest class. With `poison` or `guard` of \
         `[validation]` every large request is such a mapping: an inherited value has no meaning \
         then, and one of the spec's own is refused.",
    ),
    key(
        "large.keep",
        Kind::Bytes(0, 1 << 40),
        Some(r#""32 MiB""#),
        "Bytes of freed mappings kept for reuse; 0 returns each at once. With `poison` or `guard` \
         of `[validation]` it is 0: an inherited value has no meaning then, and another one of the \
         spec's own is refused.",
    ),
];
