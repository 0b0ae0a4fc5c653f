//! Bins: what one thread holds for one class, and what happens when the loaded magazine runs out.
//!
//! The hit paths, [`Bin::is_empty`] with [`Bin::pop`] and [`Bin::is_full`] with [`Bin::push`], are
//! inlined into generated code. All else is cold.
//!
//! # Rules
//!
//! 1. A bin is used by its own thread only, and its magazines belong to it alone.
//! 2. `low <= top <= high`; the blocks from `low` up to `top` are free and the bin's. All three
//!    are null in a bin without a magazine: it is empty and full at once, so that both hit paths
//!    end in their slow halves and there need be no test whether the thread was here before.
//! 3. The spare magazine is full or empty, never in between.

#[cfg(all(test, loom))]
mod models;
mod spare;
#[cfg(all(test, not(loom)))]
mod tests;
mod unload;

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::{self, NonNull};

use crate::class::Class;
use crate::depot::{Depot, Depots, Given};
use crate::heap::Heap;
use crate::magazine::Magazine;
use crate::thread::Thread;
use spare::{PackedSpare, Spare};
use unload::retire;

/// One thread's free blocks of one class: what the hit paths touch, and nothing else.
#[repr(C)]
pub struct Bin {
    /// One past the block that the next alloc takes.
    top: Cell<*mut *mut u8>,
    /// First slot of the loaded magazine.
    low: Cell<*mut *mut u8>,
    /// One past its last slot.
    high: Cell<*mut *mut u8>,
}

const _: () =
    assert!(size_of::<Bin>() == 24, "three words: an index is scaled in two instructions");

/// Words of a bin.
pub const BIN_WORDS: usize = size_of::<Bin>() / size_of::<usize>();

/// One thread's bins for one allocator. Lives in thread-local storage, starts as all zeros, and
/// has no destructor.
#[repr(C)]
pub struct Cache<const N: usize> {
    bins: [Bin; N],
    spares: [Cell<PackedSpare>; N],
    thread: Thread,
}

impl<const N: usize> Cache<N> {
    /// A cache that holds nothing.
    #[must_use]
    pub const fn new() -> Self {
        Cache {
            bins: [const { Bin::new() }; N],
            spares: [const { Cell::new(PackedSpare::NONE) }; N],
            thread: Thread::new(),
        }
    }

    /// The bin at a place. Generated code counts places in words, [`BIN_WORDS`] for each class, so
    /// that a bin's fields are at a multiple of 8 that one instruction can add.
    ///
    /// # Safety
    ///
    /// `place` is [`BIN_WORDS`] times the number of a class, which is below `N`.
    #[inline(always)]
    pub unsafe fn bin(&self, place: usize) -> &Bin {
        // SAFETY: by this function's contract, the bin lies within the array.
        let bin = unsafe { self.bins.as_ptr().cast::<usize>().add(place).cast::<Bin>() };
        // SAFETY: as above.
        unsafe { &*bin }
    }

    /// Serves an alloc whose bin is empty; null when the system has no memory.
    ///
    /// # Safety
    ///
    /// 1. `place` is as for [`Cache::bin`], and the heap has `N` classes.
    /// 2. The cache is in this thread's storage, and used with this heap only.
    pub unsafe fn alloc_slow<D: Depots>(&self, heap: &'static Heap<D>, place: usize) -> *mut u8 {
        // SAFETY: by (1) and (2).
        let slow = unsafe { Slow::new(self, heap, place / BIN_WORDS) };
        let block = slow.alloc();
        heap.visit();
        if block.is_null() { slow.alloc_in_need() } else { block }
    }

    /// Serves a dealloc whose bin is full.
    ///
    /// # Safety
    ///
    /// 1. and 2. as for [`Cache::alloc_slow`].
    /// 3. `block` is of that class, owned by the caller, and not used after this call.
    pub unsafe fn dealloc_slow<D: Depots>(
        &self,
        heap: &'static Heap<D>,
        place: usize,
        block: *mut u8,
    ) {
        // SAFETY: by (1) and (2).
        let slow = unsafe { Slow::new(self, heap, place / BIN_WORDS) };
        // SAFETY: by (3).
        unsafe { slow.dealloc(block) };
        heap.visit();
    }

