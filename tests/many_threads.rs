//! Many threads: what they hold together is bounded, and those that end leave nothing.
//!
//! Each test runs in a process of its own and prints its figures. `HAK_SOAK=10` runs ten times as
//! many threads one after the other, and ten times as many blocks through a queue.

#[path = "support/child.rs"]
mod child;
#[path = "support/process.rs"]
mod process;
#[path = "support/subject.rs"]
#[expect(dead_code, reason = "not all of it is for many threads")]
mod subject;

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use hak::hak_allocator;

use process::{Footprint, patience, status_kib, times};
use subject::{Block, SIZES, SMALL_SIZES, Subject, Totals, blocks, subject};

hak_allocator!(struct Global = { schema = 1, extends = "general" });
hak_allocator!(struct Passed = { schema = 1, extends = "general" });
hak_allocator!(struct Limited = { schema = 1, extends = "general", cache.limit = "8 MiB" });

#[global_allocator]
static GLOBAL: Global = Global;

const MIB: usize = 1 << 20;

/// A block of [`PARCEL`] from [`Passed`], touched all over.
struct Parcel(NonNull<u8>);

const PARCEL: Layout = Layout::new::<[u8; 592]>();

// SAFETY: a parcel owns its block.
unsafe impl Send for Parcel {}

impl Parcel {
    fn new() -> Parcel {
        // SAFETY: the layout has bytes.
        let start = NonNull::new(unsafe { Passed.alloc(PARCEL) }).unwrap();
        // SAFETY: the block is ours.
        unsafe { start.write_bytes(0xA5, PARCEL.size()) };
        Parcel(start)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        // SAFETY: the block is ours, and was filled.
        let bytes = unsafe { std::slice::from_raw_parts(self.0.as_ptr(), PARCEL.size()) };
        assert!(bytes.iter().step_by(97).all(|&byte| byte == 0xA5), "contents survive");
        // SAFETY: the block is ours, and gone after this.
        unsafe { Passed.dealloc(self.0.as_ptr(), PARCEL) };
    }
}

/// Keeps `live` parcels and replaces them in an order that looks random; the old ones are sent
/// away, some at a time.
fn produce(live: usize, replacements: usize, number: usize, away: &SyncSender<Vec<Parcel>>) {
    const BATCH: usize = 64;
    let mut kept: Vec<_> = (0..live).map(|_| Parcel::new()).collect();
    let mut batch = Vec::with_capacity(BATCH);
    for step in 0..replacements {
        let random = (step + number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        batch.push(std::mem::replace(&mut kept[(random * live) >> 32], Parcel::new()));
        if batch.len() == BATCH {
            away.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH))).unwrap();
        }
    }
}

/// Sixteen threads keep 100 MiB of blocks live; another one, which never allocates one, frees all
/// that is replaced.
fn pass_all_to_one_thread() {
    const PRODUCERS: usize = 16;
    const LIVE: usize = 100 * MIB / PARCEL.size();
    let replacements = times(1_600_000);
    let before_kib = Footprint::now().resident_kib;
    let (away, come): (_, Receiver<Vec<Parcel>>) = mpsc::sync_channel(64);
    let frees = thread::spawn(move || come.iter().map(|batch| batch.len()).sum::<usize>());
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|number| (number, away.clone()))
        .map(|(number, away)| {
            let (live, share) = (LIVE / PRODUCERS, replacements / PRODUCERS);
            thread::spawn(move || produce(live, share, number, &away))
        })
        .collect();
    drop(away);
    join_all(producers);
    let freed = frees.join().unwrap();
    let peak_kib = status_kib("VmHWM:") - before_kib;
    let live_kib = LIVE * PARCEL.size() / 1024;
    println!("{freed} blocks freed elsewhere, {live_kib} KiB live, {peak_kib} KiB at the peak");
    assert!(peak_kib <= live_kib * 13 / 10, "more than 1.3 times of what is live");
    Passed::flush();
    assert_eq!((subject!(Passed).totals)().out_bytes, 0);
}

