//! Blocks that know how they are freed, and bursts of them.

#![allow(dead_code, reason = "each test uses a part")]

use std::alloc::{GlobalAlloc, Layout};
use std::thread;

/// A block of an allocator. It is not freed when it is dropped: that is what tests are about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Its first byte.
    pub(crate) start: *mut u8,
    /// How it was asked for.
    pub(crate) layout: Layout,
}

// SAFETY: a block belongs to whoever holds it.
unsafe impl Send for Block {}

impl Block {
    /// A block of `size` bytes, which is not 0, or `None` when there is no memory.
    pub(crate) fn new(allocator: &impl GlobalAlloc, size: usize) -> Option<Self> {
        Self::aligned(allocator, size, 8)
    }

    /// The same at a multiple of `align`.
    pub(crate) fn aligned(allocator: &impl GlobalAlloc, size: usize, align: usize) -> Option<Self> {
        let layout = Layout::from_size_align(size, align).unwrap();
        // SAFETY: the size is not 0.
        let start = unsafe { allocator.alloc(layout) };
        assert!(start.addr().is_multiple_of(align), "{start:p} for {layout:?}");
        (!start.is_null()).then_some(Block { start, layout })
    }

    /// A zeroed block.
    pub(crate) fn zeroed(allocator: &impl GlobalAlloc, size: usize) -> Option<Self> {
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: the size is not 0.
        let start = unsafe { allocator.alloc_zeroed(layout) };
        (!start.is_null()).then_some(Block { start, layout })
    }

    /// Writes every byte.
    pub(crate) fn filled(self, mark: u8) -> Self {
        // SAFETY: the block has that many bytes.
        unsafe { self.start.write_bytes(mark, self.layout.size()) };
        self
    }

    /// Writes a byte in every OS page.
    pub(crate) fn touched(self, mark: u8) -> Self {
        (0..self.layout.size()).step_by(4096).for_each(|at| self.put(at, mark));
        self
    }

    /// Writes one byte.
    pub(crate) fn put(self, at: usize, value: u8) {
        // SAFETY: it lies within the block.
        unsafe { self.byte(at).write(value) };
    }

    /// Reads one byte, which was written or asked for as zero.
    pub(crate) fn get(self, at: usize) -> u8 {
        // SAFETY: it lies within the block, and is initialised.
        unsafe { self.byte(at).read() }
    }

    fn byte(self, at: usize) -> *mut u8 {
        assert!(at < self.layout.size());
        // SAFETY: it lies within the block.
        unsafe { self.start.add(at) }
    }

    /// Whether all bytes, which are initialised, have a value.
    pub(crate) fn is_all(self, value: u8) -> bool {
        // SAFETY: the block has that many bytes, and they are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) };
        // In pieces, which are compared as a whole: a byte at a time takes long in a debug build.
        bytes.chunks(64 << 10).all(|piece| {
            let expected = vec![value; piece.len()];
            piece == expected
        })
    }

    /// Resizes the block. `None` leaves it as it was.
    pub(crate) fn resized(self, allocator: &impl GlobalAlloc, size: usize) -> Option<Self> {
        // SAFETY: the block is live, and the size is not 0.
        let start = unsafe { allocator.realloc(self.start, self.layout, size) };
        let layout = Layout::from_size_align(size, self.layout.align()).unwrap();
        (!start.is_null()).then_some(Block { start, layout })
    }

    /// Frees the block. The caller uses no copy of it any more.
    pub(crate) fn free(self, allocator: &impl GlobalAlloc) {
        // SAFETY: the block is live, and not used below.
        unsafe { allocator.dealloc(self.start, self.layout) };
    }
}

/// Numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next one, below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % bound
    }

    /// A size of 16 bytes to 4 KiB, each magnitude as likely as the next.
    pub(crate) fn small_size(&mut self) -> usize {
        let magnitude = 16 << self.below(8);
        magnitude + self.below(magnitude)
    }
}

/// In which order blocks are freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they came.
    AsTheyCame,
    /// At random, which leaves the last ones scattered over all slabs.
    Random,
}

impl Order {
    /// Brings blocks into this order.
    pub(crate) fn apply(self, blocks: &mut [Block]) {
        if self == Order::Random {
            let mut random = Random(7);
            (1..blocks.len()).rev().for_each(|last| blocks.swap(last, random.below(last + 1)));
        }
    }
}

/// Small blocks of mixed classes, `bytes` in all, written as a whole.
pub(crate) fn small_blocks(allocator: &impl GlobalAlloc, bytes: usize, seed: u64) -> Vec<Block> {
    let (mut random, mut rest) = (Random(seed), bytes);
    let mut blocks = Vec::new();
    while rest > 0 {
        let block = Block::new(allocator, random.small_size()).unwrap().filled(1);
        rest = rest.saturating_sub(block.layout.size());
        blocks.push(block);
    }
    blocks
}

/// Several threads allocate small blocks, `bytes` in all. When all of them live, `at_peak` is
/// called; then each thread frees what its neighbour made, and all end.
pub(crate) fn burst(
    allocator: &(impl GlobalAlloc + Sync),
    bytes: usize,
    order: Order,
    at_peak: impl FnOnce(),
) {
    const THREADS: usize = 3;
    let make = |seed| move || small_blocks(allocator, bytes / THREADS, seed);
    let mut all: Vec<Vec<Block>> = thread::scope(|scope| {
        let threads: Vec<_> = (1..).take(THREADS).map(|seed| scope.spawn(make(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    at_peak();
    all.iter_mut().for_each(|blocks| order.apply(blocks));
    all.rotate_left(1);
    thread::scope(|scope| {
        let free = |blocks: Vec<Block>| move || free_all(allocator, blocks);
        let threads: Vec<_> = all.into_iter().map(|blocks| scope.spawn(free(blocks))).collect();
        // The end of the scope is too early: it waits for closures, not for what follows them.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Frees blocks in the order of the list.
pub(crate) fn free_all(allocator: &impl GlobalAlloc, blocks: Vec<Block>) {
    blocks.into_iter().for_each(|block| block.free(allocator));
}
