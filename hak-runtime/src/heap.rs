//! A heap: all that is process-wide of one allocator, and its way for large requests.

use core::ptr::{self, NonNull};

use crate::class::Class;
use crate::depot::Depots;
use crate::fatal;
use crate::huge::Huge;
use crate::span::{self, SPAN_BYTES_MAX};
use crate::superslab::UNIT_BYTES;

/// The classes and depots of one allocator, and its large allocations.
pub struct Heap<D: Depots> {
    allocator: &'static str,
    pub(crate) classes: &'static [Class],
    pub(crate) depots: &'static D,
    pub(crate) large: Large,
}

/// How requests above all classes are served.
pub struct Large {
    /// Requests up to this size become spans.
    spans_to: usize,
    pub(crate) huge: Huge,
}

impl Large {
    /// Spans up to `spans_to` bytes, then mappings, of which `keep` bytes are kept when freed.
    #[must_use]
    pub const fn new(spans_to: usize, keep: usize) -> Self {
        assert!(spans_to <= SPAN_BYTES_MAX, "a span is at most half a superslab");
        Large { spans_to, huge: Huge::new(keep) }
    }

    /// Whether a request becomes a span: it is short enough, and units are aligned enough.
    fn is_span(&self, bytes: usize, align: usize) -> bool {
        bytes <= self.spans_to && align <= UNIT_BYTES
    }
}

impl<D: Depots> Heap<D> {
    /// A heap that holds nothing yet.
    #[must_use]
    pub const fn new(
        allocator: &'static str,
        classes: &'static [Class],
        depots: &'static D,
        large: Large,
    ) -> Self {
        Heap { allocator, classes, depots, large }
    }

    /// Serves a request that no class serves; null when the system has no memory.
    ///
    /// `align` is a power of two. A request of no bytes gets a span that is never touched.
    pub fn alloc_large(&self, bytes: usize, align: usize, zeroed: bool) -> *mut u8 {
        let bytes = bytes.max(1);
        if !self.large.is_span(bytes, align) {
            let memory = self.large.huge.alloc(bytes, align, zeroed);
            return memory.map_or(ptr::null_mut(), NonNull::as_ptr);
        }
        let Some((start, clean)) = span::alloc(bytes) else { return ptr::null_mut() };
        if zeroed && !clean {
            // SAFETY: the span has at least `bytes`, and is ours.
            unsafe { start.write_bytes(0, bytes) };
        }
        start.as_ptr()
    }

    /// Takes back what [`Heap::alloc_large`] gave.
    ///
    /// # Safety
    ///
    /// `start` came from this heap for `bytes` and `align`, and no one uses it after this call.
    pub unsafe fn dealloc_large(&self, start: *mut u8, bytes: usize, align: usize) {
        let Some(start) = NonNull::new(start) else { return };
        let bytes = bytes.max(1);
        if !self.large.is_span(bytes, align) {
            // SAFETY: by this function's contract.
            return unsafe { self.large.huge.free(start, bytes) };
        }
        // SAFETY: by this function's contract.
        if !unsafe { span::free(start, bytes) } {
            let what = format_args!("double free of {bytes}-byte span {start:p}");
            fatal::die(self.allocator, what);
        }
    }

    /// Resizes a large allocation without copying, if that can be done: its new place, or null,
    /// which leaves it as it was. The new size, too, is one that no class serves.
    ///
    /// # Safety
    ///
    /// 1. `start` came from this heap for `old_bytes` and `align`.
    /// 2. Unless the result is null, no one uses the old memory, or what is beyond the new size,
    ///    after this call.
    pub unsafe fn resize_large(
        &self,
        start: *mut u8,
        old_bytes: usize,
        new_bytes: usize,
        align: usize,
    ) -> *mut u8 {
        let Some(place) = NonNull::new(start) else { return start };
        let (old_bytes, new_bytes) = (old_bytes.max(1), new_bytes.max(1));
        match (self.large.is_span(old_bytes, align), self.large.is_span(new_bytes, align)) {
            // SAFETY: by (1) and (2).
            (true, true) if unsafe { span::resize(place, old_bytes, new_bytes) } => start,
            (false, false) => {
                // SAFETY: by (1) and (2).
                let moved = unsafe { self.large.huge.resize(place, old_bytes, new_bytes, align) };
                moved.map_or(ptr::null_mut(), NonNull::as_ptr)
            }
            _ => ptr::null_mut(),
        }
    }

    /// Gives the blocks of all depots back to their slabs.
    pub fn drain_depots(&self) {
        for (index, class) in self.classes.iter().enumerate() {
            let Some(depot) = self.depots.of(index) else { continue };
            while let Some(full) = depot.drain_one() {
                // SAFETY: full magazines of a class's depot are of that class, and it is ours.
                unsafe { class.give_back_magazine(full) };
            }
        }
    }
}
