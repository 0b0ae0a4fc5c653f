//! What is needed of an allocator to be a row of the list.

use std::alloc::{GlobalAlloc, System};

pub(crate) trait Subject: GlobalAlloc + Sized + 'static {
    const ALLOCATOR: Self;

    /// Times that this process went past what threads keep, so far: to the depots or to the slabs.
    fn trips() -> u64;
}

/// The system's allocator does not tell.
impl Subject for System {
    const ALLOCATOR: System = System;

    fn trips() -> u64 {
        0
    }
}
