//! Histograms by powers of two.

use core::sync::atomic::{AtomicU64, Ordering};

use super::report::{SLOW_BUCKETS, SlowPath};

/// The bucket of a value: bucket `n` is from `2^n` to below `2^(n + 1)`, the first one from 0, and
/// the last one has no end.
pub(super) fn bucket<const BUCKETS: usize>(value: u64) -> usize {
    (value.max(1).ilog2() as usize).min(BUCKETS - 1)
}

/// Times of one slow path of one class. Any thread adds to it.
pub(super) struct Timer {
    cycles: AtomicU64,
    most: AtomicU64,
    buckets: [AtomicU64; SLOW_BUCKETS],
}

impl Timer {
    pub(super) const fn new() -> Self {
        Timer {
            cycles: AtomicU64::new(0),
            most: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; SLOW_BUCKETS],
        }
    }

    pub(super) fn add(&self, cycles: u64) {
        self.cycles.fetch_add(cycles, Ordering::Relaxed);
        if cycles > self.most.load(Ordering::Relaxed) {
            self.most.fetch_max(cycles, Ordering::Relaxed);
        }
        self.buckets[bucket::<SLOW_BUCKETS>(cycles)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> SlowPath {
        let buckets = self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
        SlowPath {
            count: buckets.iter().sum(),
            cycles: self.cycles.load(Ordering::Relaxed),
            cycles_max: self.most.load(Ordering::Relaxed),
            buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two() {
        let found = [0, 1, 2, 3, 4, 1023, 1024, 1 << 40].map(bucket::<32>);
        assert_eq!(found, [0, 0, 1, 1, 2, 9, 10, 31]);
    }

    #[test]
    fn a_timer_keeps_sum_and_most() {
        let timer = Timer::new();
        for cycles in [5, 1000, 6] {
            timer.add(cycles);
        }
        let SlowPath { count, cycles, cycles_max, buckets } = timer.read();
        assert_eq!((count, cycles, cycles_max), (3, 1011, 1000));
        assert_eq!((buckets[2], buckets[9]), (2, 1));
    }
}
