//! `counters()`: exact sums of known operations, over threads, their ends, and forks.

#[path = "support/child.rs"]
mod child;
#[path = "support/forked.rs"]
mod forked;
#[path = "support/requests.rs"]
mod requests;

use std::alloc::GlobalAlloc;
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use forked::Forked;
use hak::{ClassCounters, Counters, LargeCounters, hak_allocator};
use requests::{KIB, MIB, alloc, free, layout, realloc};
use serde_json::Value;

/// Each test has an allocator of its own, since counts are exact.
macro_rules! counted {
    ($name:ident, $($more:tt)*) => {
        hak_allocator!(struct $name = {
            schema = 1, classes.sizes = [16, 64, 1024, 8192], stats.counters = true, $($more)*
        });
    };
}

/// Allocates `number` blocks, then frees them.
fn burst(allocator: &impl GlobalAlloc, size: usize, number: usize) {
    let blocks: Vec<_> = (0..number).map(|_| alloc(allocator, size)).collect();
    blocks.into_iter().for_each(|block| free(allocator, block, size));
}

/// What one thread of a test does: numbers of blocks by size.
const WORK: [(usize, usize); 5] = [(16, 500), (64, 3000), (1000, 70), (8000, 5), (100 * KIB, 3)];

fn work(allocator: &impl GlobalAlloc) {
    WORK.iter().for_each(|&(size, number)| burst(allocator, size, number));
    // One block that grows within its class, then into the next, then beyond all.
    let block = alloc(allocator, 20);
    let block = realloc(allocator, block, 20, 60);
    let block = realloc(allocator, block, 60, 900);
    let block = realloc(allocator, block, 900, 100 * KIB);
    let block = realloc(allocator, block, 100 * KIB, 100 * KIB + 1);
    free(allocator, block, 100 * KIB + 1);
}

/// Allocs of each class and of large requests of one thread's work.
const ALLOCS: [u64; 5] = [500, 3001, 71, 5, 4];

/// What `threads` threads that did the work must have counted.
fn check<const N: usize>(counters: &Counters<N>, threads: u64) {
    let allocs = counters.classes.map(|class| class.allocs);
    assert_eq!(allocs.as_slice(), ALLOCS[..4].iter().map(|n| n * threads).collect::<Vec<_>>());
    assert_eq!(counters.classes.map(|class| class.deallocs), allocs);
    assert_eq!(counters.large.allocs, ALLOCS[4] * threads);
    assert_eq!(counters.large.deallocs, counters.large.allocs);
    assert_eq!(counters.classes[1].resizes, threads, "from 20 to 60 bytes");
    assert_eq!(counters.large.resizes, threads, "one byte more of a span");
    let failures: u64 = counters.classes.iter().map(|class| class.failures).sum();
    assert_eq!(failures + counters.large.failures, 0);
}

/// Eight threads: exact while they wait, with what they hold, and when they are gone.
fn eight_threads<const N: usize>(
    allocator: &'static (impl GlobalAlloc + Sync),
    counters: impl Fn() -> Counters<N>,
) {
    let (idle, over) = (Barrier::new(9), Barrier::new(9));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    work(allocator);
                    let held = alloc(allocator, 64);
                    idle.wait();
                    over.wait();
                    free(allocator, held, 64);
                })
            })
            .collect();
        idle.wait();
        let mut seen = counters();
        assert_eq!(seen.classes[1].live(), 8, "each holds one");
        seen.classes[1].allocs -= 8;
        check(&seen, 8);
        over.wait();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let mut seen = counters();
    assert_eq!(seen.classes[1].live(), 0);
    seen.classes[1].allocs -= 8;
    seen.classes[1].deallocs -= 8;
    check(&seen, 8);
}

counted!(HeldBack, validation.quarantine = true);