fn join_all(threads: Vec<JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn one_thread_frees_what_sixteen_allocate() {
    child::run("one_thread_frees_what_sixteen_allocate", patience(), pass_all_to_one_thread);
}

/// Uses every class enough for it to have two magazines, and large blocks.
fn use_all_classes(subject: Subject) {
    for class in Limited::stats().classes {
        let count = 140.min(48 * 1024 / class.bytes + 2);
        drop((0..count).map(|_| Block::new(subject, class.bytes)).collect::<Vec<_>>());
    }
    drop(blocks(subject, &SIZES[SMALL_SIZES..]));
}

/// Four hundred threads that each used all classes, and then wait.
fn let_threads_wait() {
    const THREADS: usize = 400;
    const LIMIT: usize = 8 * MIB;
    let limited = subject!(Limited);
    let before_kib = Footprint::now().resident_kib;
    let over = Arc::new(Barrier::new(THREADS + 1));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (ready, wait) = mpsc::channel();
            let over = over.clone();
            let thread = thread::spawn(move || {
                use_all_classes(limited);
                ready.send(()).unwrap();
                over.wait();
                drop(blocks(limited, &SIZES));
            });
            wait.recv().unwrap();
            let cached = (limited.totals)().cache_bytes;
            assert!(cached <= LIMIT, "threads may cache {cached} bytes");
            thread
        })
        .collect();
    let cached = (limited.totals)().cache_bytes;
    let grown_kib = Footprint::now().resident_kib - before_kib;
    println!("{THREADS} idle threads cache {cached} bytes at most; {grown_kib} KiB more resident");
    assert!(cached > LIMIT / 2, "the threads cache as much as they may");
    // The limit; a full depot for each of 40 classes; and slabs, kept mappings and stacks.
    assert!(grown_kib < (8 + 40 + 40) << 10, "{grown_kib} KiB");
    over.wait();
    join_all(threads);
    let Totals { out_bytes, cache_bytes, .. } = flushed(limited);
    assert_eq!((out_bytes, cache_bytes), (0, 0), "ended threads keep nothing");
}

fn flushed(subject: Subject) -> Totals {
    (subject.flush)();
    (subject.totals)()
}

#[test]
fn idle_threads_keep_no_more_than_the_limit() {
    child::run("idle_threads_keep_no_more_than_the_limit", patience(), let_threads_wait);
}

/// Runs threads, some at a time; what the first tenth needed must be enough for all.
fn run_short_threads(threads: usize, at_a_time: usize, noise_kib: usize, body: fn(usize)) {
    let run = |from: usize, to: usize| {
        for number in (from..to).step_by(at_a_time) {
            let numbers = number..number + at_a_time;
            join_all(numbers.map(|number| thread::spawn(move || body(number))).collect());
        }
    };
    run(0, threads / 10);
    let before = Footprint::now();
    for tenth in 1..10 {
        run(threads * tenth / 10, threads * (tenth + 1) / 10);
        let done = threads * (tenth + 1) / 10;
        Footprint::now().assert_flat_since(before, noise_kib, &format!("{done} threads"));
    }
    let Totals { out_bytes, cache_bytes, .. } = flushed(subject!(Passed));
    assert_eq!((out_bytes, cache_bytes), (0, 0), "ended threads keep nothing");
}

#[test]
fn a_hundred_thousand_short_threads() {
    child::run("a_hundred_thousand_short_threads", patience(), || {
        run_short_threads(times(100_000), 2, 1024, |number| {
            let sizes = [SIZES[number % SMALL_SIZES], SIZES[number / SMALL_SIZES % SMALL_SIZES]];
            drop(blocks(subject!(Passed), &sizes));
            std::hint::black_box(vec![number; number % 100]);
        });
    });
}

#[test]
fn short_threads_with_a_mib_each() {
    child::run("short_threads_with_a_mib_each", patience(), || {
        run_short_threads(times(4000), 20, 8 << 10, |number| {
            let size = SIZES[number % SIZES.len()].max(256);
            let count = (MIB / size).max(1);
            drop((0..count).map(|_| Block::new(subject!(Passed), size)).collect::<Vec<_>>());
        });
    });
}
