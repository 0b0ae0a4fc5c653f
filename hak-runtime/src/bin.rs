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

use core::cell::Cell;
use core::ptr::{self, NonNull};

use crate::class::Class;
use crate::depot::{Depots, Given};
use crate::heap::Heap;
use crate::magazine::Magazine;
use crate::thread::Thread;

/// One thread's free blocks of one class.
#[repr(C, align(32))]
pub struct Bin {
    /// One past the block that the next alloc takes.
    top: Cell<*mut *mut u8>,
    /// First slot of the loaded magazine.
    low: Cell<*mut *mut u8>,
    /// One past its last slot.
    high: Cell<*mut *mut u8>,
    spare: Cell<PackedSpare>,
}

/// The magazine that waits beside the loaded one, in one word.
#[derive(Clone, Copy)]
struct PackedSpare(*mut Magazine);

/// What a [`PackedSpare`] says.
enum Spare {
    None,
    Empty(NonNull<Magazine>),
    Full(NonNull<Magazine>),
}

impl PackedSpare {
    const NONE: PackedSpare = PackedSpare(ptr::null_mut());
    /// Added to the address of a full magazine; magazines are aligned to 64 bytes.
    const FULL: usize = 1;

    fn empty(magazine: NonNull<Magazine>) -> Self {
        PackedSpare(magazine.as_ptr())
    }

    fn full(magazine: NonNull<Magazine>) -> Self {
        PackedSpare(magazine.as_ptr().map_addr(|address| address | Self::FULL))
    }

    fn unpack(self) -> Spare {
        let is_full = self.0.addr() & Self::FULL != 0;
        match NonNull::new(self.0.map_addr(|address| address & !Self::FULL)) {
            None => Spare::None,
            Some(magazine) if is_full => Spare::Full(magazine),
            Some(magazine) => Spare::Empty(magazine),
        }
    }
}

const _: () = assert!(size_of::<Bin>() == 32, "a bin is half a cache line");

/// One thread's bins for one allocator. Lives in thread-local storage, starts as all zeros, and
/// has no destructor.
#[repr(C)]
pub struct Cache<const N: usize> {
    bins: [Bin; N],
    thread: Thread,
}

impl<const N: usize> Cache<N> {
    /// A cache that holds nothing.
    #[must_use]
    pub const fn new() -> Self {
        Cache { bins: [const { Bin::new() }; N], thread: Thread::new() }
    }

    /// The bin of a class.
    ///
    /// # Safety
    ///
    /// `class` is below `N`.
    #[inline(always)]
    pub unsafe fn bin(&self, class: usize) -> &Bin {
        // SAFETY: by this function's contract.
        unsafe { self.bins.get_unchecked(class) }
    }

    /// Serves an alloc whose bin is empty; null when the system has no memory.
    ///
    /// # Safety
    ///
    /// 1. `class` is below `N`, and the heap has `N` classes.
    /// 2. The cache is in this thread's storage, and used with this heap only.
    pub unsafe fn alloc_slow<D: Depots>(&self, heap: &'static Heap<D>, class: usize) -> *mut u8 {
        // SAFETY: by (1) and (2).
        let slow = unsafe { Slow::new(self, heap, class) };
        slow.alloc()
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
        class: usize,
        block: *mut u8,
    ) {
        // SAFETY: by (1) and (2).
        let slow = unsafe { Slow::new(self, heap, class) };
        // SAFETY: by (3).
        unsafe { slow.dealloc(block) };
    }

    /// Gives all blocks of this thread's bins back to their slabs.
    ///
    /// # Safety
    ///
    /// As for [`Cache::alloc_slow`].
    pub unsafe fn flush<D: Depots>(&self, heap: &'static Heap<D>) {
        for class in 0..N {
            // SAFETY: by this function's contract.
            let slow = unsafe { Slow::new(self, heap, class) };
            slow.unload();
        }
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
            spare: Cell::new(PackedSpare::NONE),
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

/// A slow path under way: one bin, and all that serves it.
struct Slow<'a, D: Depots> {
    bin: &'a Bin,
    /// All bins of the cache, for the thread's record.
    bins: &'a [Bin],
    thread: &'a Thread,
    heap: &'static Heap<D>,
    class: &'static Class,
    index: usize,
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
        // SAFETY: `index` is below `N`.
        let bin = unsafe { cache.bin(index) };
        // SAFETY: the heap has `N` classes.
        let class = unsafe { heap.classes.get_unchecked(index) };
        Slow { bin, bins: &cache.bins, thread: &cache.thread, heap, class, index }
    }

    fn slots(&self) -> u32 {
        self.class.size.slots
    }

