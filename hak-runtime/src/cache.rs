//! Caches: all that one thread holds for one allocator, and what happens when a hit path misses.
//!
//! What stands in front (a magazine's array, a list) and what waits behind it is the cache's type,
//! so a layer that a spec leaves out has no code and no field. [`Slow`] is what all of them share;
//! `magazines`, `lists` and `layered` say what each does, `closed` what bins do at first.

mod closed;
mod layered;
mod lists;
mod magazines;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use core::ptr::{self, NonNull};

use crate::class::Class;
use crate::depot::{Depot, Depots, Given};
use crate::heap::Heap;
use crate::large::Larges;
use crate::parcel::Parcel;
use crate::span::Want;
use crate::spares::Bound;
use crate::thread::Thread;

/// What a thread has for each class: the hit paths' part. It starts as all zeros.
pub trait Front: Sized + 'static {
    /// What waits behind it.
    type Spares: 'static;
    /// What it exchanges with the depot.
    type Parcel: Parcel;

    /// Without a block, and without room.
    const NEW: Self;
    /// Nothing waits.
    const NO_SPARES: Self::Spares;

    #[doc(hidden)]
    /// Serves an alloc that found the front empty; null when the system has no memory.
    fn alloc<D: Depots<Parcel = Self::Parcel>, L: Larges>(slow: &Slow<'_, Self, D, L>) -> *mut u8;

    #[doc(hidden)]
    /// Serves a dealloc that found the front full.
    ///
    /// # Safety
    ///
    /// `block` is of the class, owned by the caller, and not used after this call.
    unsafe fn dealloc<D: Depots<Parcel = Self::Parcel>, L: Larges>(
        slow: &Slow<'_, Self, D, L>,
        block: NonNull<u8>,
    );

    #[doc(hidden)]
    /// Gives everything back: it is as it was at first.
    fn unload<D: Depots<Parcel = Self::Parcel>, L: Larges>(slow: &Slow<'_, Self, D, L>);

    #[doc(hidden)]
    /// A full parcel that waits; it is the caller's, and the front is no longer charged for it.
    fn release<D: Depots<Parcel = Self::Parcel>, L: Larges>(
        slow: &Slow<'_, Self, D, L>,
    ) -> Option<NonNull<u8>>;

    #[doc(hidden)]
    /// How many parcels may wait, and how many do.
    fn bound(spares: &Self::Spares) -> (&impl Bound, u8);
}

/// One thread's fronts for one allocator. Lives in thread-local storage, starts as all zeros, and
/// has no destructor.
#[repr(C)]
pub struct Cache<F: Front, const N: usize> {
    fronts: [F; N],
    spares: [F::Spares; N],
    thread: Thread,
}

impl<F: Front, const N: usize> Cache<F, N> {
    /// A cache that holds nothing.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        Cache {
            fronts: [const { F::NEW }; N],
            spares: [const { F::NO_SPARES }; N],
            thread: Thread::new(),
        }
    }

    /// The bin at a place. Generated code counts places in words, as many for each class as a bin
    /// has, so that a bin's fields are at a multiple of 8 that one instruction can add.
    ///
    /// # Safety
    ///
    /// `place` is the words of a bin times the number of a class, which is below `N`.
    #[inline(always)]
    pub unsafe fn bin(&self, place: usize) -> &F {
        // SAFETY: by this function's contract, the bin lies within the array.
        let bin = unsafe { self.fronts.as_ptr().cast::<usize>().add(place).cast::<F>() };
        // SAFETY: as above.
        unsafe { &*bin }
    }

    const WORDS: usize = size_of::<F>() / size_of::<usize>();

    /// Empties the cache, for good: its thread ends, or is gone.
    #[cfg(any(feature = "c", all(test, not(loom))))]
    pub fn end(&self) {
        self.thread.end();
    }

    /// Whether the thread has entered and not ended: what it does may be a hit.
    pub(crate) fn may_hit(&self) -> bool {
        self.thread.may_cache() == Some(true)
    }

    /// Serves an alloc whose bin is empty; null when the system has no memory.
    ///
    /// # Safety
    ///
    /// 1. `place` is as for [`Cache::bin`], and the heap has `N` classes.
    /// 2. The cache is in this thread's storage, and used with this heap only.
    pub unsafe fn alloc_slow<D: Depots<Parcel = F::Parcel>, L: Larges>(
        &self,
        heap: &'static Heap<D, L>,
        place: usize,
    ) -> *mut u8 {
        let slow = Slow::new(self, heap, place / Self::WORDS);
        let block = F::alloc(&slow);
        heap.visit();
        if block.is_null() { slow.alloc_in_need() } else { block }
    }

    /// Serves a dealloc whose bin is full.
    ///
    /// # Safety
    ///
    /// 1. and 2. as for [`Cache::alloc_slow`].
    /// 3. `block` is of that class, owned by the caller, and not used after this call.
    pub unsafe fn dealloc_slow<D: Depots<Parcel = F::Parcel>, L: Larges>(
        &self,
        heap: &'static Heap<D, L>,
        place: usize,
        block: *mut u8,
    ) {
        let Some(block) = NonNull::new(block) else { return };
        // SAFETY: by (3).
        unsafe { F::dealloc(&Slow::new(self, heap, place / Self::WORDS), block) };
        heap.visit();
    }

    /// Serves a request that no class serves, like [`Heap::alloc_large`]; if need be with all that
    /// this thread caches given back.
    ///
    /// # Safety
    ///
    /// As for [`Cache::alloc_slow`], number 2.
    pub unsafe fn alloc_large<D: Depots<Parcel = F::Parcel>, L: Larges>(
        &self,
        heap: &'static Heap<D, L>,
        bytes: usize,
        align: usize,
        want: Want,
    ) -> *mut u8 {
        let start = heap.alloc_large(bytes, align, want);
        if !start.is_null() || !heap.is_possible(bytes, align) {
            return start;
        }
        // SAFETY: by this function's contract.
        unsafe { self.flush(heap) };
        heap.alloc_large(bytes, align, want)
    }

    /// Gives all blocks of this thread's bins back to their slabs.
    ///
    /// # Safety
    ///
    /// As for [`Cache::alloc_slow`].
    pub unsafe fn flush<D: Depots<Parcel = F::Parcel>, L: Larges>(
        &self,
        heap: &'static Heap<D, L>,
    ) {
        // Every allocator has a class.
        Slow::new(self, heap, 0).unload_all();
    }
}

