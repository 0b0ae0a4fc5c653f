//! A heap: all that is process-wide of one allocator, and its way for large requests.

#[cfg(all(test, not(loom)))]
mod tests;

use core::ptr::{self, NonNull};

use crate::account::Account;
use crate::class::{self, Class, Found};
use crate::depot::{Depot, Depots};
use crate::fork::{Hooks, Member};
use crate::large::{Large, Larges};
use crate::misuse::{Block, Request};
use crate::os;
use crate::parcel::Parcel;
use crate::purge;
use crate::span::Want;
use crate::superslab;
use crate::sync::Ordering;

/// Beyond what any machine's address space has: no use in freeing something for such a request.
const POSSIBLE_BYTES_MAX: usize = 1 << 47;

/// The classes and depots of one allocator, and its large allocations.
///
/// Classes and depots come in shards: copies of the whole list, each for some of the threads, so
/// that fewer threads meet at a lock. A slab belongs to the shard it was made for.
pub struct Heap<D: Depots, L: Larges = Large> {
    pub(crate) account: &'static Account,
    /// Classes of one shard.
    pub(crate) count: usize,
    pub(crate) classes: &'static [Class],
    pub(crate) depots: &'static D,
    pub(crate) large: L,
    member: Member,
}

impl<D: Depots, L: Larges> Heap<D, L> {
    /// A heap that holds nothing yet.
    #[must_use]
    pub const fn new<const N: usize, const S: usize>(
        account: &'static Account,
        classes: &'static [[Class; N]; S],
        depots: &'static D,
        large: L,
    ) -> Self {
        let classes = classes.as_flattened();
        Heap { account, count: N, classes, depots, large, member: Member::new() }
    }

    /// Copies of the list of classes.
    pub(crate) fn shards(&self) -> usize {
        self.classes.len() / self.count
    }

    /// The shard of a thread that enters: one after the other.
    pub(crate) fn next_shard(&self) -> usize {
        let by_processors = self.account.terms.shards_by_processors;
        let most = if by_processors { os::processors() } else { usize::MAX };
        self.account.next_thread() % self.shards().min(most)
    }

    /// The class at a place, and its depot.
    pub(crate) fn at(&self, place: usize) -> (&'static Class, Option<&'static Depot<D::Parcel>>) {
        (&self.classes[place], self.depots.of(place))
    }

    /// Makes the heap known to the process, if it is not.
    #[inline]
    pub(crate) fn register(&'static self) {
        if !self.account.is_registered.load(Ordering::Acquire) {
            let Account { is_registered, terms, .. } = self.account;
            self.member.enter(is_registered, terms.on_register, self.hooks());
        }
    }

