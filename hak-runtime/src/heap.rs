//! A heap: all that is process-wide of one allocator, and its way for large requests.

use core::ptr::{self, NonNull};

use crate::account::Account;
use crate::class::Class;
use crate::depot::{Depot, Depots};
use crate::fork::{Hooks, Member};
use crate::huge::Huge;
use crate::os;
use crate::parcel::Parcel;
use crate::purge;
use crate::span::{self, SPAN_BYTES_MAX};
use crate::superslab::UNIT_BYTES;
use crate::sync::Ordering;

/// Beyond what any machine's address space has: no use in freeing something for such a request.
const POSSIBLE_BYTES_MAX: usize = 1 << 47;

/// The classes and depots of one allocator, and its large allocations.
///
/// Classes and depots come in shards: copies of the whole list, each for some of the threads, so
/// that fewer threads meet at a lock. A slab belongs to the shard it was made for.
pub struct Heap<D: Depots> {
    pub(crate) account: &'static Account,
    /// Classes of one shard.
    pub(crate) count: usize,
    pub(crate) classes: &'static [Class],
    pub(crate) depots: &'static D,
    pub(crate) large: Large,
    member: Member,
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
    pub const fn new<const N: usize, const S: usize>(
        account: &'static Account,
        classes: &'static [[Class; N]; S],
        depots: &'static D,
        large: Large,
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
        if !self.account.is_registered.load(Ordering::Relaxed) {
            self.member.enter(self.account, self.hooks());
        }
    }

    /// Serves a request that no class serves; null when the system has no memory, or the
    /// allocator is at its limit.
    ///
    /// `align` is a power of two. A request of no bytes gets a span that is never touched.
    pub fn alloc_large(&'static self, bytes: usize, align: usize, zeroed: bool) -> *mut u8 {
        self.register();
        let bytes = bytes.max(1);
        let mut start = self.try_alloc_large(bytes, align, zeroed);
        if start.is_null() && self.is_possible(bytes, align) {
            self.scavenge();
            start = self.try_alloc_large(bytes, align, zeroed);
        }
        self.visit();
        start
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

    fn try_alloc_large(&self, bytes: usize, align: usize, zeroed: bool) -> *mut u8 {
        if !self.large.is_span(bytes, align) {
            let memory = self.large.huge.alloc(bytes, align, zeroed, self.account);
            return memory.map_or(ptr::null_mut(), NonNull::as_ptr);
        }
        let Some((start, clean)) = span::alloc(bytes, self.account) else {
            return ptr::null_mut();
        };
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
            unsafe { self.large.huge.free(start, bytes, self.account) };
        // SAFETY: by this function's contract.
        } else if !unsafe { span::free(start, bytes, self.account) } {
            self.account.die(format_args!("double free of {bytes}-byte span {start:p}"));
        }
        self.visit();
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
        let (huge, account) = (&self.large.huge, self.account);
        match (self.large.is_span(old_bytes, align), self.large.is_span(new_bytes, align)) {
            // SAFETY: by (1) and (2).
            (true, true) if unsafe { span::resize(place, old_bytes, new_bytes, account) } => start,
            (false, false) => {
                // SAFETY: by (1) and (2).
                let moved = unsafe { huge.resize(place, old_bytes, new_bytes, align, account) };
                moved.map_or(ptr::null_mut(), NonNull::as_ptr)
            }
            _ => ptr::null_mut(),
        }
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
        self.large.huge.trim_idle(self.account);
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
        self.large.huge.trim(self.account);
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
            lock_classes: lock_classes::<D>,
            lock_huge: lock_huge::<D>,
            unlock_classes: unlock_classes::<D>,
            unlock_huge: unlock_huge::<D>,
            drain_idle: drain_idle::<D>,
        }
    }
}

/// # Safety
///
/// For this and the next three: `heap` is a `Heap<D>`, and the caller is a fork handler that calls
/// them in order.
unsafe fn lock_classes<D: Depots>(heap: *const ()) {
    // SAFETY: by this function's contract.
    let heap = unsafe { &*heap.cast::<Heap<D>>() };
    (0..heap.classes.len()).filter_map(|place| heap.depots.of(place)).for_each(Depot::before_fork);
    heap.classes.iter().for_each(Class::before_fork);
}

/// # Safety
///
/// As for [`lock_classes`].
unsafe fn lock_huge<D: Depots>(heap: *const ()) {
    // SAFETY: by this function's contract.
    unsafe { &*heap.cast::<Heap<D>>() }.large.huge.before_fork();
}

/// # Safety
///
/// `heap` is a `Heap<D>`.
unsafe fn drain_idle<D: Depots>(heap: *const ()) {
    // SAFETY: by this function's contract.
    unsafe { &*heap.cast::<Heap<D>>() }.drain_idle();
}

/// # Safety
///
/// As for [`lock_classes`].
unsafe fn unlock_huge<D: Depots>(heap: *const ()) {
    // SAFETY: by this function's contract.
    let heap = unsafe { &*heap.cast::<Heap<D>>() };
    // SAFETY: follows `lock_huge`.
    unsafe { heap.large.huge.after_fork() };
}

/// # Safety
///
/// As for [`lock_classes`].
unsafe fn unlock_classes<D: Depots>(heap: *const ()) {
    // SAFETY: by this function's contract.
    let heap = unsafe { &*heap.cast::<Heap<D>>() };
    // SAFETY: follows `lock_classes`.
    heap.classes.iter().for_each(|class| unsafe { class.after_fork() });
    let depots = (0..heap.classes.len()).filter_map(|place| heap.depots.of(place));
    // SAFETY: as above.
    depots.for_each(|depot| unsafe { depot.after_fork() });
}