/// Also by a thread that never allocated, and by one that has ended.
#[test]
fn what_is_held_back_is_counted_when_it_is_freed() {
    for worker in [(); 3].map(|()| thread::spawn(|| work(&HeldBack))) {
        worker.join().unwrap();
    }
    check(&HeldBack::counters(), 3);
    let blocks: Vec<_> = (0..10).map(|_| alloc(&HeldBack, 64).expose_provenance()).collect();
    let free_all = move || {
        let blocks = blocks.into_iter().map(std::ptr::with_exposed_provenance_mut);
        blocks.for_each(|block| free(&HeldBack, block, 64));
    };
    thread::spawn(free_all).join().unwrap();
    work(&HeldBack);
    let counters = HeldBack::counters();
    assert_eq!(counters.classes[1].deallocs, 4 * ALLOCS[1] + 10);
    assert_eq!(counters.classes.map(|class| class.live()), [0; 4]);
}

macro_rules! eight_threads {
    ($($test:ident: $name:ident { $($more:tt)* };)*) => {$(
#[test]
        fn $test() {
            counted!($name, $($more)*);
            eight_threads(&$name, $name::counters);
        }
    )*};
}

eight_threads! {
    with_magazines: Magazines {};
    with_two_shards: Shards { superslab.shards = 2 };
    with_hot_classes: Hot { hints.hot = [1024, 64] };
    with_small_magazines: Small { cache.slots = 2, cache.refill = { default = 2 } };
    with_lists: Lists { cache.layers = ["freelist", "depot"] };
    with_arrays_and_chains: Layered { cache.layers = ["magazine", "freelist"] };
    without_layers: Direct { cache.layers = [] };
    with_a_cache_limit: Limited { cache.limit = "512 KiB" };
}

#[test]
fn misses_and_refills_follow_from_the_slots() {
    counted!(Known, cache.slots = 8, cache.refill = { default = 8 });
    let blocks: Vec<_> = (0..80).map(|_| alloc(&Known, 64)).collect();
    let seen = Known::counters().classes[1];
    assert_eq!((seen.allocs, seen.misses, seen.refills), (80, 10, 10));
    assert_eq!((seen.deallocs, seen.overflows, seen.exchanges_out), (0, 0, 0));
    blocks.into_iter().for_each(|block| free(&Known, block, 64));
    let seen = Known::counters().classes[1];
    // The empty magazine takes 8 blocks, and each one after it 8 more.
    assert_eq!((seen.deallocs, seen.overflows), (80, 9));
    // Two magazines stay with the thread.
    assert_eq!((seen.exchanges_out, seen.returned), (8, 0));
    burst(&Known, 64, 80);
    let seen = Known::counters().classes[1];
    assert_eq!((seen.exchanges_in, seen.refills), (8, 10));
    Known::flush();
    assert_eq!(Known::counters().classes[1].returned, 80);
    assert_eq!(Known::counters().classes[0], ClassCounters { bytes: 16, ..Default::default() });
}

/// An alloc that gets nothing is no alloc.
#[test]
fn failures_are_counted() {
    counted!(Limited, superslab.limit = "640 KiB");
    // SAFETY: the layout has bytes.
    assert!(unsafe { Limited.alloc(layout(MIB)) }.is_null());
    let LargeCounters { allocs, failures, .. } = Limited::counters().large;
    assert_eq!((allocs, failures), (0, 1));
    let mut blocks = Vec::new();
    let failed = loop {
        // SAFETY: the layout has bytes.
        let block = unsafe { Limited.alloc(layout(8192)) };
        if block.is_null() {
            break Limited::counters().classes[3];
        }
        blocks.push(block);
    };
    assert_eq!((failed.allocs, failed.failures), (blocks.len() as u64, 1));
    blocks.into_iter().for_each(|block| free(&Limited, block, 8192));
    assert_eq!(Limited::counters().classes[3].live(), 0);
}

/// A mapping that the system moves, or grows in its place, is copied by no one.
#[test]
fn a_large_resize_is_counted() {
    counted!(Large,);
    let block = alloc(&Large, 2 * MIB);
    let block = realloc(&Large, block, 2 * MIB, 5 * MIB);
    free(&Large, block, 5 * MIB);
    let expected = LargeCounters { allocs: 1, deallocs: 1, failures: 0, resizes: 1 };
    assert_eq!(Large::counters().large, expected);
}