    /// Serves a request that no class serves, like [`Heap::alloc_large`]; if need be with all that
    /// this thread caches given back.
    ///
    /// # Safety
    ///
    /// As for [`Cache::alloc_slow`], number 2.
    pub unsafe fn alloc_large<D: Depots>(
        &self,
        heap: &'static Heap<D>,
        layout: Layout,
        zeroed: bool,
    ) -> *mut u8 {
        let (bytes, align) = (layout.size(), layout.align());
        let start = heap.alloc_large(bytes, align, zeroed);
        if !start.is_null() || !heap.is_possible(bytes, align) {
            return start;
        }
        // SAFETY: by this function's contract.
        unsafe { self.flush(heap) };
        heap.alloc_large(bytes, align, zeroed)
    }

    /// Gives all blocks of this thread's bins back to their slabs.
    ///
    /// # Safety
    ///
    /// As for [`Cache::alloc_slow`].
    pub unsafe fn flush<D: Depots>(&self, heap: &'static Heap<D>) {
        // SAFETY: by this function's contract; every allocator has a class.
        unsafe { Slow::new(self, heap, 0) }.unload_all();
    }
}

impl<const N: usize> Default for Cache<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl Bin {
    const fn new() -> Self {
        Bin {
            top: Cell::new(ptr::null_mut()),
            low: Cell::new(ptr::null_mut()),
            high: Cell::new(ptr::null_mut()),
        }
    }

    /// Whether the next alloc must go to [`Cache::alloc_slow`].
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.top.get() == self.low.get()
    }

    /// Whether the next dealloc must go to [`Cache::dealloc_slow`].
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.top.get() == self.high.get()
    }

    /// Takes a block; never null.
    ///
    /// # Safety
    ///
    /// The bin is not empty.
    #[inline(always)]
    pub unsafe fn pop(&self) -> *mut u8 {
        // SAFETY: not empty, so the slot lies in the loaded magazine (rule 2).
        let slot = unsafe { self.top.get().sub(1) };
        self.top.set(slot);
        // SAFETY: slots below the top hold blocks.
        let block = unsafe { slot.read() };
        // SAFETY: a block is never null. Saying so removes the caller's test for out of memory.
        unsafe { core::hint::assert_unchecked(!block.is_null()) };
        block
    }

    /// Puts a block.
    ///
    /// # Safety
    ///
    /// 1. The bin is not full.
    /// 2. `block` is a block of the bin's class, owned by the caller and not used after this call.
    #[inline(always)]
    pub unsafe fn push(&self, block: *mut u8) {
        let slot = self.top.get();
        // SAFETY: by (1) the slot lies in the loaded magazine (rule 2).
        unsafe { slot.write(block) };
        // SAFETY: as above, so one past it is at most `high`.
        self.top.set(unsafe { slot.add(1) });
    }

    /// Loads a magazine that holds `count` blocks. The one that was loaded is the caller's.
    fn load(&self, magazine: NonNull<Magazine>, slots: u32, count: usize) {
        let low = Magazine::slots(magazine);
        self.low.set(low);
        // SAFETY: a magazine has `slots` slots.
        self.high.set(unsafe { low.add(slots as usize) });
        // SAFETY: `count` is at most `slots`.
        self.top.set(unsafe { low.add(count) });
    }

    /// The loaded magazine.
    fn loaded(&self) -> Option<NonNull<Magazine>> {
        Some(Magazine::of(NonNull::new(self.low.get())?))
    }

    /// Makes it a bin without a loaded magazine.
    fn forget(&self) {
        self.low.set(ptr::null_mut());
        self.high.set(ptr::null_mut());
        self.top.set(ptr::null_mut());
    }

    /// The loaded magazine's blocks.
    ///
    /// # Safety
    ///
    /// The bin has a magazine and is not used while the slice is.
    unsafe fn blocks(&self) -> &[*mut u8] {
        let (low, top) = (self.low.get(), self.top.get());
        // SAFETY: both are in the loaded magazine, `low` first (rule 2).
        let count = unsafe { top.offset_from_unsigned(low) };
        // SAFETY: that many blocks stand there.
        unsafe { core::slice::from_raw_parts(low, count) }
    }
}

