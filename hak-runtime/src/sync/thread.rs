//! The number that a lock knows its holder by.

use crate::local;

#[inline]
pub(super) fn this_thread() -> u32 {
    local::number()
}

/// Forgets the thread's number: a forked child's is another one than its parent's.
pub(crate) fn forked() {
    local::forget_number();
}
