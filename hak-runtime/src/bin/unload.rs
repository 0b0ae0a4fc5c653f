//! Emptying bins: when their thread ends, or their blocks are wanted elsewhere.

use core::cell::Cell;

use super::{Bin, PackedSpare, Slow, Spare};
use crate::depot::{Depots, Given};
use crate::heap::Heap;
use crate::magazine::Magazine;
use crate::thread::Thread;

impl<D: Depots> Slow<'_, D> {
    /// Unloads all bins of the cache.
    pub(super) fn unload_all(&self) {
        for index in 0..self.all.0.len() {
            Self::of(self.all, self.thread, self.heap, index).unload();
        }
    }

    /// Gives all blocks of the bin back and returns its magazines: it is as it was at first.
    pub(super) fn unload(&self) {
        if let Some(loaded) = self.bin.loaded() {
            // SAFETY: the bin has a magazine, and is not used before the next line is done.
            let blocks = unsafe { self.bin.blocks() };
            // SAFETY: the blocks are the bin's, which forgets them below.
            unsafe { self.class.give_back(blocks) };
            self.bin.forget();
            // SAFETY: the bin has forgotten the magazine.
            unsafe { Magazine::drop(loaded, self.slots() as usize) };
            self.refund_magazine();
        }
        match self.spare.replace(PackedSpare::NONE).unpack() {
            Spare::None => return,
            Spare::Empty(spare) => {
                // SAFETY: the bin has forgotten the magazine.
                unsafe { Magazine::drop(spare, self.slots() as usize) };
            }
            Spare::Full(spare) => {
                // SAFETY: the bin has forgotten the magazine, which is full.
                unsafe { self.class.give_back_magazine(spare) };
            }
        }
        self.refund_magazine();
    }

    /// Offers a full spare to the depot as it is, then unloads the bin.
    fn retire(&self) {
        if let Spare::Full(spare) = self.spare.get().unpack()
            && let Some(depot) = self.depot
            // SAFETY: the bin forgets the magazine if it is taken.
            && let Given::Taken(empty) = unsafe { depot.give(spare) }
        {
            self.spare.set(empty.map_or(PackedSpare::NONE, PackedSpare::empty));
            if empty.is_none() {
                self.refund_magazine();
            }
        }
        self.unload();
    }
}

/// Empties all bins of a thread that ends.
///
/// # Safety
///
/// `record` was entered by [`Slow::enter`] of the same `D` in this thread.
pub(super) unsafe fn retire<D: Depots>(record: *const Thread) {
    // SAFETY: by this function's contract.
    let thread = unsafe { &*record };
    // SAFETY: `enter` put the heap there.
    let heap: &'static Heap<D> = unsafe { &*thread.heap.get().cast() };
    let bins = thread.bins.get().cast::<Bin>();
    // SAFETY: `enter` put the cache's bins there, one for each class of a shard.
    let bins = unsafe { core::slice::from_raw_parts(bins, heap.count) };
    let spares = thread.spares.get().cast::<Cell<PackedSpare>>();
    // SAFETY: as above, their spares.
    let spares = unsafe { core::slice::from_raw_parts(spares, heap.count) };
    for index in 0..bins.len() {
        Slow::of((bins, spares), thread, heap, index).retire();
    }
}