/// The bins of a cache, and the spare magazine of each.
type All<'a> = (&'a [Bin], &'a [Cell<PackedSpare>]);

/// A slow path under way: one bin, and all that serves it.
struct Slow<'a, D: Depots> {
    bin: &'a Bin,
    spare: &'a Cell<PackedSpare>,
    /// All bins of the cache, and their spares.
    all: All<'a>,
    thread: &'a Thread,
    heap: &'static Heap<D>,
    /// Which class, counted within a shard.
    index: usize,
    class: &'static Class,
    depot: Option<&'static Depot>,
}

impl<'a, D: Depots> Slow<'a, D> {
    /// # Safety
    ///
    /// As for [`Cache::alloc_slow`].
    unsafe fn new<const N: usize>(
        cache: &'a Cache<N>,
        heap: &'static Heap<D>,
        index: usize,
    ) -> Self {
        Self::of((&cache.bins, &cache.spares), &cache.thread, heap, index)
    }

    fn of(all: All<'a>, thread: &'a Thread, heap: &'static Heap<D>, index: usize) -> Self {
        let (class, depot) = heap.at(thread.shard.get() * heap.count + index);
        let (bin, spare) = (&all.0[index], &all.1[index]);
        Slow { bin, spare, all, thread, heap, index, class, depot }
    }

    fn slots(&self) -> u32 {
        self.class.size.slots
    }

    fn alloc(&self) -> *mut u8 {
        if let Spare::Full(spare) = self.spare.get().unpack()
            && let Some(loaded) = self.bin.loaded()
        {
            self.spare.set(PackedSpare::empty(loaded));
            self.bin.load(spare, self.slots(), self.slots() as usize);
        } else {
            let first_use = self.bin.low.get().is_null();
            let Some(loaded) = self.bin.loaded().or_else(|| self.equip()) else {
                return self.class.take_one();
            };
            self.fill(loaded, first_use);
            if self.bin.is_empty() {
                return ptr::null_mut();
            }
        }
        // SAFETY: not empty: a full magazine was loaded, or something was filled in.
        unsafe { self.bin.pop() }
    }

    /// The last try: with all that this thread and the depots hold given back.
    #[cold]
    fn alloc_in_need(&self) -> *mut u8 {
        self.unload_all();
        self.heap.scavenge();
        self.class.take_one()
    }

    /// Fills an empty bin from a depot, or from slabs; it stays empty without memory.
    fn fill(&self, loaded: NonNull<Magazine>, first_use: bool) {
        // SAFETY: if a full magazine comes, it is loaded in place of the empty one.
        let full = self.depot.and_then(|depot| unsafe { depot.take(loaded) });
        // SAFETY: as above.
        if let Some(full) = full.or_else(|| unsafe { self.take_elsewhere(loaded) }) {
            return self.bin.load(full, self.slots(), self.slots() as usize);
        }
        let size = &self.class.size;
        let wanted = if first_use { size.prewarm } else { size.refill };
        // SAFETY: a magazine has room for a refill or a prewarm (checked by `SizeClass::new`).
        let count = unsafe { self.class.take(wanted as usize, Magazine::slots(loaded)) };
        self.bin.load(loaded, self.slots(), count);
    }

    /// A full magazine of another shard's depot, for an empty one: what a thread of that shard
    /// frees, one of this shard may be allocating.
    ///
    /// # Safety
    ///
    /// As for [`Depot::take`].
    unsafe fn take_elsewhere(&self, empty: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        let shards = self.heap.shards();
        (1..shards).find_map(|step| {
            let shard = (self.thread.shard.get() + step) % shards;
            let (_, depot) = self.heap.at(shard * self.heap.count + self.index);
            let depot = depot.filter(|depot| depot.has_full())?;
            // SAFETY: by this function's contract.
            unsafe { depot.take(empty) }
        })
    }

