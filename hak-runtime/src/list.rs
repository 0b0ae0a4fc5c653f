//! A list: what one thread holds for one class, as a chain of free blocks linked through their own
//! memory.
//!
//! Nothing but the blocks is needed, and a block that comes back is the next to go; but each alloc
//! reads the block it takes, and a program that writes to a freed block breaks the chain.
//!
//! # Rules
//!
//! 1. A list is used by its own thread only, and its blocks belong to it alone.
//! 2. The list and its room together are as many blocks as the class has slots. A list that is
//!    not in use has neither: both hit paths end in their slow halves, as with an unused bin.
//! 3. Room is below 0, wrapped around, only from a refused block to the slow half's first step.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use crate::chain;
use crate::prefetch::prefetch;
use crate::spares::Chains;

/// One thread's free blocks of one class: what the hit paths touch, and nothing else.
#[repr(C)]
pub struct List<S = Chains> {
    /// The block that the next alloc takes.
    first: Cell<*mut u8>,
    /// Blocks that the list may take yet.
    room: Cell<usize>,
    behind: PhantomData<S>,
}

/// Words of a list.
pub const LIST_WORDS: usize = size_of::<List>() / size_of::<usize>();

impl<S> List<S> {
    pub(crate) const fn new() -> Self {
        List { first: Cell::new(ptr::null_mut()), room: Cell::new(0), behind: PhantomData }
    }

    /// Whether the next alloc must go to [`Cache::alloc_slow`](crate::Cache::alloc_slow).
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first.get().is_null()
    }

    /// Counts one block more; false, and the next dealloc must go to
    /// [`Cache::dealloc_slow`](crate::Cache::dealloc_slow), without room for it. To count first and
    /// ask then is one instruction.
    #[inline(always)]
    pub fn count_in(&self) -> bool {
        let room = self.room.get();
        self.room.set(room.wrapping_sub(1));
        room != 0
    }

    /// The same, but a list without room stays as it is: it may be one that threads share.
    #[cfg(feature = "c")]
    #[inline(always)]
    pub fn count_in_if_room(&self) -> bool {
        let room = self.room.get();
        if room != 0 {
            self.room.set(room - 1);
        }
        room != 0
    }

    /// Takes a block; never null.
    ///
    /// # Safety
    ///
    /// The list is not empty.
    #[inline(always)]
    pub unsafe fn pop(&self) -> *mut u8 {
        let block = self.first.get();
        // SAFETY: not empty, so it is a block of the list.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: as above.
        self.first.set(unsafe { chain::next(block) });
        self.room.set(self.room.get().wrapping_add(1));
        block.as_ptr()
    }

    /// Asks the processor for the block that the next alloc takes; an empty list has none, and any
    /// address will do.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self.first.get());
    }

    /// Puts a block.
    ///
    /// # Safety
    ///
    /// 1. The block was counted in.
    /// 2. `block` is a block of the list's class, owned by the caller and not used after this call.
    #[inline(always)]
    pub unsafe fn push(&self, block: *mut u8) {
        // SAFETY: a block is never null.
        let link = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: by (2).
        unsafe { chain::set_next(link, self.first.get()) };
        self.first.set(block);
    }

    /// Whether the list has neither blocks nor room.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_empty() && self.room.get() == 0
    }

    /// Makes it a list of a chain, which is the list's from here on, with room for more blocks.
    /// What it was before is the caller's.
    pub(crate) fn load(&self, chain: Option<NonNull<u8>>, room: usize) {
        self.first.set(chain.map_or(ptr::null_mut(), NonNull::as_ptr));
        self.room.set(room);
    }

    /// Its blocks, as a chain.
    pub(crate) fn chain(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.first.get())
    }
}
