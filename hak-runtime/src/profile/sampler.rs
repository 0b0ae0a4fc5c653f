//! Which allocations are sampled.
//!
//! Think of all bytes that a thread asks for in a row, and of marks on them at random, one in
//! `MEAN` bytes. An allocation with a mark on it is sampled. The gaps between marks are
//! exponential, so wherever an allocation begins, it is sampled with the probability
//! `1 - exp(-bytes / MEAN)`, whatever was before it. A fixed gap would see one phase of a program
//! that repeats itself, again and again.
//!
//! A sample that was taken with probability `p` stands for `1 / p` allocations like it, the sampled
//! ones among them: sums of that have the right expectation (the estimator of Horvitz and Thompson,
//! "A generalization of sampling without replacement from a finite universe", 1952).

use core::cell::Cell;

/// A thread's way to the next mark. Lives in thread-local storage, starts as all zeros.
pub struct Sampler<const MEAN: u64> {
    /// Bytes up to the next mark; 0 before the first.
    left: Cell<usize>,
    /// The state of the generator; 0 before the thread has a number.
    state: Cell<u64>,
    /// The thread's number, from 1 on.
    number: Cell<u32>,
}

impl<const MEAN: u64> Sampler<MEAN> {
    /// Of a thread that has not come by.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        assert!(MEAN > 0, "a gap has a mean");
        Sampler { left: Cell::new(0), state: Cell::new(0), number: Cell::new(0) }
    }

    /// Counts the bytes of a request; true when that goes beyond what was left, and the caller is
    /// to call [`Profiler::allocated`](super::Profiler::allocated) with the same number of bytes.
    #[inline(always)]
    pub fn is_due(&self, bytes: usize) -> bool {
        let (left, is_beyond) = self.left.get().overflowing_sub(bytes);
        self.left.set(left);
        is_beyond
    }

    /// Whether the request that was due has a mark on it: not if it is the thread's first, which is
    /// always due. Sets the next mark.
    pub(super) fn has_mark(&self, bytes: usize) -> bool {
        if self.state.get() == 0 {
            self.state.set(u64::from(self.number.get()));
            self.left.set(self.gap());
            if !self.is_due(bytes) {
                return false;
            }
        }
        self.left.set(self.gap());
        true
    }

    /// The thread's number; `next` makes one for a thread that has none.
    pub(super) fn number(&self, next: impl FnOnce() -> u32) -> u32 {
        if self.number.get() == 0 {
            self.number.set(next());
        }
        self.number.get()
    }

    /// Bytes between two marks.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the mean is far below 2^53, and gaps are positive and saturate"
    )]
    fn gap(&self) -> usize {
        (-self.uniform().ln() * MEAN as f64) as usize
    }

    /// A number above 0, up to 1. The generator is splitmix64: the same for the same thread number.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn uniform(&self) -> f64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = (mixed ^ (mixed >> 31)) >> 11;
        (bits + 1) as f64 / (1u64 << 53) as f64
    }
}

/// How many allocations like it a sampled one of so many bytes stands for.
#[expect(clippy::cast_precision_loss, reason = "estimates need no more than six digits")]
pub(super) fn weight<const MEAN: u64>(bytes: usize) -> f64 {
    -1.0 / (-(bytes.max(1) as f64) / MEAN as f64).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: u64 = 4096;

    fn sampler(number: u32) -> Sampler<MEAN> {
        let sampler = Sampler::new();
        sampler.number(|| number);
        sampler
    }

    /// Which of a row of requests are sampled.
    fn sampled(sampler: &Sampler<MEAN>, requests: impl Iterator<Item = usize>) -> Vec<usize> {
        let is_sampled = |bytes: &usize| sampler.is_due(*bytes) && sampler.has_mark(*bytes);
        requests.filter(is_sampled).collect()
    }

    /// Requests are sampled where the running sum of bytes passes the sums of gaps; after each the
    /// sums begin anew.
    #[test]
    fn marks_stand_where_the_gaps_say() {
        let sizes = || (0..100_000).map(|nth| nth * 37 % 500 + 1);
        let gaps = sampler(7);
        gaps.state.set(7);
        let (mut expected, mut left) = (Vec::new(), gaps.gap());
        for bytes in sizes() {
            if bytes > left {
                expected.push(bytes);
                left = gaps.gap();
            } else {
                left -= bytes;
            }
        }
        assert!(expected.len() > 3000, "{}", expected.len());
        assert_eq!(sampled(&sampler(7), sizes()), expected);
        assert_ne!(sampled(&sampler(8), sizes()), expected, "threads have marks of their own");
    }

    /// Sums of weights come close to what there was, for sizes far below the mean and far above.
    /// The generator is the same in each run.
    #[test]
    #[expect(clippy::cast_precision_loss, reason = "the counts are small")]
    fn weights_make_up_for_what_was_not_sampled() {
        for bytes in [16usize, 100, 4096, 100_000] {
            let number = 400_000;
            let sampled = sampled(&sampler(3), std::iter::repeat_n(bytes, number));
            let estimate = sampled.len() as f64 * weight::<MEAN>(bytes);
            let error = estimate / number as f64 - 1.0;
            // Four standard deviations of the number of samples.
            let most = 4.0 / (sampled.len() as f64).sqrt();
            assert!(error.abs() < most, "{bytes} bytes: {} samples, off by {error}", sampled.len());
        }
    }

    #[test]
    fn requests_without_bytes_have_no_mark() {
        assert_eq!(sampled(&sampler(1), std::iter::repeat_n(0, 1000)), []);
    }
}
