//! The way of a spec without cache layers: each request goes to its class's slabs, under the
//! class's lock.

use core::ptr::NonNull;

use crate::depot::Depots;
use crate::heap::Heap;
use crate::large::Larges;

impl<D: Depots, L: Larges> Heap<D, L> {
    /// A block of a class; null when the system has no memory.
    ///
    /// # Safety
    ///
    /// A shard of the heap has more classes than `index`: it counts in the first one.
    pub unsafe fn take(&'static self, index: usize) -> *mut u8 {
        self.register();
        // SAFETY: by this function's contract.
        let class = unsafe { self.classes.get_unchecked(index) };
        let block = class.take_one();
        self.visit();
        if !block.is_null() {
            return block;
        }
        self.scavenge();
        class.take_one()
    }

    /// Takes a block of a class back.
    ///
    /// # Safety
    ///
    /// 1. As for [`Heap::take`].
    /// 2. `block` is of that class, owned by the caller, and not used after this call.
    pub unsafe fn give_back(&self, index: usize, block: *mut u8) {
        let Some(block) = NonNull::new(block) else { return };
        // SAFETY: by (1).
        let class = unsafe { self.classes.get_unchecked(index) };
        // SAFETY: by (2).
        unsafe { class.give_back(&[block.as_ptr()]) };
        self.visit();
    }
}
