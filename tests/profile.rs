//! `profile()`: what is sampled of known operations, how long blocks lived, and forks meanwhile.
//!
//! Most allocators here sample once in a byte: then nearly every request of some dozen bytes is a
//! sample, and what is known of the requests is known of the samples.

#[path = "support/child.rs"]
mod child;
#[path = "support/forked.rs"]
mod forked;
#[path = "support/requests.rs"]
mod requests;

use std::alloc::GlobalAlloc;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use forked::Forked;
use hak::{ClassProfile, Profile, hak_allocator};
use requests::{KIB, MIB, alloc, free, layout, realloc};
use serde_json::Value;

macro_rules! sampled {
    ($name:ident, $($more:tt)*) => {
        hak_allocator!(struct $name = {
            schema = 1, classes.sizes = [64, 128, 1024, 8192], stats.profile = true,
            stats.sample_bytes = 1, $($more)*
        });
    };
}

fn ended(class: &ClassProfile) -> u64 {
    class.lifetimes.iter().sum()
}

/// Samples, those that live, and those that have ended.
fn census(class: &ClassProfile) -> (u64, u64, u64) {
    (class.samples, class.live, ended(class))
}

macro_rules! every_way_in_and_out {
    ($($test:ident: $name:ident { $($more:tt)* };)*) => {$(
        #[test]
        fn $test() {
            sampled!($name, $($more)*);
            every_way_in_and_out(&$name, $name::profile);
        }
    )*};
}

every_way_in_and_out! {
    with_magazines: Magazines {};
    with_hot_classes: Hot { hints.hot = [1024] };
    with_lists: Lists { cache.layers = ["freelist"] };
    without_layers: Direct { cache.layers = [] };
    with_calls: Called { hints.inline = "never" };
}

/// alloc, alloc_zeroed, realloc in place and to another class, dealloc.
fn every_way_in_and_out<const N: usize>(
    allocator: &impl GlobalAlloc,
    profile: impl Fn() -> Profile<N>,
) {
    let blocks: Vec<_> = (0..100).map(|_| alloc(allocator, 64)).collect();
    // SAFETY: the layout has bytes.
    let zeroed: Vec<_> = (0..10).map(|_| unsafe { allocator.alloc_zeroed(layout(1000)) }).collect();
    for block in &zeroed {
        // SAFETY: the block has that many bytes, which are written.
        assert!(unsafe { std::slice::from_raw_parts(*block, 1000) }.iter().all(|byte| *byte == 0));
    }
    let seen = profile();
    assert_eq!(census(&seen.classes[0]), (100, 100, 0));
    assert_eq!(census(&seen.classes[2]), (10, 10, 0));
    assert_eq!((seen.classes[0].blocks, seen.classes[0].requested), (100, 6400));
    assert_eq!(
        (seen.sizes[6].samples, seen.sizes[6].blocks, seen.sizes[6].bytes),
        (100, 100, 6400)
    );
    assert_eq!((seen.sizes[9].samples, seen.sizes[9].bytes), (10, 10_000));
    // In place: the sample goes on. Moved: it has ended, and the new block is one of its own.
    let zeroed: Vec<_> =
        zeroed.into_iter().map(|block| realloc(allocator, block, 1000, 1020)).collect();
    assert_eq!(census(&profile().classes[2]), (10, 10, 0));
    let moved: Vec<_> =
        zeroed.into_iter().map(|block| realloc(allocator, block, 1020, 5000)).collect();
    assert_eq!(census(&profile().classes[2]), (10, 0, 10));
    assert_eq!(census(&profile().classes[3]), (10, 10, 0));
    blocks.into_iter().for_each(|block| free(allocator, block, 64));
    moved.into_iter().for_each(|block| free(allocator, block, 5000));
    let seen = profile();
    assert_eq!(census(&seen.classes[0]), (100, 0, 100));
    assert_eq!(census(&seen.classes[3]), (10, 0, 10));
    assert_eq!((seen.untracked, seen.classes[0].freed_elsewhere), (0, 0));
    assert!(seen.cycle_ns > 0.0);
}