    /// Serves a request that no class serves; null when the system has no memory, or the
    /// allocator is at its limit.
    ///
    /// `align` is a power of two. A request of no bytes gets a span that is never touched.
    pub fn alloc_large(&'static self, bytes: usize, align: usize, want: Want) -> *mut u8 {
        self.register();
        let request = Request { bytes, align };
        let mut start = self.large.alloc(request, want, self.account);
        if start.is_none() && self.is_possible(bytes, align) {
            self.scavenge();
            start = self.large.alloc(request, want, self.account);
        }
        self.visit();
        start.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    /// Whether freeing something may help a request.
    pub(crate) fn is_possible(&self, bytes: usize, align: usize) -> bool {
        let most = self.account.terms.limit.min(POSSIBLE_BYTES_MAX);
        bytes <= most && align <= POSSIBLE_BYTES_MAX
    }

    /// Returns some of the memory that is due to go back. Called without locks, on slow paths.
    #[inline]
    pub(crate) fn visit(&self) {
        purge::visit(self.account, || self.drain_idle());
    }

    /// Takes back what [`Heap::alloc_large`] gave.
    ///
    /// # Safety
    ///
    /// `start` came from this heap for `bytes` and `align`, and no one uses it after this call.
    pub unsafe fn dealloc_large(&self, start: *mut u8, bytes: usize, align: usize) {
        let Some(start) = NonNull::new(start) else { return self.large.null(self.account) };
        let (request, small) = (Request { bytes, align }, |at| self.small_block(at));
        // SAFETY: by this function's contract.
        unsafe { self.large.dealloc(start, request, self.account, small) };
        self.visit();
    }

    /// Resizes a large allocation where it is, or by moving it to where it may grow on: its new
    /// place, or null, which leaves it as it was. The new size, too, is one that no class serves.
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
        let Some(place) = NonNull::new(start) else {
            self.large.null(self.account);
            return start;
        };
        let (request, small) = (Request { bytes: old_bytes, align }, |at| self.small_block(at));
        // SAFETY: by (1) and (2).
        let moved = unsafe { self.large.resize(place, request, new_bytes, self.account, small) };
        moved.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    /// Ends the process if a large block is not what it is said to be.
    ///
    /// # Safety
    ///
    /// As for [`Heap::dealloc_large`], but that the block stays the caller's.
    pub unsafe fn inspect_large(&self, start: *mut u8, bytes: usize, align: usize) {
        let Some(start) = NonNull::new(start) else { return self.large.null(self.account) };
        let (request, small) = (Request { bytes, align }, |at| self.small_block(at));
        // SAFETY: by this function's contract.
        unsafe { self.large.inspect(start, request, self.account, small) };
    }

    /// Bytes of a block of the class of this number.
    ///
    /// # Safety
    ///
    /// There is such a class.
    #[inline(always)]
    pub unsafe fn block_bytes(&self, number: usize) -> usize {
        // SAFETY: by this function's contract.
        unsafe { self.classes.get_unchecked(number) }.size.bytes as usize
    }

    /// The small block of this heap that an address lies in, for the words about a misuse.
    #[cold]
    fn small_block(&self, address: NonNull<u8>) -> Option<Block> {
        if !superslab::has(address) {
            return None;
        }
        // SAFETY: it lies in a superslab.
        let found = unsafe { self.find(address) }?;
        Some(Block { start: found.start, bytes: found.class.size.bytes as usize })
    }

    /// The block of this heap that an address lies in, in use or free.
    ///
    /// # Safety
    ///
    /// The address lies in a superslab.
    pub(crate) unsafe fn find(&self, address: NonNull<u8>) -> Option<Found> {
        // SAFETY: by this function's contract.
        let found = unsafe { class::find(address) }?;
        ptr::eq(found.class.account, self.account).then_some(found)
    }

    /// Gives the blocks of all depots back to their slabs.
    pub fn drain_depots(&self) {
        self.drain(|_| true);
    }

    /// Frees what is held for later, depots and kept mappings, if nobody used it since the last
    /// call.
    #[cold]
    fn drain_idle(&self) {
        self.drain(Depot::is_idle);
        self.large.trim_idle(self.account);
    }

    fn drain(&self, is_wanted: impl Fn(&Depot<D::Parcel>) -> bool) {
        for place in 0..self.classes.len() {
            let (class, Some(depot)) = self.at(place) else { continue };
            if !is_wanted(depot) {
                continue;
            }
            while let Some(full) = depot.drain_one() {
                // SAFETY: full parcels of a class's depot are of that class, and it is ours.
                unsafe { D::Parcel::give_back(full, class) };
            }
        }
    }

    /// Frees what is held for later: blocks in depots, whole slabs, kept mappings.
    pub(crate) fn scavenge(&self) {
        self.drain_depots();
        self.classes.iter().for_each(Class::trim);
        self.large.trim(self.account);
    }

    /// Returns all memory that no block is in to the system. What other threads cache stays.
    pub fn purge(&self) {
        self.scavenge();
        purge::purge_all(self.account);
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            heap: ptr::from_ref(self).cast(),
            account: self.account,
            lock_classes: lock_classes::<D, L>,
            lock_huge: lock_huge::<D, L>,
            unlock_classes: unlock_classes::<D, L>,
            unlock_huge: unlock_huge::<D, L>,
            drain_idle: drain_idle::<D, L>,
        }
    }
}

/// # Safety
///
/// For this and the next three: `heap` is a `Heap<D, L>`, and the caller is a fork handler that
/// calls them in order.
unsafe fn lock_classes<D: Depots, L: Larges>(heap: *const ()) {
    // SAFETY: by this function's contract.
    let heap = unsafe { &*heap.cast::<Heap<D, L>>() };
    (0..heap.classes.len()).filter_map(|place| heap.depots.of(place)).for_each(Depot::before_fork);
    heap.classes.iter().for_each(Class::before_fork);
}

/// # Safety
///
/// As for [`lock_classes`].
unsafe fn lock_huge<D: Depots, L: Larges>(heap: *const ()) {
    // SAFETY: by this function's contract.
    unsafe { &*heap.cast::<Heap<D, L>>() }.large.before_fork();
}

/// # Safety
///
/// `heap` is a `Heap<D, L>`.
unsafe fn drain_idle<D: Depots, L: Larges>(heap: *const ()) {
    // SAFETY: by this function's contract.
    unsafe { &*heap.cast::<Heap<D, L>>() }.drain_idle();
}

/// # Safety
///
/// As for [`lock_classes`].
unsafe fn unlock_huge<D: Depots, L: Larges>(heap: *const ()) {
    // SAFETY: by this function's contract.
    let heap = unsafe { &*heap.cast::<Heap<D, L>>() };
    // SAFETY: follows `lock_huge`.
    unsafe { heap.large.after_fork() };
}

/// # Safety
///
/// As for [`lock_classes`].
unsafe fn unlock_classes<D: Depots, L: Larges>(heap: *const ()) {
    // SAFETY: by this function's contract.
    let heap = unsafe { &*heap.cast::<Heap<D, L>>() };
    // SAFETY: follows `lock_classes`.
    heap.classes.iter().for_each(|class| unsafe { class.after_fork() });
    let depots = (0..heap.classes.len()).filter_map(|place| heap.depots.of(place));
    // SAFETY: as above.
    depots.for_each(|depot| unsafe { depot.after_fork() });
}
