//! `[stats]`: what the allocator counts about itself.

use super::{Key, Kind, key, table};

/// `[stats]`.
pub(super) static STATS: &[Key] = &[
    table("stats", "What the allocator counts about itself. What is false leaves no code behind."),
    key(
        "stats.counters",
        Kind::Flag,
        Some("false"),
        "Counts of each class, exact: allocs and deallocs, those that found the thread's own cache \
         empty or full, refills, exchanges with the depot, reallocs in place; and the same of \
         requests above all classes. The type gets `counters()`. One addition in memory of the \
         thread's own for each alloc and each dealloc; without cache layers an atomic one in \
         memory that all threads share. See `docs/statistics.md`.",
    ),
    key(
        "stats.profile",
        Kind::Flag,
        Some("false"),
        "Samples: sizes that were asked for and how long blocks lived; and of all slow paths the \
         cycles, by the processor's time-stamp counter. The type gets `profile()`. A subtraction \
         and a branch for each alloc, a look at a byte and a branch for each dealloc. See \
         `docs/statistics.md`.",
    ),
    key(
        "stats.sample_bytes",
        Kind::Bytes(1, 1 << 40),
        Some("\"512 KiB\""),
        "Bytes that a thread asks for between two samples, in the mean: 1 samples nearly every \
         allocation. Of `stats.profile`: an inherited value has no meaning without it, and one of \
         the spec's own is refused.",
    ),
];