#[test]
fn spans_and_mappings_are_sampled() {
    sampled!(Large,);
    let span = alloc(&Large, 100 * KIB);
    let mapping = alloc(&Large, 2 * MIB);
    assert_eq!(census(&Large::profile().large), (2, 2, 0));
    // A span that stays where it is; a mapping that may move, and is a new sample then.
    let span = realloc(&Large, span, 100 * KIB, 100 * KIB + 1);
    let before = mapping.addr();
    let mapping = realloc(&Large, mapping, 2 * MIB, 9 * MIB);
    let moved = u64::from(mapping.addr() != before);
    let seen = Large::profile();
    assert_eq!(census(&seen.large), (2 + moved, 2, moved));
    free(&Large, span, 100 * KIB + 1);
    free(&Large, mapping, 9 * MIB);
    let seen = Large::profile();
    assert_eq!(census(&seen.large), (2 + moved, 0, 2 + moved));
    assert_eq!((seen.large.slow_alloc.count, seen.large.slow_dealloc.count), (2, 2));
    assert!(seen.large.slow_alloc.cycles >= seen.large.slow_alloc.cycles_max);
}

/// A block that lived through a sleep lived longer than one that did not: by the clock's own
/// promise, not by the machine's speed.
#[test]
fn lifetimes_are_those_of_blocks() {
    sampled!(Lived,);
    let slept = Duration::from_millis(20);
    let block = alloc(&Lived, 128);
    thread::sleep(slept);
    free(&Lived, block, 128);
    let seen = Lived::profile();
    let bucket = seen.classes[1].lifetimes.iter().position(|count| *count > 0).unwrap();
    // The end of the bucket, in nanoseconds; half of it is kept for what a cycle is off.
    let most = 2f64.powi(i32::try_from(bucket).unwrap() + 1) * seen.cycle_ns;
    assert!(most * 2.0 > slept.as_nanos() as f64, "bucket {bucket} ends at {most} ns");
}

#[test]
fn a_block_freed_by_another_thread_is_told() {
    sampled!(Elsewhere,);
    let blocks: Vec<_> = (0..50).map(|_| alloc(&Elsewhere, 100).expose_provenance()).collect();
    let freeing = || {
        for block in blocks {
            free(&Elsewhere, std::ptr::with_exposed_provenance_mut(block), 100);
        }
    };
    thread::scope(|scope| scope.spawn(freeing).join().unwrap());
    let class = Elsewhere::profile().classes[1];
    assert_eq!((census(&class), class.freed_elsewhere), ((50, 0, 50), 50));
}

/// Slow paths are all counted: as many as a thread's magazines make necessary.
#[test]
fn slow_paths_are_counted() {
    sampled!(Slow, cache.slots = 8, cache.refill = { default = 8 });
    let blocks: Vec<_> = (0..80).map(|_| alloc(&Slow, 64)).collect();
    blocks.into_iter().for_each(|block| free(&Slow, block, 64));
    let class = Slow::profile().classes[0];
    assert_eq!((class.slow_alloc.count, class.slow_dealloc.count), (10, 9));
    for slow in [class.slow_alloc, class.slow_dealloc] {
        assert_eq!(slow.buckets.iter().sum::<u64>(), slow.count);
        assert!(slow.cycles >= slow.cycles_max && slow.cycles_max > 0);
    }
}

/// Many small requests and some large ones.
const NUMBER: usize = 200_000;

/// The profile of an allocator after one thread has done the same as for every other.
fn of_known_work<const N: usize>(
    allocator: &(impl GlobalAlloc + Sync),
    profile: impl Fn() -> Profile<N>,
) -> Profile<N> {
    let work = || {
        for nth in 0..NUMBER {
            let size = if nth.is_multiple_of(10) { 1000 } else { 48 };
            free(allocator, alloc(allocator, size), size);
        }
    };
    thread::scope(|scope| scope.spawn(work).join().unwrap());
    profile()
}

