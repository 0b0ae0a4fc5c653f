//! An allocator for tests, which uses the runtime as generated code does.

use std::alloc::Layout;

use super::super::*;
use crate::account::{Account, Terms};
use crate::class::classes;
use crate::depot::depots;
use crate::large::Large;
use crate::lookup::aligned_class;
use crate::size_class::SizeClass;
use crate::{Bin, List, Stats};

const SIZES: [SizeClass; 5] = [
    SizeClass::new([16, 64, 16, 8, 4], [1, 4096]),
    SizeClass::new([256, 8, 8, 4, 1], [1, 256]),
    SizeClass::new([1024, 4, 2, 2, 2], [1, 64]),
    SizeClass::new([8192, 2, 2, 1, 0], [1, 8]),
    SizeClass::new([49_152, 1, 1, 1, 1], [3, 4]),
];
const CLASS_OF: [(usize, usize); 5] = [(16, 0), (256, 1), (1024, 2), (8192, 3), (49_152, 4)];

/// The hit paths.
pub(super) trait Hit: Front {
    fn is_empty(&self) -> bool;
    fn has_room(&self) -> bool;
    unsafe fn pop(&self) -> *mut u8;
    unsafe fn push(&self, block: *mut u8);
}

macro_rules! hit {
    ($front:ident, $self:ident => $has_room:expr) => {
        impl<S> Hit for $front<S>
        where
            $front<S>: Front,
        {
            fn is_empty(&self) -> bool {
                $front::is_empty(self)
            }

            fn has_room(&$self) -> bool {
                $has_room
            }

            unsafe fn pop(&self) -> *mut u8 {
                // SAFETY: by the caller.
                unsafe { $front::pop(self) }
            }

            unsafe fn push(&self, block: *mut u8) {
                // SAFETY: by the caller.
                unsafe { $front::push(self, block) };
            }
        }
    };
}

hit!(Bin, self => !self.is_full());
hit!(List, self => self.count_in());

type DepotsOf<F> = [[Depot<<F as Front>::Parcel>; 5]; 2];

/// An allocator, and the calling thread's cache. Heaps are for ever, so each one is leaked.
pub(super) struct Allocator<F: Hit = Bin> {
    pub(super) heap: &'static Heap<DepotsOf<F>>,
    pub(super) cache: &'static Cache<F, 5>,
}

impl<F: Hit> Clone for Allocator<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Hit> Copy for Allocator<F> {}

impl<F: Hit> Allocator<F> {
    const WORDS: usize = size_of::<F>() / size_of::<usize>();

    pub(super) fn new(terms: Terms) -> Self {
        let account = Box::leak(Box::new(Account::new("Test", terms)));
        let shards: &'static _ = Box::leak(Box::new([(); 2].map(|()| classes(account, SIZES))));
        let depots: &'static _ = Box::leak(Box::new([(); 2].map(|()| depots(SIZES))));
        let heap = Heap::new(account, shards, depots, Large::new(256 << 10, 1 << 20));
        Allocator { heap: Box::leak(Box::new(heap)), cache: Box::leak(Box::new(Cache::new())) }
    }

    /// The same allocator, with another thread's cache.
    pub(super) fn elsewhere(self) -> Self {
        Allocator { cache: Box::leak(Box::new(Cache::new())), ..self }
    }

    pub(super) fn alloc(self, layout: Layout, want: Want) -> *mut u8 {
        let Some(place) = place(layout, Self::WORDS) else {
            return self.heap.alloc_large(layout.size(), layout.align(), want);
        };
        // SAFETY: the place is one of the cache's.
        let bin = unsafe { self.cache.bin(place) };
        let block = if bin.is_empty() {
            // SAFETY: the cache is this thread's, and this heap's.
            unsafe { self.cache.alloc_slow(self.heap, place) }
        } else {
            // SAFETY: the bin is not empty.
            unsafe { bin.pop() }
        };
        if want == Want::Zeros && !block.is_null() {
            // SAFETY: the block has that size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    /// # Safety
    ///
    /// As for `GlobalAlloc::dealloc`.
    pub(super) unsafe fn dealloc(self, block: *mut u8, layout: Layout) {
        let Some(place) = place(layout, Self::WORDS) else {
            // SAFETY: by this function's contract.
            return unsafe { self.heap.dealloc_large(block, layout.size(), layout.align()) };
        };
        // SAFETY: the place is one of the cache's.
        let bin = unsafe { self.cache.bin(place) };
        if bin.has_room() {
            // SAFETY: by this function's contract.
            unsafe { bin.push(block) };
        } else {
            // SAFETY: by this function's contract.
            unsafe { self.cache.dealloc_slow(self.heap, place, block) };
        }
    }

    /// # Safety
    ///
    /// As for `GlobalAlloc::realloc`.
    pub(super) unsafe fn realloc(self, block: *mut u8, layout: Layout, new: Layout) -> *mut u8 {
        let classes = [layout, new].map(|layout| place(layout, 1));
        if classes[0].is_some() && classes[0] == classes[1] {
            return block;
        }
        let (size, new_size, align) = (layout.size(), new.size(), layout.align());
        if classes == [None; 2] {
            // SAFETY: by this function's contract.
            let resized = unsafe { self.heap.resize_large(block, size, new_size, align) };
            if !resized.is_null() {
                return resized;
            }
        }
        let want = if size < new_size { Want::Growth } else { Want::Bytes };
        let moved = self.alloc(new, want);
        if !moved.is_null() {
            // SAFETY: both have at least that size.
            unsafe { moved.copy_from_nonoverlapping(block, size.min(new_size)) };
            // SAFETY: by this function's contract.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }

    pub(super) fn flush(self) {
        // SAFETY: the cache is this thread's, and this heap's.
        unsafe { self.cache.flush(self.heap) };
        self.heap.drain_depots();
    }

    pub(super) fn purge(self) {
        self.flush();
        self.heap.purge();
    }

    pub(super) fn stats(self) -> Stats<5> {
        self.heap.stats()
    }
}

/// The place of a request's class, as `Cache::bin` wants it.
fn place(layout: Layout, words: usize) -> Option<usize> {
    aligned_class(&CLASS_OF, layout.size(), layout.align()).map(|index| index * words)
}
