//! `[stats]`: what the allocator counts about itself.

use super::{Key, Kind, key, table};

/// `[stats]`.
pub(super) static STATS: &[Key] = &[
    table("stats", "What the allocator counts about itself. What is false leaves no code behind."),
    key(
        "stats.counters",
        Kind::Flag,
        Some("false"),
        "Counts of each class: allocs, deallocs, those that found the thread's own cache empty or \
         full, refills and flushes. One addition in memory of the thread's own for each alloc and \
         each dealloc.",
    ),
    key(
        "stats.profile",
        Kind::Flag,
        Some("false"),
        "Samples: sizes that were asked for, how long blocks lived, and the cycles of slow paths \
         by the processor's time-stamp counter.",
    ),
];
