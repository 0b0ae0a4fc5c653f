//! Counts of threads that come and go. Allocators as a whole are in the top-level tests.

use std::sync::Barrier;

use super::*;
use crate::account::Account;
use crate::bin::Bin;
use crate::class::{Class, classes};
use crate::depot::NoDepot;
use crate::large::Large;
use crate::size_class::SizeClass;

const SIZES: [SizeClass; 2] =
    [SizeClass::new([64, 4, 4, 4, 0], [1, 1024]), SizeClass::new([128, 4, 4, 4, 0], [1, 512])];

type Totals = CountTotals<3, 2>;

/// An allocator of a test: its heap and its totals.
struct Subject {
    heap: &'static Heap<NoDepot>,
    totals: &'static Totals,
}

fn subject() -> Subject {
    let account = Account::for_test();
    let classes: &'static [[Class; 2]; 1] = Box::leak(Box::new([classes(account, SIZES)]));
    let depots = Box::leak(Box::new(NoDepot::new()));
    let heap = Heap::new(account, classes, depots, Large::new(0, 0));
    Subject { heap: Box::leak(Box::new(heap)), totals: Box::leak(Box::new(Totals::new())) }
}

/// What a thread has for it.
struct Own {
    cache: &'static Cache<Bin, 2>,
    counts: &'static Counts<3, 2>,
}

impl Subject {
    /// Leaked, since it is to outlive the thread's last destructors.
    fn own() -> Own {
        Own { cache: Box::leak(Box::new(Cache::new())), counts: Box::leak(Box::new(Counts::new())) }
    }

    /// As generated code allocates.
    fn alloc(&self, own: &Own, place: usize) -> *mut u8 {
        // SAFETY: the place is that of a class.
        let bin = unsafe { own.cache.bin(place) };
        if bin.is_empty() {
            // SAFETY: as above, and the cache is this thread's.
            let block = unsafe { own.cache.alloc_slow(self.heap, place) };
            // SAFETY: as above.
            unsafe { own.counts.missed(self.totals, own.cache, place, block) };
            return block;
        }
        // SAFETY: as above.
        unsafe { own.counts.alloc_hit(place) };
        // SAFETY: it is not empty.
        unsafe { bin.pop() }
    }

    /// As generated code frees.
    fn dealloc(&self, own: &Own, place: usize, block: *mut u8) {
        // SAFETY: the place is that of a class.
        let bin = unsafe { own.cache.bin(place) };
        if bin.is_full() {
            // SAFETY: as above, the cache is this thread's, and the block is not used again.
            unsafe { own.cache.dealloc_slow(self.heap, place, block) };
            // SAFETY: as above.
            return unsafe { own.counts.overflowed(self.totals, own.cache, place) };
        }
        // SAFETY: as above.
        unsafe { own.counts.dealloc_hit(place) };
        // SAFETY: there is room.
        unsafe { bin.push(block) };
    }

    fn pairs(&self, own: &Own, place: usize, number: usize) {
        for _ in 0..number {
            let block = self.alloc(own, place);
            self.dealloc(own, place, block);
        }
    }

    fn seen(&self) -> [(u64, u64); 2] {
        self.totals.counters(self.heap).classes.map(|class| (class.allocs, class.deallocs))
    }
}

#[test]
fn live_and_ended_threads_are_added_up() {
    let subject = subject();
    let (counted, over) = (Barrier::new(4), Barrier::new(4));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=3)
            .map(|number| {
                let (subject, counted, over) = (&subject, &counted, &over);
                scope.spawn(move || {
                    let own = Subject::own();
                    subject.pairs(&own, 0, 100 * number);
                    subject.pairs(&own, 3, number);
                    counted.wait();
                    over.wait();
                    subject.pairs(&own, 3, 10);
                })
            })
            .collect();
        counted.wait();
        assert_eq!(subject.seen(), [(600, 600), (6, 6)], "three threads live");
        over.wait();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!(subject.seen(), [(600, 600), (36, 36)], "all have ended");
    assert!(subject.totals.listed.lock().first.is_none());
}

/// A record that ends twice, or not, would be a pointer into a thread that is gone.
#[test]
fn counts_after_the_end_are_totals() {
    let subject = subject();
    let own = Subject::own();
    subject.pairs(&own, 0, 5);
    assert!(own.counts.is_listed.get());
    // As the key's destructor does it, the last that came first.
    own.counts.thread.end();
    assert!(!own.counts.is_listed.get());
    assert_eq!(subject.seen()[0], (5, 5));
    // SAFETY: the cache is this thread's.
    unsafe { own.cache.flush(subject.heap) };
    own.cache.end();
    subject.pairs(&own, 0, 7);
    own.counts.resized(subject.totals, 0);
    assert!(!own.counts.is_listed.get());
    assert_eq!(subject.seen()[0], (12, 12));
    let class = subject.totals.counters(subject.heap).classes[0];
    assert_eq!((class.resizes, class.misses, class.overflows), (1, 8, 7));
}

/// A realloc in place may be all that a thread ever does.
#[test]
fn a_resize_needs_no_entry() {
    let subject = subject();
    let own = Subject::own();
    own.counts.resized(subject.totals, 3);
    assert!(!own.counts.is_listed.get());
    assert_eq!(subject.totals.counters(subject.heap).classes[1].resizes, 1);
}

/// As a fork would do it: entries of other threads are gone in the child, this one's stays.
#[test]
fn a_child_keeps_the_counts_of_the_thread_that_forked() {
    let subject = subject();
    let own = Subject::own();
    subject.pairs(&own, 0, 3);
    let (counted, over) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = Subject::own();
            subject.pairs(&other, 0, 1000);
            counted.wait();
            over.wait();
            // It is not in the list any more: what it counts at its end would be counted twice.
            other.counts.is_listed.set(false);
        });
        counted.wait();
        assert_eq!(subject.seen()[0], (1003, 1003));
        let totals = ptr::from_ref(subject.totals).cast();
        // SAFETY: the totals are of this type; this is what a fork handler does.
        unsafe { before_fork::<3, 2>(totals) };
        // SAFETY: follows it.
        unsafe { after_fork::<3, 2>(totals) };
        subject.totals.listed.lock().forks = u32::MAX;
        assert_eq!(subject.seen()[0], (3, 3));
        assert_eq!(subject.totals.listed.lock().forks, fork::count());
        over.wait();
    });
}

/// Without memory, allocs fail and are counted as that.
#[test]
fn failures_are_no_allocs() {
    let totals: &Totals = Box::leak(Box::new(Totals::new()));
    let mut byte = 0u8;
    totals.alloc(0, ptr::null_mut());
    totals.alloc(0, &raw mut byte);
    totals.alloc_large(ptr::null_mut());
    totals.alloc_large(&raw mut byte);
    totals.dealloc_large();
    totals.resized_large();
    let Counters { classes, large } = totals.counters(subject().heap);
    assert_eq!((classes[0].allocs, classes[0].failures), (1, 1));
    assert_eq!((large.allocs, large.failures, large.deallocs, large.resizes), (1, 1, 1, 1));
    assert_eq!((large.live(), classes[0].live()), (0, 1));
}