/// A slow path under way: one class, and all that serves it.
pub struct Slow<'a, F: Front, D: Depots, L: Larges> {
    front: &'a F,
    spares: &'a F::Spares,
    /// All fronts of the cache, and their spares.
    all: (&'a [F], &'a [F::Spares]),
    thread: &'a Thread,
    heap: &'static Heap<D, L>,
    /// Which class, counted within a shard.
    index: usize,
    class: &'static Class,
    depot: Option<&'static Depot<D::Parcel>>,
}

impl<'a, F: Front, D: Depots<Parcel = F::Parcel>, L: Larges> Slow<'a, F, D, L> {
    fn new<const N: usize>(
        cache: &'a Cache<F, N>,
        heap: &'static Heap<D, L>,
        index: usize,
    ) -> Self {
        Self::of((&cache.fronts, &cache.spares), &cache.thread, heap, index)
    }

    fn of(
        all: (&'a [F], &'a [F::Spares]),
        thread: &'a Thread,
        heap: &'static Heap<D, L>,
        index: usize,
    ) -> Self {
        let (class, depot) = heap.at(thread.shard.get() * heap.count + index);
        let (front, spares) = (&all.0[index], &all.1[index]);
        Slow { front, spares, all, thread, heap, index, class, depot }
    }

    /// The same slow path, for another class.
    fn at(&self, index: usize) -> Self {
        Self::of(self.all, self.thread, self.heap, index)
    }

    fn slots(&self) -> u32 {
        self.class.size.slots
    }

    /// Blocks to fetch from slabs.
    fn wanted(&self, first_use: bool) -> usize {
        let size = &self.class.size;
        (if first_use { size.prewarm } else { size.refill }) as usize
    }

    /// The last try: with all that this thread and the depots hold given back.
    #[cold]
    fn alloc_in_need(&self) -> *mut u8 {
        self.unload_all();
        self.heap.scavenge();
        self.class.take_one()
    }

    fn unload_all(&self) {
        (0..self.all.0.len()).for_each(|index| F::unload(&self.at(index)));
    }

    /// A full parcel from the depot, for an empty magazine or nothing. It is a miss of what waits
    /// behind this bin.
    ///
    /// # Safety
    ///
    /// If there is one, no one uses `empty` after this call.
    unsafe fn take_parcel(&self, empty: Option<NonNull<u8>>) -> Option<NonNull<u8>> {
        F::bound(self.spares).0.missed();
        self.look_around();
        // SAFETY: by this function's contract.
        let full = self.depot.and_then(|depot| unsafe { depot.take(empty) });
        // SAFETY: as above, and none was taken.
        full.or_else(|| unsafe { self.take_elsewhere(empty) })
    }

