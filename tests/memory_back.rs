//! Memory goes back to the system: after a burst, by shrinking, and for another use.
//!
//! Each test has a process of its own, since resident memory is what it is about. A burst is of
//! 256 MiB; `HAK_SOAK=4` and more make it 1 GiB.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/system.rs"]
mod system;

use std::alloc::GlobalAlloc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blocks::{Block, Order, burst, free_all};
use hak::hak_allocator;
use system::{GIB, KIB, MIB, Mapping, comes_true, peak, resident};

hak_allocator!(struct WithHelper = {
    schema = 1, extends = "general", superslab.purge = { after = "200 ms", helper = true }
});
hak_allocator!(struct WithoutHelper = {
    schema = 1, extends = "general", superslab.purge = { after = "200 ms" }
});
hak_allocator!(struct Lazily = {
    schema = 1, extends = "general", superslab.purge = { how = "free", after = "200 ms" }
});
hak_allocator!(struct Never = {
    schema = 1, extends = "general", superslab.purge = { how = "never" }
});
hak_allocator!("specs/web.toml");

const TIMEOUT: Duration = Duration::from_secs(120);

/// What a burst may leave behind, of its peak.
const LEFT_MAX_PERCENT: usize = 20;

fn burst_bytes() -> usize {
    let soak = std::env::var("HAK_SOAK").map_or(1, |text| text.parse().unwrap());
    GIB.min(soak * 256 * MIB)
}

/// Resident memory before something, and how much of what came on top is left.
struct Usage {
    before: usize,
    peak: usize,
}

impl Usage {
    /// Of a burst.
    fn of_burst(allocator: &(impl GlobalAlloc + Sync), order: Order) -> Self {
        let before = resident();
        let mut peak = 0;
        burst(allocator, burst_bytes(), order, || peak = resident());
        Usage::new(before, peak)
    }

    fn new(before: usize, peak: usize) -> Self {
        assert!(peak > before + 32 * MIB, "{before} and {peak}: nothing to give back");
        Usage { before, peak }
    }

    fn left(&self) -> usize {
        resident().saturating_sub(self.before)
    }

    fn is_little_left(&self) -> bool {
        self.left() * 100 < (self.peak - self.before) * LEFT_MAX_PERCENT
    }

    #[track_caller]
    fn assert_little_is_left(&self, when: &str) {
        let (left, peak) = (self.left() / KIB, (self.peak - self.before) / KIB);
        println!("{when}: {left} KiB of {peak} KiB are left");
        assert!(self.is_little_left(), "{when}: {left} KiB of {peak} KiB are left");
    }

    /// Waits, doing nothing.
    #[track_caller]
    fn assert_little_is_left_in_time(&self, when: &str) {
        let waited = comes_true(|| self.is_little_left());
        println!("{when}: looked for {waited:?}");
        self.assert_little_is_left(when);
    }
}

/// A program that goes quiet after a burst gets its memory back without doing anything.
#[test]
fn the_helper_returns_a_burst() {
    child::run("the_helper_returns_a_burst", TIMEOUT, || {
        let usage = Usage::of_burst(&WithHelper, Order::AsTheyCame);
        usage.assert_little_is_left_in_time("helper");
    });
}

/// The last blocks of a burst that was freed at random stand in every slab, and in caches.
#[test]
fn the_helper_returns_a_burst_freed_at_random() {
    child::run("the_helper_returns_a_burst_freed_at_random", TIMEOUT, || {
        let usage = Usage::of_burst(&WithHelper, Order::Random);
        usage.assert_little_is_left_in_time("helper, freed at random");
    });
}

/// One call is enough, without a delay.
#[test]
fn a_call_returns_a_burst() {
    child::run("a_call_returns_a_burst", TIMEOUT, || {
        for order in [Order::AsTheyCame, Order::Random] {
            let usage = Usage::of_burst(&Never, order);
            Never::purge();
            usage.assert_little_is_left("purge()");
            assert_eq!(Never::stats().held_bytes, 0);
        }
    });
}

