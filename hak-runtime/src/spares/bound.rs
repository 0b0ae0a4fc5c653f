//! How many parcels may wait behind a bin: a fixed number, or one that follows the misses.
//!
//! An adaptive bound changes on slow paths only, so the hit paths do not know of it:
//!
//! - It doubles when a bin runs dry that gave parcels away before: had they been kept, the miss
//!   would not have been. A thread that only frees, or only allocates, gains nothing by more, and
//!   gets no more.
//! - It halves when a bin had no miss for as long as its thread's other bins had one for each class
//!   there is. So the bins with the highest share of misses keep most. A thread in which nothing
//!   else misses keeps what it has: no one asks it for more.

use core::cell::Cell;

/// A bound on the parcels that wait behind a bin.
pub trait Bound: 'static {
    /// As it is at first.
    const NEW: Self;

    #[doc(hidden)]
    /// Most parcels that may wait now.
    fn most(&self) -> u8;

    #[doc(hidden)]
    /// A parcel more than that was there, and left the thread.
    fn overflowed(&self) {}

    #[doc(hidden)]
    /// The thread had no block.
    fn missed(&self) {}

    #[doc(hidden)]
    /// How far away the bin stands that a miss of this one looks at next, if it looks at any.
    fn looks_at(&self) -> Option<usize> {
        None
    }

    #[doc(hidden)]
    /// Halves the bound if the bin was not busy since the last call.
    fn rest(&self) {}
}

/// At most `K` parcels.
pub struct AtMost<const K: u8>;

impl<const K: u8> Bound for AtMost<K> {
    const NEW: Self = AtMost;

    fn most(&self) -> u8 {
        K
    }
}

/// From `MIN` to `MAX` parcels, as many as the misses ask for.
pub struct Adaptive<const MIN: u8, const MAX: u8> {
    most: Cell<u8>,
    /// A parcel left since the bound was last raised.
    gave: Cell<bool>,
    /// There was a miss, or a parcel left, since somebody looked.
    was_busy: Cell<bool>,
    misses: Cell<u16>,
}

impl<const MIN: u8, const MAX: u8> Adaptive<MIN, MAX> {
    fn is_busy(&self) {
        self.was_busy.set(true);
        self.misses.set(self.misses.get().wrapping_add(1));
    }
}

impl<const MIN: u8, const MAX: u8> Bound for Adaptive<MIN, MAX> {
    const NEW: Self = Adaptive {
        most: Cell::new(MIN),
        gave: Cell::new(false),
        was_busy: Cell::new(false),
        misses: Cell::new(0),
    };

    fn most(&self) -> u8 {
        self.most.get()
    }

    fn overflowed(&self) {
        self.is_busy();
        self.gave.set(true);
    }

    fn missed(&self) {
        self.is_busy();
        if self.gave.replace(false) {
            self.most.set(self.most.get().saturating_mul(2).min(MAX));
        }
    }

    fn looks_at(&self) -> Option<usize> {
        Some(usize::from(self.misses.get()))
    }

    fn rest(&self) {
        if !self.was_busy.replace(false) {
            self.gave.set(false);
            self.most.set((self.most.get() / 2).max(MIN));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type OneToSixteen = Adaptive<1, 16>;

    #[test]
    fn it_grows_only_when_what_was_given_away_is_missed() {
        let bound = OneToSixteen::NEW;
        for _ in 0..100 {
            bound.missed();
        }
        assert_eq!(bound.most(), 1, "a thread that only allocates");
        for _ in 0..100 {
            bound.overflowed();
        }
        assert_eq!(bound.most(), 1, "a thread that only frees");
        let most = [(); 5].map(|()| {
            bound.missed();
            bound.missed();
            bound.overflowed();
            bound.most()
        });
        assert_eq!(most, [2, 4, 8, 16, 16]);
    }

    #[test]
    fn it_falls_when_the_bin_rests() {
        let bound = OneToSixteen::NEW;
        for _ in 0..4 {
            bound.overflowed();
            bound.missed();
        }
        let most = [(); 6].map(|()| {
            bound.rest();
            bound.most()
        });
        assert_eq!(most, [16, 8, 4, 2, 1, 1], "it was busy before the first look");
    }
}
