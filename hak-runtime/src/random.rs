//! Random numbers for where blocks are placed: one generator in each thread.
//!
//! Fast and well mixed, but not for keys: who sees enough of its output can go on with it.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::os;

/// Odd, with its bits well spread.
const STEP: u64 = 0xa076_1d64_78bd_642f;
/// As good, and another one.
const FACTOR: u64 = 0xe703_7ed1_a0b4_28db;

/// A generator. Lives in thread-local storage, and has no destructor.
pub struct Random {
    /// 0 until it is seeded.
    state: Cell<u64>,
    /// What the spec says; else each thread asks the system.
    seed: Option<u64>,
}

impl Random {
    /// A generator that is seeded when it is first used. With a fixed seed, each thread of the
    /// process to use one gets numbers of its own, by the order in which they come.
    #[must_use]
    pub const fn new(seed: Option<u64>) -> Self {
        Random { state: Cell::new(0), seed }
    }

    /// A number below `bound`, each as likely as the others but for one in 2^32 or so; 0 if
    /// `bound` is.
    #[inline]
    pub fn below(&self, bound: u32) -> u32 {
        // The high half of a product of halves: it takes no division.
        ((self.next() >> 32).wrapping_mul(u64::from(bound)) >> 32) as u32
    }

    #[inline]
    fn next(&self) -> u64 {
        let mut state = self.state.get();
        if state == 0 {
            state = seed(self.seed);
        }
        let state = state.wrapping_add(STEP);
        self.state.set(state);
        mix(state)
    }
}

/// Spreads what is in some bits over all.
#[inline]
pub(crate) fn mix(word: u64) -> u64 {
    let (low, high) = word.carrying_mul(word ^ FACTOR, 0);
    low ^ high
}

#[cold]
fn seed(fixed: Option<u64>) -> u64 {
    /// Threads that have a generator.
    static THREADS: AtomicU64 = AtomicU64::new(0);
    let thread = THREADS.fetch_add(1, Ordering::Relaxed);
    let local = 0u8;
    let guess = || (&raw const local).addr() as u64 ^ os::now_ms().rotate_left(40);
    seed_of(fixed.unwrap_or_else(|| os::random().unwrap_or_else(guess)), thread)
}

/// The state that a thread starts from.
fn seed_of(seed: u64, thread: u64) -> u64 {
    mix(seed ^ FACTOR).wrapping_add(mix(thread.wrapping_mul(STEP) ^ STEP)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator as a thread with this number has it.
    fn of_thread(thread: u64) -> Random {
        let random = Random::new(Some(1));
        random.state.set(seed_of(1, thread));
        random
    }

    #[test]
    fn numbers_are_below_their_bound_and_evenly_spread() {
        for bound in [1, 2, 3, 14, 64, 1000] {
            let random = of_thread(0);
            let mut seen = vec![0u32; bound as usize];
            (0..1000 * bound).for_each(|_| seen[random.below(bound) as usize] += 1);
            // Five standard deviations of a count of 1000 are 158.
            assert!(seen.iter().all(|seen| seen.abs_diff(1000) < 200), "{bound}: {seen:?}");
        }
        assert_eq!(of_thread(0).below(0), 0);
    }

    #[test]
    fn a_fixed_seed_repeats_and_threads_differ() {
        let numbers = |random: Random| [(); 8].map(|()| random.below(1 << 16));
        assert_eq!(numbers(of_thread(0)), numbers(of_thread(0)));
        let mut firsts: Vec<_> = (0..100).map(|thread| of_thread(thread).next()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 100);
    }

    #[test]
    fn generators_that_ask_the_system_differ() {
        let numbers = [(); 2].map(|()| Random::new(None)).map(|random| random.next());
        assert_ne!(numbers[0], numbers[1]);
    }
}
