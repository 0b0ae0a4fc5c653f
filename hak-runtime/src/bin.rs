//! A bin: what one thread holds for one class, as a magazine's array of free blocks.
//!
//! The hit paths, [`Bin::is_empty`] with [`Bin::pop`] and [`Bin::is_full`] with [`Bin::push`], are
//! inlined into generated code. All else is cold, and depends on what stands behind the bin (`S`).
//!
//! # Rules
//!
//! 1. A bin is used by its own thread only, and its magazine belongs to it alone.
//! 2. `low <= top <= high`; the blocks from `low` up to `top` are free and the bin's. All three
//!    are null in a bin without a magazine: it is empty and full at once, so that both hit paths
//!    end in their slow halves and there need be no test whether the thread was here before.
//! 3. A bin with a magazine whose three are the same is *closed*: empty and full at once, too. Its
//!    blocks stand from `low` on, and the magazine's head says how many there are, which is fewer
//!    than it has slots (see `cache/closed.rs`).

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use crate::magazine::Magazine;
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::spares::OneSpare;

/// One thread's free blocks of one class: what the hit paths touch, and nothing else.
#[repr(C)]
pub struct Bin<S = OneSpare> {
    /// One past the block that the next alloc takes.
    top: Cell<*mut *mut u8>,
    /// First slot of the loaded magazine.
    low: Cell<*mut *mut u8>,
    /// One past its last slot; of a closed bin its first (rule 3).
    high: Cell<*mut *mut u8>,
    behind: PhantomData<S>,
}

const _: () =
    assert!(size_of::<Bin>() == 24, "three words: an index is scaled in two instructions");

const _: () = assert!(
    size_of::<Magazine>() == size_of::<*mut u8>(),
    "what stands before the first slot is a word: `Bin::prefetch` reads it"
);

/// Words of a bin.
pub const BIN_WORDS: usize = size_of::<Bin>() / size_of::<usize>();

impl<S> Bin<S> {
    pub(crate) const fn new() -> Self {
        Bin {
            top: Cell::new(ptr::null_mut()),
            low: Cell::new(ptr::null_mut()),
            high: Cell::new(ptr::null_mut()),
            behind: PhantomData,
        }
    }

    /// Whether the next alloc must go to [`Cache::alloc_slow`](crate::Cache::alloc_slow).
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.top.get() == self.low.get()
    }

    /// One past the block that the next alloc takes.
    #[cfg(feature = "c")]
    #[inline(always)]
    pub(crate) fn top(&self) -> *mut *mut u8 {
        self.top.get()
    }

    /// Whether the next dealloc must go to [`Cache::dealloc_slow`](crate::Cache::dealloc_slow).
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.top.get() == self.high.get()
    }

    /// Takes a block; never null.
    ///
    /// # Safety
    ///
    /// The bin is not empty.
    #[inline(always)]
    pub unsafe fn pop(&self) -> *mut u8 {
        // SAFETY: not empty, so the slot lies in the loaded magazine (rule 2).
        let slot = unsafe { self.top.get().sub(1) };
        self.top.set(slot);
        // SAFETY: slots below the top hold blocks.
        let block = unsafe { slot.read() };
        // SAFETY: a block is never null. Saying so removes the caller's test for out of memory.
        unsafe { core::hint::assert_unchecked(!block.is_null()) };
        block
    }

    /// Asks the processor for the block that the next alloc takes. After a pop that emptied the bin
    /// it is asked for some other address, which does no harm: a test would cost more.
    ///
    /// # Safety
    ///
    /// The bin has a magazine, as it does after a [`Bin::pop`].
    #[inline(always)]
    pub unsafe fn prefetch(&self) {
        // SAFETY: before the first slot stands the magazine's head, of the same object.
        let slot = unsafe { self.top.get().sub(1) };
        // SAFETY: a block below the top or, in an empty bin, the head: a word, and initialized.
        prefetch(unsafe { slot.read() });
    }

    /// Puts a block.
    ///
    /// # Safety
    ///
    /// 1. The bin is not full.
    /// 2. `block` is a block of the bin's class, owned by the caller and not used after this call.
    #[inline(always)]
    pub unsafe fn push(&self, block: *mut u8) {
        let slot = self.top.get();
        // SAFETY: by (1) the slot lies in the loaded magazine (rule 2).
        unsafe { slot.write(block) };
        // SAFETY: as above, so one past it is at most `high`.
        self.top.set(unsafe { slot.add(1) });
    }

    /// Puts a block, and takes any of those that are there then, each as likely as the others.
    /// Null, which is no block, stays null.
    ///
    /// # Safety
    ///
    /// `block` is null, or a block of the bin's class that is the caller's.
    #[inline]
    pub unsafe fn exchange(&self, block: *mut u8, random: &Random) -> *mut u8 {
        let (low, top) = (self.low.get(), self.top.get());
        if low.is_null() {
            return block;
        }
        let count = (top.addr() - low.addr()) / size_of::<*mut u8>();
        // A magazine has far fewer slots than a `u32` counts.
        let place = random.below(u32::try_from(count + 1).unwrap_or(0)) as usize;
        if block.is_null() || place == count {
            return block;
        }
        // SAFETY: it is one of the slots that hold blocks.
        let slot = unsafe { low.add(place) };
        // SAFETY: as above.
        unsafe { slot.replace(block) }
    }

    /// Loads a magazine that holds `count` blocks. The one that was loaded is the caller's.
    pub(crate) fn load(&self, magazine: NonNull<Magazine>, slots: u32, count: usize) {
        let low = Magazine::slots(magazine);
        self.low.set(low);
        // SAFETY: a magazine has `slots` slots.
        self.high.set(unsafe { low.add(slots as usize) });
        // SAFETY: `count` is at most `slots`.
        self.top.set(unsafe { low.add(count) });
    }

    /// The loaded magazine.
    pub(crate) fn loaded(&self) -> Option<NonNull<Magazine>> {
        Some(Magazine::of(NonNull::new(self.low.get())?))
    }

    /// Closes a bin whose loaded magazine holds `count` blocks.
    pub(crate) fn close(&self, magazine: NonNull<Magazine>, count: usize) {
        self.load(magazine, 0, 0);
        Magazine::set_count(magazine, count);
    }

    /// The loaded magazine of a closed bin, and how many blocks it holds.
    pub(crate) fn closed(&self) -> Option<(NonNull<Magazine>, usize)> {
        let closed = self.loaded().filter(|_| self.low.get() == self.high.get())?;
        Some((closed, Magazine::count(closed)))
    }

    /// Makes it a bin without a loaded magazine.
    pub(crate) fn forget(&self) {
        self.low.set(ptr::null_mut());
        self.high.set(ptr::null_mut());
        self.top.set(ptr::null_mut());
    }

    /// The loaded magazine's blocks.
    ///
    /// # Safety
    ///
    /// The bin has a magazine and is not used while the slice is.
    pub(crate) unsafe fn blocks(&self) -> &[*mut u8] {
        let (low, top) = (self.low.get(), self.top.get());
        let count = match self.closed() {
            Some((_, count)) => count,
            // SAFETY: both are in the loaded magazine, `low` first (rule 2).
            None => unsafe { top.offset_from_unsigned(low) },
        };
        // SAFETY: that many blocks stand there.
        unsafe { core::slice::from_raw_parts(low, count) }
    }
}
