//! Counts of what is allocated and freed, for specs that ask for `stats.counters`.
//!
//! A thread counts in memory of its own, with one plain addition for each operation. Whoever asks
//! adds up what the threads that live have counted, and the totals, which hold what ended threads
//! counted. An allocator without cache layers has no memory of threads; it counts in the totals.
//!
//! # Rules
//!
//! 1. A thread's counts are written by that thread alone, and read by others under the lock of the
//!    totals, while the counts are listed there. No memory depends on them, so all accesses are
//!    relaxed.
//! 2. They are listed from the thread's first slow path on, before its first hit, until it ends:
//!    then they move to the totals. Both happen under the lock, so no sum misses or repeats them.
//! 3. What a thread does while its counts are not listed (before its first slow path, and after
//!    its end) is no hit, and is counted in the totals.
//! 4. A forked child has only the thread that forked: entries of others leave its list before
//!    anything else is done with that. Entries stand in memory that is never unmapped, since the
//!    others' own memory may be gone or another thread's by then.

mod report;
#[cfg(all(test, not(loom)))]
mod tests;

use core::cell::Cell;
// Not modelled: no order of events is relied on.
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::arena;
use crate::cache::{Cache, Front};
use crate::depot::Depots;
use crate::fork::{self, Beside};
use crate::heap::Heap;
use crate::large::Larges;
use crate::local;
use crate::sync::Mutex;
use crate::thread::Thread;

pub use report::{ClassCounters, Counters, LargeCounters};

/// What is counted beside hits.
#[derive(Clone, Copy)]
enum Rare {
    /// An alloc that found no cached block.
    Miss,
    /// A dealloc that found no room in the cache.
    Overflow,
    /// An alloc that got nothing.
    Failure,
    /// A realloc that left the block where it was.
    Resize,
}

const RARE: usize = 4;
/// Kinds of hits: allocs and deallocs.
const HITS: usize = 2;

/// One of a thread's counters goes up. No other thread writes it, so no bus lock is needed.
#[inline(always)]
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// What one thread counts. Lives in thread-local storage, and has no destructor.
///
/// `W` is the words of what the thread's cache has in front for a class. Hits are counted at the
/// same places, so that a hit path has nothing to reckon.
#[repr(C)]
pub struct Counts<const W: usize, const N: usize> {
    hits: [[AtomicU64; W]; N],
    rare: [[AtomicU64; RARE]; N],
    is_listed: Cell<bool>,
    thread: Thread,
}

