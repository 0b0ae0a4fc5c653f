//! The number that a lock knows its holder by.

use core::cell::Cell;

use crate::os;

std::thread_local! {
    /// This thread's number, as the kernel knows it; 0 until it is asked for. Below 2^22.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

#[inline]
pub(super) fn this_thread() -> u32 {
    match THREAD.get() {
        0 => {
            THREAD.set(os::thread_number());
            THREAD.get()
        }
        known => known,
    }
}

/// Forgets the thread's number: a forked child's is another one than its parent's.
pub(crate) fn forked() {
    THREAD.set(0);
}
