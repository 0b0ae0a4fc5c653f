//! The magazine that waits beside the loaded one, full or empty, in one word.

use core::ptr::{self, NonNull};

use crate::magazine::Magazine;

/// The spare magazine of a bin.
#[derive(Clone, Copy)]
pub(super) struct PackedSpare(*mut Magazine);

/// What a [`PackedSpare`] says.
pub(super) enum Spare {
    None,
    Empty(NonNull<Magazine>),
    Full(NonNull<Magazine>),
}

impl PackedSpare {
    pub(super) const NONE: PackedSpare = PackedSpare(ptr::null_mut());
    /// Added to the address of a full magazine; magazines are aligned to 64 bytes.
    const FULL: usize = 1;

    pub(super) fn empty(magazine: NonNull<Magazine>) -> Self {
        PackedSpare(magazine.as_ptr())
    }

    pub(super) fn full(magazine: NonNull<Magazine>) -> Self {
        PackedSpare(magazine.as_ptr().map_addr(|address| address | Self::FULL))
    }

    pub(super) fn unpack(self) -> Spare {
        let is_full = self.0.addr() & Self::FULL != 0;
        match NonNull::new(self.0.map_addr(|address| address & !Self::FULL)) {
            None => Spare::None,
            Some(magazine) if is_full => Spare::Full(magazine),
            Some(magazine) => Spare::Empty(magazine),
        }
    }
}