impl<const W: usize, const N: usize> Counts<W, N> {
    /// Nothing is counted yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        assert!(W >= HITS, "allocs and deallocs have a word each");
        Counts {
            hits: [const { [const { AtomicU64::new(0) }; W] }; N],
            rare: [const { [const { AtomicU64::new(0) }; RARE] }; N],
            is_listed: Cell::new(false),
            thread: Thread::new(),
        }
    }

    /// Counts an alloc that the cache served.
    ///
    /// # Safety
    ///
    /// `place` is a place of the thread's cache: `W` times the number of a class.
    #[inline(always)]
    pub unsafe fn alloc_hit(&self, place: usize) {
        // SAFETY: by this function's contract; the first word of a class.
        unsafe { self.hit(place) };
    }

    /// Counts a dealloc that the cache took.
    ///
    /// # Safety
    ///
    /// As for [`Counts::alloc_hit`].
    #[inline(always)]
    pub unsafe fn dealloc_hit(&self, place: usize) {
        // SAFETY: by this function's contract; the second word of a class.
        unsafe { self.hit(place + 1) };
    }

    /// # Safety
    ///
    /// `word` is below `N` times `W`.
    #[inline(always)]
    unsafe fn hit(&self, word: usize) {
        // SAFETY: by this function's contract.
        let counter = unsafe { self.hits.as_ptr().cast::<AtomicU64>().add(word) };
        // SAFETY: it is one of the counters.
        count(unsafe { &*counter });
    }

    /// Counts an alloc that took a slow path, and what came of it.
    ///
    /// # Safety
    ///
    /// The counts and the cache are in this thread's storage, and used with these totals only.
    pub unsafe fn missed<F: Front>(
        &self,
        totals: &'static CountTotals<W, N>,
        cache: &Cache<F, N>,
        place: usize,
        block: *mut u8,
    ) {
        let is_listed = self.is_listed(totals, cache);
        self.rare(totals, is_listed, place / W, Rare::Miss);
        if block.is_null() {
            self.rare(totals, is_listed, place / W, Rare::Failure);
        }
    }

    /// Counts a dealloc that took a slow path.
    ///
    /// # Safety
    ///
    /// As for [`Counts::missed`].
    pub unsafe fn overflowed<F: Front>(
        &self,
        totals: &'static CountTotals<W, N>,
        cache: &Cache<F, N>,
        place: usize,
    ) {
        self.rare(totals, self.is_listed(totals, cache), place / W, Rare::Overflow);
    }

    /// Counts a dealloc whose block waits: what leaves for it was counted when it was freed.
    ///
    /// # Safety
    ///
    /// As for [`Counts::missed`].
    pub unsafe fn freed<F: Front>(
        &self,
        totals: &'static CountTotals<W, N>,
        cache: &Cache<F, N>,
        place: usize,
    ) {
        if self.is_listed(totals, cache) {
            // SAFETY: by this function's contract.
            unsafe { self.dealloc_hit(place) };
        } else {
            totals.dealloc(place / W);
        }
    }

    /// Counts a realloc that left its block where it was.
    #[inline]
    pub fn resized(&self, totals: &CountTotals<W, N>, place: usize) {
        self.rare(totals, self.is_listed.get(), place / W, Rare::Resize);
    }

    #[inline]
    fn rare(&self, totals: &CountTotals<W, N>, is_listed: bool, class: usize, what: Rare) {
        match self.rare.get(class).filter(|_| is_listed) {
            Some(own) => count(&own[what as usize]),
            None => totals.rare(class, what),
        }
    }

    /// Whether these counts are listed; they are from the first call on in a thread that caches.
    fn is_listed<F: Front>(&self, totals: &'static CountTotals<W, N>, cache: &Cache<F, N>) -> bool {
        self.is_listed.get() || (cache.may_hit() && self.enter(totals))
    }

    /// Lists these counts. False when there is no memory for the entry: then the next slow path
    /// tries again, and the hits until then count with those after it.
    #[cold]
    fn enter(&self, totals: &'static CountTotals<W, N>) -> bool {
        if self.thread.may_cache() == Some(false) {
            return false;
        }
        let Some(entry) = arena::alloc(size_of::<Entry<W, N>>()) else { return false };
        let entry = entry.cast::<Entry<W, N>>();
        self.thread.heap.set(ptr::from_ref(totals).cast());
        self.thread.bins.set(ptr::from_ref(self).cast());
        // The cache entered before, with the same key, so this is not refused.
        if !self.thread.enter(|| totals.enter_forks(), retire::<W, N>) {
            // SAFETY: it came from `arena::alloc`, and was given to no one.
            unsafe { arena::free(entry.cast(), size_of::<Entry<W, N>>()) };
            return false;
        }
        let mut listed = totals.listed.lock();
        listed.forget_lost(totals);
        // SAFETY: the entry is ours, and has room for one.
        unsafe { entry.write(Entry { owner: local::id(), counts: self, next: listed.first }) };
        listed.first = Some(entry);
        self.is_listed.set(true);
        true
    }

    /// Moves what was counted to the totals, and leaves the list.
    fn leave(&self, totals: &CountTotals<W, N>) {
        let mut listed = totals.listed.lock();
        listed.forget_lost(totals);
        listed.retain(|entry| !ptr::eq(entry.counts, self));
        self.is_listed.set(false);
        for class in 0..N {
            let own = self.hits[class][..HITS].iter().chain(&self.rare[class]);
            for (own, total) in own.zip(&totals.classes[class]) {
                total.fetch_add(own.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }
}

/// Ends the counts of a thread that ends.
///
/// # Safety
///
/// `record` was entered by [`Counts::enter`] of the same type in this thread.
unsafe fn retire<const W: usize, const N: usize>(record: *const Thread) {
    // SAFETY: by this function's contract.
    let thread = unsafe { &*record };
    // SAFETY: `enter` put the totals there, which are a static.
    let totals = unsafe { &*thread.heap.get().cast::<CountTotals<W, N>>() };
    // SAFETY: `enter` put the counts there, which are the thread's own.
    unsafe { &*thread.bins.get().cast::<Counts<W, N>>() }.leave(totals);
}

/// A thread's counts in the list.
struct Entry<const W: usize, const N: usize> {
    /// Whose they are, by [`local::id`].
    owner: usize,
    counts: *const Counts<W, N>,
    next: Option<NonNull<Entry<W, N>>>,
}

/// The counts of the threads that live.
struct Listed<const W: usize, const N: usize> {
    first: Option<NonNull<Entry<W, N>>>,
    /// How often the process had been forked when lost threads were last looked for.
    forks: u32,
}

// SAFETY: entries belong to the list; the counts in them are read as rule 1 says.
unsafe impl<const W: usize, const N: usize> Send for Listed<W, N> {}

impl<const W: usize, const N: usize> Listed<W, N> {
    /// Drops the entries of threads that a fork left behind (rule 4).
    fn forget_lost(&mut self, totals: &CountTotals<W, N>) {
        if self.forks != fork::count() {
            self.forks = fork::count();
            let survivor = totals.forking.load(Ordering::Relaxed);
            self.retain(|entry| entry.owner == survivor);
        }
    }

    fn retain(&mut self, is_wanted: impl Fn(&Entry<W, N>) -> bool) {
        let mut next = self.first.take();
        while let Some(mut entry) = next {
            // SAFETY: entries are the list's, and initialised.
            let seen = unsafe { entry.as_mut() };
            next = seen.next;
            if is_wanted(seen) {
                seen.next = self.first.replace(entry);
            } else {
                // SAFETY: it came from `arena::alloc` with this size, and is in no list now.
                unsafe { arena::free(entry.cast(), size_of::<Entry<W, N>>()) };
            }
        }
    }

    /// Adds one class's counts of all threads to `sums`: hits, then the rest.
    fn add_class(&self, class: usize, sums: &mut [u64; HITS + RARE]) {
        let mut next = self.first;
        while let Some(entry) = next {
            // SAFETY: entries are the list's, and initialised.
            let entry = unsafe { entry.as_ref() };
            // SAFETY: the thread lives, since it takes the list's lock to end.
            let counts = unsafe { &*entry.counts };
            let all = counts.hits[class][..HITS].iter().chain(&counts.rare[class]);
            for (sum, counter) in sums.iter_mut().zip(all) {
                *sum += counter.load(Ordering::Relaxed);
            }
            next = entry.next;
        }
    }
}

/// What all threads of an allocator have counted.
pub struct CountTotals<const W: usize, const N: usize> {
    /// Of each class, in the order of the heap: hits of allocs and of deallocs, then [`Rare`].
    classes: [[AtomicU64; HITS + RARE]; N],
    /// The same of requests above all classes: each alloc and each dealloc is a hit here.
    large: [AtomicU64; HITS + RARE],
    listed: Mutex<Listed<W, N>>,
    /// Which thread forked last, by [`local::id`].
    forking: AtomicUsize,
    beside: Beside,
}

impl<const W: usize, const N: usize> CountTotals<W, N> {
    /// Nothing is counted yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        CountTotals {
            classes: [const { [const { AtomicU64::new(0) }; HITS + RARE] }; N],
            large: [const { AtomicU64::new(0) }; HITS + RARE],
            listed: Mutex::new(Listed { first: None, forks: 0 }),
            forking: AtomicUsize::new(0),
            beside: Beside::new(),
        }
    }

    fn rare(&self, class: usize, what: Rare) {
        if let Some(counters) = self.classes.get(class) {
            counters[HITS + what as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts an alloc of an allocator without cache layers, and what came of it.
    pub fn alloc(&self, class: usize, block: *mut u8) {
        count_alloc(&self.classes[class], block);
    }

    /// Counts a dealloc of an allocator without cache layers.
    pub fn dealloc(&self, class: usize) {
        self.classes[class][1].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a realloc in place of an allocator without cache layers.
    pub fn resized(&self, class: usize) {
        self.rare(class, Rare::Resize);
    }

    /// Counts an alloc above all classes, and what came of it.
    pub fn alloc_large(&self, start: *mut u8) {
        count_alloc(&self.large, start);
    }

    /// Counts a dealloc above all classes.
    pub fn dealloc_large(&self) {
        self.large[1].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a realloc above all classes that copied nothing.
    pub fn resized_large(&self) {
        self.large[HITS + Rare::Resize as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted until now. Takes locks for a moment each, and allocates nothing.
    pub fn counters<D: Depots, L: Larges>(&'static self, heap: &'static Heap<D, L>) -> Counters<N> {
        // Else a child may have the lock as another thread left it.
        self.enter_forks();
        let load = |counters: &[AtomicU64; HITS + RARE]| {
            counters.each_ref().map(|counter| counter.load(Ordering::Relaxed))
        };
        let mut sums = [[0; HITS + RARE]; N];
        {
            let mut listed = self.listed.lock();
            listed.forget_lost(self);
            for (class, sum) in sums.iter_mut().enumerate() {
                *sum = load(&self.classes[class]);
                listed.add_class(class, sum);
            }
        }
        Counters::new(heap, &sums, load(&self.large))
    }

    fn enter_forks(&'static self) {
        self.beside.enter(ptr::from_ref(self).cast(), before_fork::<W, N>, after_fork::<W, N>);
    }
}

fn count_alloc(counters: &[AtomicU64; HITS + RARE], block: *mut u8) {
    counters[0].fetch_add(1, Ordering::Relaxed);
    if block.is_null() {
        counters[HITS + Rare::Failure as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// # Safety
///
/// `totals` are of this type, and the caller is a fork handler.
unsafe fn before_fork<const W: usize, const N: usize>(totals: *const ()) {
    // SAFETY: by this function's contract.
    let totals = unsafe { &*totals.cast::<CountTotals<W, N>>() };
    totals.listed.before_fork();
    if let Some(mut listed) = totals.listed.value_for_fork() {
        // SAFETY: the lock is held for the fork, and there is no guard.
        unsafe { listed.as_mut() }.forget_lost(totals);
    }
    totals.forking.store(local::id(), Ordering::Relaxed);
}

/// # Safety
///
/// Follows [`before_fork`] with the same totals, in the same thread or its copy.
unsafe fn after_fork<const W: usize, const N: usize>(totals: *const ()) {
    // SAFETY: by this function's contract.
    let totals = unsafe { &*totals.cast::<CountTotals<W, N>>() };
    // SAFETY: as above.
    unsafe { totals.listed.after_fork() };
}
