//! The timed part of a kernel.

use std::time::{Duration, Instant};

/// The function that calls what is timed: callgrind counts what happens inside it.
pub const MEASURED_SYMBOL: &str = "hak_bench_measured";

/// What a kernel did and how long it took.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Operations in the timed part.
    pub operations: u64,
    /// Wall clock.
    pub elapsed: Duration,
    /// Depends on all that the kernel read back from its blocks: equal on every allocator.
    pub checksum: u64,
}

/// Times `work`, which returns its checksum.
pub(crate) fn measure(operations: u64, mut work: impl FnMut() -> u64) -> Measured {
    let mut checksum = 0;
    let start = Instant::now();
    hak_bench_measured(&mut || checksum = work());
    Measured { operations, elapsed: start.elapsed(), checksum }
}

// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
#[inline(never)]
extern "Rust" fn hak_bench_measured(work: &mut dyn FnMut()) {
    work();
}