    fn alloc(&self) -> *mut u8 {
        if let Spare::Full(spare) = self.bin.spare.get().unpack()
            && let Some(loaded) = self.bin.loaded()
        {
            self.bin.spare.set(PackedSpare::empty(loaded));
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

    /// Fills an empty bin from the depot, or from slabs; it stays empty without memory.
    fn fill(&self, loaded: NonNull<Magazine>, first_use: bool) {
        if let Some(depot) = self.heap.depots.of(self.index)
            // SAFETY: if a full magazine comes, it is loaded in place of the empty one.
            && let Some(full) = unsafe { depot.take(loaded) }
        {
            return self.bin.load(full, self.slots(), self.slots() as usize);
        }
        let size = &self.class.size;
        let wanted = if first_use { size.prewarm } else { size.refill };
        // SAFETY: a magazine has room for a refill or a prewarm (checked by `SizeClass::new`).
        let count = unsafe { self.class.take(wanted as usize, Magazine::slots(loaded)) };
        self.bin.load(loaded, self.slots(), count);
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
        let empty = match self.bin.spare.get().unpack() {
            Spare::Empty(spare) => Some(spare),
            Spare::None => Magazine::new(self.slots() as usize),
            Spare::Full(spare) => self.exchange(spare),
        };
        match empty {
            Some(empty) => {
                self.bin.spare.set(PackedSpare::full(loaded));
                self.bin.load(empty, self.slots(), 0);
                true
            }
            None => false,
        }
    }

    /// An empty magazine for a full one: from the depot, or the same with its blocks given back.
    fn exchange(&self, full: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        if let Some(depot) = self.heap.depots.of(self.index)
            // SAFETY: the bin forgets the magazine if it is taken.
            && let Given::Taken(empty) = unsafe { depot.give(full) }
        {
            self.bin.spare.set(PackedSpare::NONE);
            return empty.or_else(|| Magazine::new(self.slots() as usize));
        }
        let slots = Magazine::slots(full);
        // SAFETY: a full magazine holds a block in each slot.
        let blocks = unsafe { core::slice::from_raw_parts(slots, self.slots() as usize) };
        // SAFETY: the blocks are the magazine's, which is the bin's.
        unsafe { self.class.give_back(blocks) };
        Some(full)
    }

    /// Loads an empty magazine into a bin that has none; `None` when this thread may not cache,
    /// or there is no memory for one.
    #[cold]
    fn equip(&self) -> Option<NonNull<Magazine>> {
        self.thread.heap.set(ptr::from_ref(self.heap).cast());
        self.thread.bins.set(self.bins.as_ptr().cast());
        if !self.thread.may_cache(retire::<D>) {
            return None;
        }
        let magazine = Magazine::new(self.slots() as usize)?;
        self.bin.load(magazine, self.slots(), 0);
        Some(magazine)
    }

    /// Gives all blocks of the bin back and returns its magazines: it is as it was at first.
    fn unload(&self) {
        if let Some(loaded) = self.bin.loaded() {
            // SAFETY: the bin has a magazine, and is not used before the next line is done.
            let blocks = unsafe { self.bin.blocks() };
            // SAFETY: the blocks are the bin's, which forgets them below.
            unsafe { self.class.give_back(blocks) };
            // SAFETY: the bin forgets the magazine below.
            unsafe { Magazine::drop(loaded, self.slots() as usize) };
        }
        match self.bin.spare.replace(PackedSpare::NONE).unpack() {
            Spare::None => {}
            Spare::Empty(spare) => {
                // SAFETY: the bin has forgotten the magazine.
                unsafe { Magazine::drop(spare, self.slots() as usize) };
            }
            Spare::Full(spare) => {
                // SAFETY: the bin has forgotten the magazine, which is full.
                unsafe { self.class.give_back_magazine(spare) };
            }
        }
        self.bin.low.set(ptr::null_mut());
        self.bin.high.set(ptr::null_mut());
        self.bin.top.set(ptr::null_mut());
    }
}

/// Empties all bins of a thread that ends.
///
/// # Safety
///
/// `record` was entered by [`Slow::equip`] of the same `D` in this thread.
unsafe fn retire<D: Depots>(record: *const Thread) {
    // SAFETY: by this function's contract.
    let thread = unsafe { &*record };
    // SAFETY: `equip` put the heap there.
    let heap: &'static Heap<D> = unsafe { &*thread.heap.get().cast() };
    let bins = thread.bins.get().cast::<Bin>();
    // SAFETY: `equip` put the cache's bins there, one for each class of the heap.
    let bins = unsafe { core::slice::from_raw_parts(bins, heap.classes.len()) };
    for ((index, bin), class) in bins.iter().enumerate().zip(heap.classes) {
        let slow = Slow { bin, bins, thread, heap, class, index };
        // The depot may take a full spare as it is.
        if let Spare::Full(spare) = bin.spare.get().unpack()
            && let Some(depot) = heap.depots.of(index)
            // SAFETY: the bin forgets the magazine if it is taken.
            && let Given::Taken(empty) = unsafe { depot.give(spare) }
        {
            bin.spare.set(empty.map_or(PackedSpare::NONE, PackedSpare::empty));
        }
        slow.unload();
    }
}