/// What a thread frees that another allocated is counted where it is freed.
#[test]
fn a_thread_that_only_frees_is_counted() {
    counted!(Freed,);
    let blocks: Vec<_> = (0..1000).map(|_| alloc(&Freed, 64).expose_provenance()).collect();
    let freeing = || {
        for block in blocks {
            free(&Freed, std::ptr::with_exposed_provenance_mut(block), 64);
        }
    };
    thread::scope(|scope| scope.spawn(freeing).join().unwrap());
    let class = Freed::counters().classes[1];
    assert_eq!((class.allocs, class.deallocs, class.live()), (1000, 1000, 0));
}

hak_allocator!(struct Forking = {
    schema = 1, classes.sizes = [16, 64, 1024, 8192], stats.counters = true
});

/// A child has the counts of ended threads and of its one thread; those of others are lost to it.
/// The parent loses nothing.
#[test]
fn a_child_counts_for_itself() {
    child::run("a_child_counts_for_itself", Duration::from_secs(60), || {
        thread::spawn(|| burst(&Forking, 64, 100)).join().unwrap();
        burst(&Forking, 64, 10);
        let (idle, over) = (Barrier::new(2), Barrier::new(2));
        let allocs: fn() -> u64 = || Forking::counters().classes[1].allocs;
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                burst(&Forking, 64, 1000);
                idle.wait();
                over.wait();
            });
            idle.wait();
            assert_eq!(allocs(), 1110);
            let child = || {
                assert_eq!(allocs(), 110, "ended threads, and this one");
                burst(&Forking, 64, 1);
                thread::spawn(|| burst(&Forking, 64, 20)).join().unwrap();
                assert_eq!(allocs(), 131);
                // A thread that has not counted yet forks: nobody's counts are left but the totals.
                let forking = move || Forked::new(|| assert_eq!(allocs(), 120)).assert_ends_well();
                thread::spawn(forking).join().unwrap();
            };
            Forked::new(child).assert_ends_well();
            assert_eq!(allocs(), 1110);
            over.wait();
            other.join().unwrap();
        });
        assert_eq!(allocs(), 1110);
    });
}

/// Forks while threads begin, count and end: no lock is lost, and no count of the parent.
#[test]
fn forks_among_counting_threads() {
    child::run("forks_among_counting_threads", Duration::from_secs(120), || {
        let rounds = 60;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(move || {
                        for _ in 0..rounds {
                            thread::spawn(|| burst(&Forking, 16, 100)).join().unwrap();
                        }
                    })
                })
                .collect();
            for _ in 0..200 {
                Forked::new(|| {
                    let before = Forking::counters().classes[0].allocs;
                    thread::spawn(|| burst(&Forking, 16, 50)).join().unwrap();
                    assert_eq!(Forking::counters().classes[0].allocs, before + 50);
                })
                .assert_ends_well();
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let class = Forking::counters().classes[0];
        assert_eq!((class.allocs, class.live()), (4 * rounds * 100, 0));
    });
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

/// The keys are the names of the fields, all of them, as the debug form shows them too.
#[test]
fn json_and_table_show_every_count() {
    counted!(Shown,);
    work(&Shown);
    let counters = Shown::counters();
    let json: Value = serde_json::from_str(&counters.json().to_string()).unwrap();
    let fields = |debug: String| -> BTreeSet<String> {
        let names = debug.lines().filter_map(|line| line.trim().split_once(": "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    let class = counters.classes[1];
    assert_eq!(keys(&json["classes"][1]), fields(format!("{class:#?}")));
    assert_eq!(keys(&json["large"]), fields(format!("{:#?}", counters.large)));
    let told = &json["classes"][1];
    assert_eq!(told["allocs"], class.allocs);
    assert_eq!(told["deallocs"], class.deallocs);
    assert_eq!(told["misses"], class.misses);
    assert_eq!(told["overflows"], class.overflows);
    assert_eq!(told["resizes"], class.resizes);
    assert_eq!(told["refills"], class.refills);
    assert_eq!(told["exchanges_out"], class.exchanges_out);
    assert_eq!(json["large"]["allocs"], counters.large.allocs);
    let table = counters.to_string();
    assert_eq!(table.lines().count(), 6, "a head, four classes and the large ones:\n{table}");
    let row: Vec<_> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["64", "3001", "3001"]);
}
