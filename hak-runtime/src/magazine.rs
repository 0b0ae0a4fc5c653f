//! A magazine: a fixed array of pointers to free blocks of one class, used as a stack.

use core::ptr::{self, NonNull};

use crate::arena;

/// Head of a magazine; its slots follow.
#[repr(C)]
pub struct Magazine {
    /// For whoever stacks magazines (see `parcel`). Of one that a closed bin has loaded: how many
    /// blocks it holds.
    link: *mut u8,
}

/// Most slots a magazine may have.
pub(crate) const SLOTS_MAX: usize = 1024;

const _: () = assert!(Magazine::bytes(SLOTS_MAX) <= arena::OBJECT_BYTES_MAX);

impl Magazine {
    const fn bytes(slots: usize) -> usize {
        size_of::<Magazine>() + slots * size_of::<*mut u8>()
    }

    /// A magazine with room for `slots` blocks, which are undefined; `None` without memory.
    pub(crate) fn new(slots: usize) -> Option<NonNull<Magazine>> {
        let this = arena::alloc(Self::bytes(slots))?.cast::<Magazine>();
        // SAFETY: the arena's object has room for the head.
        unsafe { this.write(Magazine { link: ptr::null_mut() }) };
        Some(this)
    }

    /// Returns the memory of an empty magazine.
    ///
    /// # Safety
    ///
    /// `this` came from [`Magazine::new`] with the same `slots`, and no one uses it any more.
    pub(crate) unsafe fn drop(this: NonNull<Magazine>, slots: usize) {
        // SAFETY: by this function's contract.
        unsafe { arena::free(this.cast(), Self::bytes(slots)) };
    }

    /// How many blocks a closed bin's magazine holds.
    pub(crate) fn count(this: NonNull<Magazine>) -> usize {
        // SAFETY: magazines are alive while someone has them.
        unsafe { this.as_ref() }.link.addr()
    }

    /// Sets what [`Magazine::count`] says.
    pub(crate) fn set_count(mut this: NonNull<Magazine>, count: usize) {
        // SAFETY: as above, and a bin's magazine is used by its thread only.
        unsafe { this.as_mut() }.link = ptr::without_provenance_mut(count);
    }

    /// The first slot.
    pub(crate) fn slots(this: NonNull<Magazine>) -> *mut *mut u8 {
        // SAFETY: every magazine has at least one slot behind its head.
        unsafe { this.add(1).as_ptr().cast() }
    }

    /// The magazine whose first slot this is.
    pub(crate) fn of(first_slot: NonNull<*mut u8>) -> NonNull<Magazine> {
        // SAFETY: the head stands right before the first slot.
        unsafe { first_slot.cast::<Magazine>().sub(1) }
    }
}