    /// # Safety
    ///
    /// As for [`Cache::dealloc_slow`], number 3.
    unsafe fn dealloc(&self, block: *mut u8) {
        if self.make_room() {
            // SAFETY: there is room now, and the block is ours.
            unsafe { self.bin.push(block) };
        } else {
            // SAFETY: the block is ours.
            unsafe { self.class.give_back(&[block]) };
        }
    }

    /// Makes a full bin one that has room; false when this thread may not cache, or there is no
    /// memory for a magazine.
    fn make_room(&self) -> bool {
        let Some(loaded) = self.bin.loaded() else {
            return self.equip().is_some();
        };
        let empty = match self.spare.get().unpack() {
            Spare::Empty(spare) => Some(spare),
            Spare::None => self.new_magazine(),
            Spare::Full(spare) => self.exchange(spare),
        };
        if let Some(empty) = empty {
            self.spare.set(PackedSpare::full(loaded));
            self.bin.load(empty, self.slots(), 0);
        } else {
            // There is no second magazine to be had: work with one.
            // SAFETY: the loaded magazine is full, and empty afterwards.
            unsafe { self.give_back_full(loaded) };
            self.bin.load(loaded, self.slots(), 0);
        }
        true
    }

    /// An empty magazine for a full spare: from the depot, or the same with its blocks given back.
    fn exchange(&self, full: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        // SAFETY: the bin forgets the magazine if it is taken.
        if let Some(Given::Taken(empty)) = self.depot.map(|depot| unsafe { depot.give(full) }) {
            self.spare.set(PackedSpare::NONE);
            if empty.is_none() {
                self.refund_magazine();
            }
            return empty.or_else(|| self.new_magazine());
        }
        // SAFETY: the magazine is full, and the bin's.
        unsafe { self.give_back_full(full) };
        Some(full)
    }

    /// Gives the blocks of a full magazine back; it is empty then.
    ///
    /// # Safety
    ///
    /// The magazine is full and the caller's.
    unsafe fn give_back_full(&self, full: NonNull<Magazine>) {
        let slots = Magazine::slots(full);
        // SAFETY: a full magazine holds a block in each slot.
        let blocks = unsafe { core::slice::from_raw_parts(slots, self.slots() as usize) };
        // SAFETY: the blocks are the magazine's, which is ours.
        unsafe { self.class.give_back(blocks) };
    }

    /// An empty magazine, charged to the allocator; `None` at the limit of what threads may cache,
    /// or without memory.
    fn new_magazine(&self) -> Option<NonNull<Magazine>> {
        if !self.thread.charge(self.heap.account, self.magazine_bytes()) {
            return None;
        }
        let magazine = Magazine::new(self.slots() as usize);
        if magazine.is_none() {
            self.refund_magazine();
        }
        magazine
    }

    /// Bytes of the blocks that a magazine may hold.
    fn magazine_bytes(&self) -> usize {
        self.slots() as usize * self.class.size.bytes as usize
    }

    /// The thread has a magazine less.
    fn refund_magazine(&self) {
        self.thread.refund(self.heap.account, self.magazine_bytes());
    }

    /// Loads an empty magazine into a bin that has none; `None` when this thread may not cache,
    /// or there is no memory for one.
    #[cold]
    fn equip(&self) -> Option<NonNull<Magazine>> {
        if !self.thread.may_cache().unwrap_or_else(|| self.enter()) {
            return None;
        }
        let magazine = self.new_magazine()?;
        self.bin.load(magazine, self.slots(), 0);
        Some(magazine)
    }

    /// The thread's first use of this allocator. Its shard counts from the next slow path on.
    fn enter(&self) -> bool {
        self.heap.register();
        self.thread.shard.set(self.heap.next_shard());
        self.thread.heap.set(ptr::from_ref(self.heap).cast());
        self.thread.bins.set(self.all.0.as_ptr().cast());
        self.thread.spares.set(self.all.1.as_ptr().cast());
        self.thread.enter(retire::<D>)
    }
}
