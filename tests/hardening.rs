//! Random placement and quarantine: what they promise, by statistics and by count.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeSet;
use std::thread;

use hak::hak_allocator;

/// A magazine's blocks come from slabs at once, so that each alloc chooses among many.
const SLOTS: usize = 64;

hak_allocator!(struct Shuffled = {
    schema = 1, classes.sizes = [64], cache.slots = 64, cache.refill = { default = 64 },
    validation = { random = true, seed = 42 },
});
// The same spec: another allocator, with generators of its own.
hak_allocator!(struct ShuffledAgain = {
    schema = 1, classes.sizes = [64], cache.slots = 64, cache.refill = { default = 64 },
    validation = { random = true, seed = 42 },
});
hak_allocator!(struct Unseeded = {
    schema = 1, classes.sizes = [64], cache.slots = 64, cache.refill = { default = 64 },
    validation = { random = true },
});
hak_allocator!(struct Held = {
    schema = 1, classes.sizes = [64, 4096],
    validation = { quarantine = true, quarantine_bytes = "4 KiB" },
});
hak_allocator!(struct HeldShort = {
    schema = 1, classes.sizes = [4096],
    validation = { quarantine = true, quarantine_bytes = 16 },
});
hak_allocator!(struct HeldTight = {
    schema = 1, superslab.limit = "512 KiB",
    validation = { quarantine = true, quarantine_bytes = "4 KiB" },
});
hak_allocator!(struct GuardedAlone = {
    schema = 1, classes.sizes = [64], validation.guard = true,
});

const OF_64: Layout = Layout::new::<[u8; 64]>();
const OF_4096: Layout = Layout::new::<[u8; 4096]>();

fn alloc<A: GlobalAlloc>(allocator: &A, layout: Layout) -> *mut u8 {
    // SAFETY: the layout has bytes.
    let block = unsafe { allocator.alloc(layout) };
    assert!(!block.is_null());
    block
}

fn free<A: GlobalAlloc>(allocator: &A, block: *mut u8, layout: Layout) {
    // SAFETY: callers free what they got from `alloc`, once.
    unsafe { allocator.dealloc(block, layout) };
}

/// The order, by address, in which the blocks of a full magazine are handed out: a permutation.
fn order<A: GlobalAlloc>(allocator: &A) -> Vec<usize> {
    let blocks: Vec<_> = (0..SLOTS).map(|_| alloc(allocator, OF_64)).collect();
    let mut sorted: Vec<_> = blocks.iter().map(|block| block.addr()).collect();
    sorted.sort_unstable();
    let ranks = blocks.iter().map(|block| sorted.binary_search(&block.addr()).unwrap()).collect();
    blocks.into_iter().for_each(|block| free(allocator, block, OF_64));
    ranks
}

/// Chi square of how often each of 64 blocks came first, and of each place of the lowest block,
/// over 6400 magazines. Its mean is 63, and one in a million exceeds 131.
#[test]
fn each_block_is_as_likely_as_the_others() {
    const ROUNDS: usize = 6400;
    let (mut firsts, mut places) = ([0_usize; SLOTS], [0_usize; SLOTS]);
    for _ in 0..ROUNDS {
        let order = order(&Shuffled);
        firsts[order[0]] += 1;
        places[order.iter().position(|&rank| rank == 0).unwrap()] += 1;
    }
    for counts in [firsts, places] {
        let expected = (ROUNDS / SLOTS) as f64;
        let off = |&count: &usize| (count as f64 - expected).powi(2) / expected;
        let chi_square: f64 = counts.iter().map(off).sum();
        println!("chi square {chi_square:.1}");
        assert!((20.0..131.0).contains(&chi_square), "{counts:?}");
    }
}

/// Each thread gets numbers of its own, by the order in which they come: here one after the other.
#[test]
fn a_seed_gives_the_same_order_again() {
    let orders = |order: fn() -> Vec<usize>| {
        [(); 2].map(|()| thread::spawn(order).join().expect("it does not panic"))
    };
    let first = orders(|| order(&ShuffledAgain));
    assert_ne!(first[0], first[1], "two threads");
    assert_ne!(first[0], (0..SLOTS).collect::<Vec<_>>(), "in order");
    // From the system: no two alike, by chance of one in 64!.
    let unseeded = orders(|| order(&Unseeded));
    assert_ne!(unseeded[0], unseeded[1]);
}

/// After how many frees of its class a block that was freed is handed out again.
fn held_for<A: GlobalAlloc>(allocator: &A, layout: Layout) -> usize {
    let block = alloc(allocator, layout);
    free(allocator, block, layout);
    let mut frees = 1;
    loop {
        // All that is free: the block is among them as soon as it left.
        let others: Vec<_> = (0..300).map(|_| alloc(allocator, layout)).collect();
        let is_back = others.contains(&block);
        let distinct: BTreeSet<_> = others.iter().collect();
        assert_eq!(distinct.len(), others.len());
        if is_back {
            return frees;
        }
        free(allocator, others[0], layout);
        frees += 1;
        assert!(frees < 1000, "it never comes back");
    }
}

/// A ring of 4 KiB holds 64 blocks of 64 bytes, and one of 4096.
#[test]
fn a_quarantine_is_bounded_in_bytes() {
    assert_eq!(held_for(&Held, OF_64), 65);
    assert_eq!(held_for(&Held, OF_4096), 2);
    assert_eq!(held_for(&HeldShort, OF_4096), 2, "one at least");
    let before = Held::stats().cache_bytes_max;
    thread::spawn(|| {
        let blocks: Vec<_> = (0..1000).map(|_| alloc(&Held, OF_64)).collect();
        blocks.into_iter().for_each(|block| free(&Held, block, OF_64));
    })
    .join()
    .unwrap();
    assert_eq!(Held::stats().cache_bytes_max, before, "the thread's ring is gone");
}

/// A slab of each of these classes is more than the limit: each slab but the newest is kept by a
/// block that waits.
#[test]
fn what_waits_is_given_up_before_memory_is_refused() {
    let small = (1..=40).map(|number| Layout::from_size_align(number * 64, 8).unwrap());
    let large = Layout::from_size_align(100_000, 8).unwrap();
    for layout in small.chain([large]) {
        let block = alloc(&HeldTight, layout);
        free(&HeldTight, block, layout);
    }
}

/// A process may have 65 530 mappings, and each guarded block is at least two.
#[test]
fn many_large_blocks_do_without_guards() {
    const COUNT: usize = 80_000;
    let layout = Layout::new::<[u8; 4096]>();
    let blocks: Vec<_> = (0..COUNT).map(|_| alloc(&GuardedAlone, layout)).collect();
    let small = alloc(&GuardedAlone, OF_64);
    free(&GuardedAlone, small, OF_64);
    blocks.into_iter().for_each(|block| free(&GuardedAlone, block, layout));
}
