//! Threads: blocks that are freed elsewhere, threads that only free, threads that come and go.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use hak::hak_allocator;

hak_allocator!(struct HandOver = { schema = 1, extends = "general" });
hak_allocator!(struct OnlyFrees = { schema = 1, extends = "web" });
hak_allocator!(struct ComeAndGo = { schema = 1, extends = "general" });
hak_allocator!(struct ComeAndGoTiny = { schema = 1, extends = "tiny" });

/// A block on its way to another thread, filled with `mark`.
struct Parcel {
    start: *mut u8,
    layout: Layout,
    mark: u8,
}

// SAFETY: a parcel owns its block.
unsafe impl Send for Parcel {}

impl Parcel {
    fn new(allocator: &impl GlobalAlloc, size: usize, mark: u8) -> Parcel {
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: the size is not 0.
        let start = unsafe { allocator.alloc(layout) };
        assert!(!start.is_null());
        // SAFETY: the block is ours.
        unsafe { start.write_bytes(mark, size) };
        Parcel { start, layout, mark }
    }

    fn check_and_free(self, allocator: &impl GlobalAlloc) {
        // SAFETY: the block is ours, and `new` filled it.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) };
        assert!(bytes.iter().all(|&byte| byte == self.mark), "contents survive the hand-over");
        // SAFETY: the block is ours, and not used below.
        unsafe { allocator.dealloc(self.start, self.layout) };
    }
}

/// Sizes that look random, 1 byte to 40 KiB, small ones mostly.
fn size(step: usize) -> usize {
    let random = step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    random % (40 << (random % 11)) + 1
}

/// Waits for threads to be gone. The end of a scope is too early: it waits for their closures, not
/// for the destructors after them.
fn join_all(threads: Vec<thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Each of four threads allocates, and passes its blocks to the next one, which frees them.
#[test]
fn blocks_freed_by_the_neighbour() {
    const THREADS: usize = 4;
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::sync_channel::<Parcel>(1000)).unzip();
    let pass = |from: usize, to: SyncSender<Parcel>, own: Receiver<Parcel>| {
        for step in 0..30_000 {
            let mark = u8::try_from(step % 251).unwrap();
            to.send(Parcel::new(&HandOver, size(step * THREADS + from), mark)).unwrap();
            if step % 3 != 0 {
                own.try_iter().take(3).for_each(|parcel| parcel.check_and_free(&HandOver));
            }
            own.try_iter().take(900).for_each(|parcel| parcel.check_and_free(&HandOver));
        }
        drop(to);
        own.iter().for_each(|parcel| parcel.check_and_free(&HandOver));
    };
    thread::scope(|scope| {
        let mut senders = senders.into_iter().cycle();
        let first = senders.next().unwrap();
        let mut threads = Vec::new();
        for (from, own) in receivers.into_iter().enumerate() {
            let to = if from == THREADS - 1 { first.clone() } else { senders.next().unwrap() };
            threads.push(scope.spawn(move || pass(from, to, own)));
        }
        drop((first, senders));
        join_all(threads);
    });
    HandOver::flush();
    let out: usize = HandOver::stats().classes.iter().map(|class| class.blocks_out).sum();
    assert_eq!(out, 0, "all blocks are back in their slabs");
}

/// Three threads allocate, one only frees: memory stays near what is under way.
#[test]
fn a_thread_that_only_frees_keeps_little() {
    const BLOCK: usize = 592;
    let (sender, receiver) = mpsc::sync_channel::<Parcel>(10_000);
    thread::scope(|scope| {
        let produce = |sender: SyncSender<Parcel>, mark| {
            for _ in 0..200_000 {
                sender.send(Parcel::new(&OnlyFrees, BLOCK, mark)).unwrap();
            }
        };
        let mut threads: Vec<_> = (0..3)
            .map(|mark| (sender.clone(), mark))
            .map(|(sender, mark)| scope.spawn(move || produce(sender, mark)))
            .collect();
        drop(sender);
        let free_all = move || receiver.iter().for_each(|p| p.check_and_free(&OnlyFrees));
        threads.push(scope.spawn(free_all));
        join_all(threads);
    });
    let stats = OnlyFrees::stats();
    let held: usize = stats.classes.iter().map(|class| class.slab_bytes).sum();
    // 10 000 under way, and what caches and depot may hold on top.
    assert!(held < 16 << 20, "{held} bytes of slabs for {} under way", 10_000 * BLOCK);
    OnlyFrees::flush();
    assert_eq!(OnlyFrees::stats().classes.iter().map(|class| class.blocks_out).sum::<usize>(), 0);
}

/// Ten thousand threads use the allocator and end; what the first thousand needed is enough.
fn come_and_go<const N: usize>(
    allocator: &(impl GlobalAlloc + Sync),
    stats: fn() -> hak::Stats<N>,
) {
    let one_thread = |number: usize| {
        let parcels: Vec<_> =
            (0..40).map(|step| Parcel::new(allocator, size(number * 40 + step), 7)).collect();
        parcels.into_iter().for_each(|parcel| parcel.check_and_free(allocator));
    };
    let run = |numbers: std::ops::Range<usize>| {
        for number in numbers.step_by(2) {
            thread::scope(|scope| {
                join_all(vec![
                    scope.spawn(|| one_thread(number)),
                    scope.spawn(|| one_thread(number + 1)),
                ]);
            });
        }
    };
    run(0..1000);
    let (mapped_before, resident_before) = (stats().superslab_bytes, resident_kib());
    run(1000..10_000);
    let (mapped, resident) = (stats().superslab_bytes, resident_kib());
    // Other tests of this process share the superslabs.
    assert!(mapped <= mapped_before + (64 << 20), "{mapped_before} then {mapped} bytes mapped");
    assert!(resident <= resident_before + (64 << 10), "{resident_before} then {resident} KiB");
    let depot: usize = stats().classes.iter().map(|class| class.blocks_in_depot).sum();
    let out: usize = stats().classes.iter().map(|class| class.blocks_out).sum();
    assert_eq!(out, depot, "an ended thread keeps nothing");
}

#[test]
fn ten_thousand_threads_on_general() {
    come_and_go(&ComeAndGo, ComeAndGo::stats);
}

#[test]
fn ten_thousand_threads_on_tiny() {
    come_and_go(&ComeAndGoTiny, ComeAndGoTiny::stats);
}
