//! The magazine that waits beside the loaded one, full or empty, in one word.

use core::cell::Cell;
use core::ptr::{self, NonNull};

use super::{AtMost, Bound, MagazineSpares};
use crate::magazine::Magazine;

/// One spare magazine, or none.
pub struct OneSpare(Cell<Packed>);

#[derive(Clone, Copy)]
struct Packed(*mut Magazine);

/// What a [`Packed`] says.
enum Spare {
    None,
    Empty(NonNull<Magazine>),
    Full(NonNull<Magazine>),
}

impl Packed {
    const NONE: Packed = Packed(ptr::null_mut());
    /// Added to the address of a full magazine; magazines are aligned to 64 bytes.
    const FULL: usize = 1;

    fn empty(magazine: NonNull<Magazine>) -> Self {
        Packed(magazine.as_ptr())
    }

    fn full(magazine: NonNull<Magazine>) -> Self {
        Packed(magazine.as_ptr().map_addr(|address| address | Self::FULL))
    }

    fn unpack(self) -> Spare {
        let is_full = self.0.addr() & Self::FULL != 0;
        match NonNull::new(self.0.map_addr(|address| address & !Self::FULL)) {
            None => Spare::None,
            Some(magazine) if is_full => Spare::Full(magazine),
            Some(magazine) => Spare::Empty(magazine),
        }
    }
}

impl MagazineSpares for OneSpare {
    type Bound = AtMost<1>;

    const NONE: Self = OneSpare(Cell::new(Packed::NONE));

    fn bound(&self) -> &AtMost<1> {
        const { &AtMost::NEW }
    }

    fn held(&self) -> u8 {
        u8::from(matches!(self.0.get().unpack(), Spare::Full(_)))
    }

    fn pop_full(&self) -> Option<NonNull<Magazine>> {
        let Spare::Full(spare) = self.0.get().unpack() else { return None };
        self.0.set(Packed::NONE);
        Some(spare)
    }

    fn push_full(&self, magazine: NonNull<Magazine>) {
        self.0.set(Packed::full(magazine));
    }

    fn take_empty(&self) -> Option<NonNull<Magazine>> {
        let Spare::Empty(spare) = self.0.get().unpack() else { return None };
        self.0.set(Packed::NONE);
        Some(spare)
    }

    fn put_empty(&self, magazine: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        if !self.0.get().0.is_null() {
            return Some(magazine);
        }
        self.0.set(Packed::empty(magazine));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_is_packed_with_its_state() {
        let magazine = Magazine::new(4).unwrap();
        assert!(matches!(Packed::NONE.unpack(), Spare::None));
        assert!(matches!(Packed::empty(magazine).unpack(), Spare::Empty(it) if it == magazine));
        assert!(matches!(Packed::full(magazine).unpack(), Spare::Full(it) if it == magazine));
    }
}
