//! Closed bins: what a thread frees of a class before it allocates any.
//!
//! Another thread made these blocks, and may go on writing their neighbours. If this thread were
//! given them again, it would write the same cache lines (false sharing), and each write takes the
//! line from the other thread. So where several lie in a line the first ones are kept apart, and go
//! back to their slabs when the thread first allocates, which gets others. There they serve whoever
//! refills next: this thread, too, if it then makes more than it was given at first.
//!
//! A thread that frees as many as its magazine holds is not about to use them: the bin opens, and
//! is as any other. A bin that was emptied for good measure (a flush) begins anew.

use core::ptr::{self, NonNull};

use super::{Front, Slow};
use crate::bin::Bin;
use crate::depot::Depots;
use crate::large::Larges;
use crate::magazine::Magazine;

impl<S, D: Depots, L: Larges> Slow<'_, Bin<S>, D, L>
where
    Bin<S>: Front<Parcel = D::Parcel>,
{
    /// Keeps a block apart if this thread has allocated none of the class, and several lie in a
    /// line; false, and nothing is done, if not.
    ///
    /// # Safety
    ///
    /// `block` is of the class, owned by the caller and, if this says true, not used after this
    /// call.
    pub(super) unsafe fn keep_apart(&self, block: NonNull<u8>) -> bool {
        let first_free = || {
            let is_first = self.front.loaded().is_none() && self.class.size.shares_lines();
            Some((is_first.then(|| self.equip())??, 0))
        };
        let Some((loaded, count)) = self.front.closed().or_else(first_free) else {
            return false;
        };
        // SAFETY: a closed bin's magazine, like an empty one, has room for one more block.
        let slot = unsafe { Magazine::slots(loaded).add(count) };
        // SAFETY: as above.
        unsafe { slot.write(block.as_ptr()) };
        if count + 1 < self.slots() as usize {
            self.front.close(loaded, count + 1);
        } else {
            self.front.load(loaded, self.slots(), count + 1);
        }
        true
    }

    /// Opens a bin, for the thread's first alloc: it gets blocks from slabs, and those that it kept
    /// apart go back to theirs. In this order, or slabs would hand the same out again. False, and
    /// nothing is done, if it is not closed; else it is not empty afterwards.
    pub(super) fn open(&self) -> bool {
        let Some((closed, count)) = self.front.closed() else { return false };
        let slots = self.slots() as usize;
        let low = Magazine::slots(closed);
        // SAFETY: a closed bin's magazine has that many blocks, and more slots.
        let free = unsafe { low.add(count) };
        // SAFETY: as many places are left.
        let taken = unsafe { self.class.take(self.wanted(true).min(slots - count), free) };
        if taken == 0 {
            self.front.load(closed, self.slots(), count);
            return true;
        }
        // SAFETY: that many blocks stand there.
        let apart = unsafe { core::slice::from_raw_parts(low, count) };
        // SAFETY: the blocks are the bin's, which forgets them below.
        unsafe { self.class.give_back(apart) };
        // SAFETY: both ranges lie within the magazine.
        unsafe { ptr::copy(free, low, taken) };
        self.front.load(closed, self.slots(), taken);
        true
    }
}