/// A little traffic on slow paths returns what is due, in a thread that had no part in the burst.
#[test]
fn traffic_returns_a_burst() {
    child::run("traffic_returns_a_burst", TIMEOUT, || {
        let usage = Usage::of_burst(&WithoutHelper, Order::AsTheyCame);
        let traffic = || {
            // Blocks of a class with few slots: every few of them reach the slabs.
            let some: Vec<_> =
                (0..40).map(|_| Block::new(&WithoutHelper, 30 * KIB).unwrap()).collect();
            free_all(&WithoutHelper, some);
            usage.is_little_left()
        };
        comes_true(traffic);
        usage.assert_little_is_left("traffic");
    });
}

/// With `how = "free"` the system takes the memory when it needs it: no one can wait for that. It
/// is marked at once, which the system counts apart.
#[test]
fn lazily_returned_memory_is_marked() {
    child::run("lazily_returned_memory_is_marked", TIMEOUT, || {
        let block = Block::new(&Lazily, MIB).unwrap().filled(1);
        let other = Block::new(&Lazily, 64 * KIB).unwrap();
        block.free(&Lazily);
        Lazily::purge();
        let marked = Mapping::all().bytes("LazyFree:");
        // The system counts a few OS pages late.
        assert!(marked >= MIB / 2, "{marked} bytes are marked");
        let again = Block::zeroed(&Lazily, MIB).unwrap();
        assert!(again.is_all(0), "lazily returned memory is not taken for zero");
        free_all(&Lazily, vec![other, again]);
    });
}

/// Blocks of 1 KiB go from producers to consumers, which fall behind; then all is quiet.
#[test]
fn produced_and_consumed_memory_is_returned() {
    child::run("produced_and_consumed_memory_is_returned", TIMEOUT, || {
        const BLOCKS: usize = 100_000;
        let before = resident();
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            let produce = |sender: mpsc::Sender<Block>| {
                move || {
                    let block = |_| Block::new(&WithHelper, KIB).unwrap().filled(2);
                    (0..BLOCKS).map(block).for_each(|block| sender.send(block).unwrap());
                }
            };
            let threads = [0, 1].map(|_| scope.spawn(produce(sender.clone())));
            drop(sender);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let usage = Usage::new(before, resident());
        thread::scope(|scope| {
            let consume = || receiver.into_iter().for_each(|block| block.free(&WithHelper));
            scope.spawn(consume).join().unwrap();
        });
        usage.assert_little_is_left_in_time("produced and consumed");
    });
}

/// Many small collections in one, dropped.
#[test]
fn a_million_small_blocks_are_returned() {
    child::run("a_million_small_blocks_are_returned", TIMEOUT, || {
        let before = resident();
        let block = |size| Block::new(&WithHelper, size).unwrap().filled(3);
        let blocks: Vec<_> = (0..1_000_000).map(|nth| block(24 + nth % 5 * 8)).collect();
        let usage = Usage::new(before, resident());
        free_all(&WithHelper, blocks);
        usage.assert_little_is_left_in_time("small blocks, by the same thread");
    });
}

/// Phases that use one class each: memory of one serves the next, so a program needs no more than
/// its largest phase.
#[test]
fn phases_of_different_classes_share_memory() {
    child::run("phases_of_different_classes_share_memory", TIMEOUT, || {
        const LIVE: usize = 64 * MIB;
        let before = resident();
        for phase in 0..14 {
            let size = 256 << (phase * 5 % 7);
            let block = |_| Block::new(&Never, size).unwrap().touched(4);
            let blocks: Vec<_> = (0..LIVE / size).map(block).collect();
            free_all(&Never, blocks);
        }
        // The list of blocks is no part of it.
        let list = LIVE / 256 * size_of::<Block>() * 2;
        let most = peak() - before;
        println!("peak of {} KiB for phases of {} KiB", most / KIB, LIVE / KIB);
        assert!(most <= LIVE * 13 / 10 + list, "{most} bytes for {LIVE} at a time");
    });
}

/// What a request needs for a while does not stay with the shipped spec for services either.
#[test]
fn bursts_on_web_are_returned() {
    child::run("bursts_on_web_are_returned", TIMEOUT, || {
        let usage = Usage::of_burst(&Web, Order::AsTheyCame);
        let traffic = || {
            free_all(&Web, vec![Block::new(&Web, 200 * KIB).unwrap()]);
            usage.is_little_left()
        };
        comes_true(traffic);
        usage.assert_little_is_left("traffic on web");
    });
}