    /// A full parcel of another shard's depot: what a thread of that shard frees, one of this shard
    /// may be allocating.
    ///
    /// # Safety
    ///
    /// As for [`Slow::take_parcel`].
    unsafe fn take_elsewhere(&self, empty: Option<NonNull<u8>>) -> Option<NonNull<u8>> {
        let shards = self.heap.shards();
        (1..shards).find_map(|step| {
            let shard = (self.thread.shard.get() + step) % shards;
            let (_, depot) = self.heap.at(shard * self.heap.count + self.index);
            let depot = depot.filter(|depot| depot.has_full())?;
            // SAFETY: by this function's contract.
            unsafe { depot.take(empty) }
        })
    }

    /// Offers a full parcel that is too many to the depot.
    ///
    /// # Safety
    ///
    /// The parcel is full and the caller's; if it is taken, no one uses it after this call.
    unsafe fn give_parcel(&self, full: NonNull<u8>) -> Given {
        F::bound(self.spares).0.overflowed();
        self.look_around();
        // SAFETY: by this function's contract.
        self.depot.map_or(Given::Refused, |depot| unsafe { depot.give(full) })
    }

    /// Lets the bound of one other class fall if that class rests, where bounds are adaptive.
    fn look_around(&self) {
        let Some(distance) = F::bound(self.spares).0.looks_at() else { return };
        let index = (self.index + distance) % self.all.0.len();
        if index == self.index {
            return;
        }
        let other = self.at(index);
        F::bound(other.spares).0.rest();
        while let (bound, held) = F::bound(other.spares)
            && held > bound.most()
            && let Some(full) = F::release(&other)
        {
            // SAFETY: the parcel was released.
            unsafe { other.hand_over(full) };
        }
    }

    /// Gives a released parcel to the depot, or its blocks to their slabs.
    ///
    /// # Safety
    ///
    /// The parcel is full and the caller's, who has not been charged for it.
    unsafe fn hand_over(&self, full: NonNull<u8>) {
        // SAFETY: by this function's contract.
        match self.depot.map_or(Given::Refused, |depot| unsafe { depot.give(full) }) {
            // SAFETY: by this function's contract.
            Given::Refused => unsafe { D::Parcel::give_back(full, self.class) },
            // SAFETY: the depot gives magazines of its class away, and has forgotten this one.
            Given::Taken(Some(empty)) => unsafe { D::Parcel::drop_empty(empty, self.class) },
            Given::Taken(None) => {}
        }
    }

    /// Offers what waits to the depot as it is, then gives all else back: the thread ends.
    fn retire(&self) {
        while let Some(full) = F::release(self) {
            // SAFETY: the parcel was released.
            unsafe { self.hand_over(full) };
        }
        F::unload(self);
    }

    /// Charges a full parcel's blocks; false, and nothing is charged, at the limit.
    fn charge(&self, blocks: usize) -> bool {
        self.thread.charge(self.heap.account, blocks * self.class.size.bytes as usize)
    }

    /// Takes the charge of a parcel back.
    fn refund(&self, blocks: usize) {
        self.thread.refund(self.heap.account, blocks * self.class.size.bytes as usize);
    }

    /// Whether this thread may cache blocks.
    fn may_cache(&self) -> bool {
        self.thread.may_cache().unwrap_or_else(|| self.enter())
    }

    /// The thread's first use of this allocator. Its shard counts from the next slow path on.
    #[cold]
    fn enter(&self) -> bool {
        self.thread.shard.set(self.heap.next_shard());
        self.thread.heap.set(ptr::from_ref(self.heap).cast());
        self.thread.bins.set(self.all.0.as_ptr().cast());
        self.thread.spares.set(self.all.1.as_ptr().cast());
        self.thread.enter(|| self.heap.register(), retire::<F, D, L>)
    }
}

/// Empties all bins of a thread that ends.
///
/// # Safety
///
/// `record` was entered by [`Slow::enter`] of the same types in this thread.
unsafe fn retire<F: Front, D: Depots<Parcel = F::Parcel>, L: Larges>(record: *const Thread) {
    // SAFETY: by this function's contract.
    let thread = unsafe { &*record };
    // SAFETY: `enter` put the heap there.
    let heap: &'static Heap<D, L> = unsafe { &*thread.heap.get().cast() };
    // SAFETY: `enter` put the cache's fronts there, one for each class of a shard.
    let fronts = unsafe { core::slice::from_raw_parts(thread.bins.get().cast::<F>(), heap.count) };
    let spares = thread.spares.get().cast::<F::Spares>();
    // SAFETY: as above, their spares.
    let spares = unsafe { core::slice::from_raw_parts(spares, heap.count) };
    for index in 0..fronts.len() {
        Slow::of((fronts, spares), thread, heap, index).retire();
    }
}
