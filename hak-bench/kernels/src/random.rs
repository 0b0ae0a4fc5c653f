//! Numbers from a seed.

/// A xorshift generator (Marsaglia 2003, shifts 13, 7 and 17).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        // Zero would stay zero; neighbouring seeds shall not give neighbouring numbers.
        Random((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    /// Another row of numbers for each of several users of one seed.
    pub(crate) fn nth(seed: u64, number: u64) -> Random {
        Random::new(seed.wrapping_add(number))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, by multiplication: a division by a constant might be folded on one
    /// allocator and not on another.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((self.next() >> 32) * limit) >> 32
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// A number from `least` to below `most`, both powers of two. Each doubling is as likely as the
    /// next, so that small numbers come more often than large ones, as sizes do in programs.
    pub(crate) fn scaled(&mut self, least: u64, most: u64) -> u64 {
        let doublings = u64::from(most.ilog2() - least.ilog2());
        let magnitude = least << self.below(doublings);
        magnitude + self.below(magnitude)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_reach_both_bounds_and_no_further() {
        let mut random = Random::new(42);
        let numbers: Vec<_> = (0..1000).map(|_| random.within(3, 7)).collect();
        assert_eq!((numbers.iter().min(), numbers.iter().max()), (Some(&3), Some(&7)));
    }

    #[test]
    fn scaled_numbers_are_spread_evenly_over_the_doublings() {
        let mut random = Random::new(42);
        let numbers: Vec<_> = (0..9000).map(|_| random.scaled(16, 128)).collect();
        assert_eq!((numbers.iter().min(), numbers.iter().max()), (Some(&16), Some(&127)));
        for magnitude in [16, 32, 64] {
            let range = magnitude..2 * magnitude;
            let share = numbers.iter().filter(|number| range.contains(*number)).count();
            assert!((2800..3200).contains(&share), "{share} of 9000 from {magnitude}");
        }
    }

    #[test]
    fn users_of_one_seed_get_different_numbers() {
        assert_ne!(Random::nth(u64::MAX, 0).next(), Random::nth(u64::MAX, 1).next());
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
