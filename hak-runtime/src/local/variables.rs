//! As variables of the compiler's thread-local storage.

use core::cell::Cell;
use core::ptr;

use crate::os;

std::thread_local! {
    /// This thread's number, as the kernel knows it; 0 until it is asked for. Below 2^22.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    /// Whether the destructor of the runtime's key ran in this thread: it may have been the last
    /// round of destructors.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// The kernel's number of this thread.
#[inline]
pub(crate) fn number() -> u32 {
    match NUMBER.get() {
        0 => {
            NUMBER.set(os::thread_number());
            NUMBER.get()
        }
        known => known,
    }
}

/// Forgets the number: a forked child's is another one than its parent's.
pub(crate) fn forget_number() {
    NUMBER.set(0);
}

/// A number that no other living thread has, and that the thread keeps in a forked child.
pub(crate) fn id() -> usize {
    IS_ENDING.with(|here| ptr::from_ref(here).addr())
}

/// Whether [`begin_ending`] was called in this thread.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.get()
}

/// From here on this thread begins nothing that would have to be ended.
pub(crate) fn begin_ending() {
    IS_ENDING.set(true);
}
