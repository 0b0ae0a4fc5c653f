//! What an allocator promised: every live block, where it is and what was written to it.
//!
//! A model applies operations to an allocator and checks each answer: blocks are aligned and
//! disjoint, keep their contents, and are zero when that was asked.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;

/// Blocks up to this size are written and read as a whole, larger ones at both ends and sparsely.
const WHOLE_MAX: usize = 64 << 10;
/// Bytes written at both ends of a larger block.
const EDGE: usize = 4096;
/// Distance of the single bytes looked at between.
const STRIDE: usize = 509;

/// One operation. Numbers of blocks are reduced to how many there are.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// `alloc`, or `alloc_zeroed`.
    Alloc {
        /// Bytes.
        size: usize,
        /// A power of two.
        align: usize,
        /// Whether zeroed memory is asked for.
        zeroed: bool,
    },
    /// `realloc` of a live block.
    Realloc {
        /// Which.
        nth: usize,
        /// Bytes, not 0.
        size: usize,
    },
    /// `dealloc` of a live block.
    Dealloc {
        /// Which.
        nth: usize,
    },
}

struct Live {
    layout: Layout,
    fill: u8,
}

/// The live blocks of an allocator.
pub(crate) struct Model<'a, A: GlobalAlloc> {
    allocator: &'a A,
    live: BTreeMap<usize, Live>,
    bytes: usize,
    bytes_max: usize,
    next_fill: u8,
}

impl<'a, A: GlobalAlloc> Model<'a, A> {
    /// No live blocks yet. Requests that would bring more than `bytes_max` to life are left out.
    pub(crate) fn new(allocator: &'a A, bytes_max: usize) -> Self {
        Model { allocator, live: BTreeMap::new(), bytes: 0, bytes_max, next_fill: 1 }
    }

    /// Applies one operation and checks its result.
    pub(crate) fn apply(&mut self, op: &Op) {
        match *op {
            Op::Alloc { size, align, zeroed } => self.alloc(size, align, zeroed),
            Op::Realloc { nth, size } => self.realloc(nth, size),
            Op::Dealloc { nth } => self.dealloc(nth),
        }
    }

    /// Frees what is live, and checks it before.
    pub(crate) fn finish(mut self) {
        while !self.live.is_empty() {
            self.dealloc(0);
        }
    }

    fn alloc(&mut self, size: usize, align: usize, zeroed: bool) {
        let layout = Layout::from_size_align(size, align).unwrap();
        if self.bytes + size > self.bytes_max {
            return;
        }
        let start = if zeroed {
            // SAFETY: the allocator serves layouts of no bytes, too; nothing is written to those.
            unsafe { self.allocator.alloc_zeroed(layout) }
        } else {
            // SAFETY: as above.
            unsafe { self.allocator.alloc(layout) }
        };
        assert!(!start.is_null(), "{layout:?} was refused");
        if zeroed {
            check(start, 0..size, 0, "zeroed memory is zero");
        }
        self.enter(start, layout);
    }

    fn realloc(&mut self, nth: usize, size: usize) {
        let Some((start, old)) = self.remove(nth) else { return };
        let size = if self.bytes + size > self.bytes_max { 1 } else { size };
        if old.layout.size() == 0 {
            return self.enter(start, old.layout);
        }
        // SAFETY: the block is live with this layout, and the new size is not 0.
        let moved = unsafe { self.allocator.realloc(start, old.layout, size) };
        assert!(!moved.is_null(), "realloc of {:?} to {size} was refused", old.layout);
        let kept = old.layout.size().min(size);
        check_edges(moved, kept, old.layout.size(), old.fill);
        self.enter(moved, Layout::from_size_align(size, old.layout.align()).unwrap());
    }

    fn dealloc(&mut self, nth: usize) {
        let Some((start, block)) = self.remove(nth) else { return };
        // SAFETY: the block is live with this layout, and forgotten now.
        unsafe { self.allocator.dealloc(start, block.layout) };
    }

    /// Checks a new block against all others, and fills it.
    fn enter(&mut self, start: *mut u8, layout: Layout) {
        let (address, size) = (start.addr(), layout.size());
        assert!(address.is_multiple_of(layout.align()), "{start:p} is not aligned for {layout:?}");
        if let Some((before, block)) = self.live.range(..=address).next_back() {
            assert!(before + block.layout.size() <= address, "{start:p} {layout:?} overlaps");
        }
        if let Some((after, _)) = self.live.range(address..).next() {
            assert!(address + size <= *after, "{start:p} {layout:?} overlaps");
        }
        let fill = self.next_fill;
        self.next_fill = self.next_fill % 250 + 1;
        for range in written(size) {
            // SAFETY: the range lies within the live block.
            let from = unsafe { start.add(range.start) };
            // SAFETY: as above.
            unsafe { from.write_bytes(fill, range.len()) };
        }
        self.bytes += size;
        self.live.insert(address, Live { layout, fill });
    }

    /// Forgets a block after checking its contents.
    fn remove(&mut self, nth: usize) -> Option<(*mut u8, Live)> {
        let nth = nth.checked_rem(self.live.len())?;
        let address = *self.live.keys().nth(nth)?;
        let block = self.live.remove(&address)?;
        let start = std::ptr::with_exposed_provenance_mut::<u8>(address);
        check_edges(start, block.layout.size(), block.layout.size(), block.fill);
        self.bytes -= block.layout.size();
        Some((start, block))
    }
}

/// The parts of a block of `size` bytes that are written.
fn written(size: usize) -> [std::ops::Range<usize>; 2] {
    if size <= WHOLE_MAX { [0..size, size..size] } else { [0..EDGE, size - EDGE..size] }
}

/// Checks what of the written parts lies below `kept`.
fn check_edges(start: *mut u8, kept: usize, size: usize, fill: u8) {
    for range in written(size) {
        let end = range.end.min(kept);
        check(start, range.start.min(end)..end, fill, "contents are kept");
    }
}

/// Checks bytes: all of a short range, else both ends and some between.
fn check(start: *mut u8, range: std::ops::Range<usize>, expected: u8, promise: &str) {
    let step = if range.len() <= WHOLE_MAX { 1 } else { STRIDE };
    let ends = range.end.saturating_sub(EDGE).max(range.start)..range.end;
    for at in range.step_by(step).chain(ends) {
        // SAFETY: the range lies within a live block.
        let byte = unsafe { start.add(at) };
        // SAFETY: as above, and its bytes are initialised.
        let found = unsafe { byte.read() };
        assert_eq!(found, expected, "{promise}: byte {at} of {start:p}");
    }
}
