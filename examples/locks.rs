//! How often the locks of a class are taken, for three ways of using memory and several numbers of
//! shards. A count, not a time: it says what a machine with more cores would meet.
//!
//! `cargo run --release --example locks`

use std::alloc::{GlobalAlloc, Layout};
use std::sync::mpsc;
use std::thread;

use hak::hak_allocator;

hak_allocator!(struct One = { schema = 1, extends = "general", superslab.shards = 1 });
hak_allocator!(struct Two = { schema = 1, extends = "general", superslab.shards = 2 });
hak_allocator!(struct Four = { schema = 1, extends = "general", superslab.shards = 4 });
hak_allocator!(struct Eight = { schema = 1, extends = "general", superslab.shards = 8 });

const THREADS: usize = 8;
const OPERATIONS: usize = 1_000_000;
const BURST: usize = 1000;

/// Blocks of the class of 64 bytes.
fn layout() -> Layout {
    Layout::from_size_align(64, 8).unwrap()
}

struct Block(*mut u8);

// SAFETY: whoever has a block owns it.
unsafe impl Send for Block {}

fn alloc(allocator: &impl GlobalAlloc) -> Block {
    // SAFETY: the layout has bytes.
    Block(unsafe { allocator.alloc(layout()) })
}

fn free(allocator: &impl GlobalAlloc, block: Block) {
    // SAFETY: the block came from `alloc`.
    unsafe { allocator.dealloc(block.0, layout()) };
}

/// A block at a time.
fn alternating(allocator: &(impl GlobalAlloc + Sync)) {
    each_thread(|| (0..OPERATIONS / 2).for_each(|_| free(allocator, alloc(allocator))));
}

/// A thousand blocks, then their end.
fn bursts(allocator: &(impl GlobalAlloc + Sync)) {
    each_thread(|| {
        for _ in 0..OPERATIONS / 2 / BURST {
            let blocks: Vec<_> = (0..BURST).map(|_| alloc(allocator)).collect();
            blocks.into_iter().for_each(|block| free(allocator, block));
        }
    });
}

fn each_thread(work: impl Fn() + Sync) {
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(&work))));
}

/// Half of the threads allocate what the other half frees, a hundred blocks at a time.
fn handing_over(allocator: &(impl GlobalAlloc + Sync)) {
    thread::scope(|scope| {
        for _ in 0..THREADS / 2 {
            let (sender, receiver) = mpsc::sync_channel::<Vec<Block>>(16);
            scope.spawn(move || {
                for _ in 0..OPERATIONS / 100 {
                    sender.send((0..100).map(|_| alloc(allocator)).collect()).unwrap();
                }
            });
            scope.spawn(move || {
                receiver.into_iter().flatten().for_each(|block| free(allocator, block));
            });
        }
    });
}

fn main() {
    println!("{THREADS} threads, {OPERATIONS} operations each, blocks of 64 bytes");
    println!("locks taken per million operations; in brackets, of one shard");
    println!("shards   alternating        bursts   handing over");
    macro_rules! row {
        ($shards:literal, $allocator:ident) => {
            let locks = || $allocator::stats().classes.iter().map(|class| class.locks).sum();
            row($shards, &$allocator, locks);
        };
    }
    row!(1, One);
    row!(2, Two);
    row!(4, Four);
    row!(8, Eight);
}

fn row(shards: u64, allocator: &(impl GlobalAlloc + Sync), locks: impl Fn() -> u64) {
    let count = |work: &dyn Fn()| {
        let before = locks();
        work();
        (locks() - before) / (THREADS * OPERATIONS / 1_000_000) as u64
    };
    let counts = [
        count(&|| alternating(allocator)),
        count(&|| bursts(allocator)),
        count(&|| {
            handing_over(allocator);
        }),
    ];
    let cells = counts.map(|count| format!("{count:>6} ({:>4})", count / shards));
    println!("{shards:>6} {}", cells.join("  "));
}