/// Estimates come close to what there was. The marks of a thread follow from its number, so that
/// the same work gives the same samples.
#[test]
fn estimates_come_close_and_come_again() {
    hak_allocator!(struct Estimated = {
        schema = 1, extends = "general", stats.profile = true, stats.sample_bytes = "4 KiB"
    });
    hak_allocator!(struct Again = {
        schema = 1, extends = "general", stats.profile = true, stats.sample_bytes = "4 KiB"
    });
    let seen = of_known_work(&Estimated, Estimated::profile);
    let close = |estimate: u64, truth: usize| {
        let error = estimate as f64 / truth as f64 - 1.0;
        assert!(error.abs() < 0.1, "{estimate} instead of {truth}");
    };
    close(seen.sizes[5].blocks, NUMBER / 10 * 9);
    close(seen.sizes[5].bytes, NUMBER / 10 * 9 * 48);
    close(seen.sizes[9].blocks, NUMBER / 10);
    close(seen.sizes[9].bytes, NUMBER / 10 * 1000);
    let samples: u64 = seen.sizes.iter().map(|size| size.samples).sum();
    assert!(samples < NUMBER as u64 / 20, "{samples} of {NUMBER}");
    assert_eq!(of_known_work(&Again, Again::profile).sizes, seen.sizes);
}

hak_allocator!(
    struct Forking = {
        schema = 1, extends = "general", stats.profile = true, stats.sample_bytes = 64,
    }
);

#[global_allocator]
static GLOBAL: Forking = Forking;

/// The profiler of the program's own allocator, with threads that hold its lock at any moment: no
/// child hangs on it, and none is without samples.
#[test]
fn forks_while_threads_are_sampled() {
    child::run("forks_while_threads_are_sampled", Duration::from_secs(120), || {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for size in [40, 300, 2000, 100_000] {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        drop(std::hint::black_box(Vec::<u8>::with_capacity(size)));
                    }
                });
            }
            for _ in 0..200 {
                Forked::new(|| {
                    let samples = || Forking::profile().sizes.iter().map(|size| size.samples).sum();
                    let before: u64 = samples();
                    thread::spawn(|| drop(vec![vec![7u8; 500]; 500])).join().unwrap();
                    assert!(samples() > before);
                })
                .assert_ends_well();
            }
            stop.store(true, Ordering::Relaxed);
        });
        println!("{}", Forking::profile());
    });
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

/// The keys are the names of the fields, as the debug form shows them too.
#[test]
fn json_and_tables_show_every_figure() {
    sampled!(Shown,);
    let block = alloc(&Shown, 128);
    free(&Shown, block, 128);
    let profile = Shown::profile();
    let json: Value = serde_json::from_str(&profile.json().to_string()).unwrap();
    let fields = |debug: String| -> BTreeSet<String> {
        let lines = debug.lines().filter_map(|line| line.strip_prefix("    "));
        let own = lines.filter(|line| !line.starts_with(' '));
        own.filter_map(|line| line.split_once(": ")).map(|(name, _)| name.to_owned()).collect()
    };
    let class = profile.classes[1];
    assert_eq!(keys(&json), fields(format!("{profile:#?}")));
    assert_eq!(keys(&json["classes"][1]), fields(format!("{class:#?}")));
    assert_eq!(keys(&json["large"]), fields(format!("{:#?}", profile.large)));
    let slow = &json["classes"][1]["slow_alloc"];
    assert_eq!(keys(slow), fields(format!("{:#?}", class.slow_alloc)));
    assert_eq!(slow["count"], class.slow_alloc.count);
    assert_eq!(slow["cycles_max"], class.slow_alloc.cycles_max);
    let size = &json["sizes"][0];
    assert_eq!(
        (&size["from"], &size["samples"], &size["bytes"]),
        (&128.into(), &1.into(), &128.into())
    );
    let lifetimes = json["classes"][1]["lifetimes"].as_array().unwrap();
    let told: Vec<_> = lifetimes.iter().map(|count| count.as_u64().unwrap()).collect();
    assert_eq!(told, class.lifetimes[..told.len()]);
    assert_eq!(told.last(), Some(&1), "the histogram ends where its last sample is");
    assert_eq!(json["classes"][0]["lifetimes"], Value::Array(Vec::new()));
    let tables = profile.to_string();
    assert_eq!(tables.lines().count(), 6, "{tables}");
    assert!(tables.lines().nth(2).unwrap().trim().starts_with("128"), "{tables}");
}
