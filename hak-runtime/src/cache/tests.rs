//! What caches do at the edges: no magazine, no memory, no more to cache, the thread's end.

mod closed;
mod programs;
mod subject;

use std::alloc::Layout;

use crate::account::Terms;
use crate::arena;
use crate::os::fake::{self, Habits};
use crate::superslab::UNIT_BYTES;
use crate::{Adaptive, AtMost, Bin, Chains, List, Magazines, Want};
use subject::{Allocator, Hit};

/// Class 0 of the subject: 64 blocks in a magazine, prewarm 8, refill 16, 4096 in a slab.
const OF_16: Layout = Layout::new::<[u8; 16]>();
/// Class 1 of the subject: 8 blocks in a magazine, prewarm 4, refill 8, 1 magazine in the depot.
const OF_256: Layout = Layout::new::<[u8; 256]>();
const MAGAZINE_BYTES: usize = 8 * 256;
/// Class 2 of the subject.
const OF_1024: Layout = Layout::new::<[u8; 1024]>();

fn alloc<F: Hit>(allocator: Allocator<F>, layout: Layout, count: usize) -> Vec<*mut u8> {
    let blocks: Vec<_> = (0..count).map(|_| allocator.alloc(layout, Want::Bytes)).collect();
    assert!(blocks.iter().all(|block| !block.is_null()));
    blocks
}

fn dealloc<F: Hit>(allocator: Allocator<F>, layout: Layout, blocks: Vec<*mut u8>) {
    // SAFETY: the tests give what they got from `alloc`, once.
    blocks.into_iter().for_each(|block| unsafe { allocator.dealloc(block, layout) });
}

fn cached<F: Hit>(allocator: Allocator<F>) -> usize {
    allocator.heap.account.cached()
}

#[test]
fn magazines_go_to_the_depot_and_come_back() {
    let allocator = Allocator::<Bin>::new(Terms::DEFAULT);
    // 4, 8 and 8 come from slabs.
    let blocks = alloc(allocator, OF_256, 20);
    dealloc(allocator, OF_256, blocks);
    let before = allocator.stats().classes[1];
    assert_eq!((before.blocks_in_depot, before.exchanges), (8, 0));
    assert_eq!(before.blocks_out, 20, "one magazine and a half are the thread's");
    alloc(allocator, OF_256, 20);
    let after = allocator.stats().classes[1];
    assert_eq!((after.blocks_in_depot, after.exchanges), (0, 1));
    assert_eq!(after.refills, before.refills);
}

#[test]
fn a_first_use_prewarms_and_later_ones_refill() {
    let allocator = Allocator::<Bin>::new(Terms::DEFAULT);
    let supplied = || allocator.stats().classes[1].supplied;
    let first = alloc(allocator, OF_256, 4);
    assert_eq!(supplied(), 4);
    let fifth = alloc(allocator, OF_256, 1);
    assert_eq!(supplied(), 12);
    dealloc(allocator, OF_256, [first, fifth].concat());
}

/// At each place down to the lowest, where the magazine's head is read.
#[test]
fn a_prefetch_follows_any_pop() {
    let allocator = Allocator::<Bin>::new(Terms::DEFAULT);
    let first = alloc(allocator, OF_256, 1);
    let bin = &allocator.cache.fronts[1];
    while !bin.is_empty() {
        // SAFETY: not empty.
        let block = unsafe { bin.pop() };
        // SAFETY: a block was popped.
        unsafe { bin.prefetch() };
        // SAFETY: the block came from the allocator, once.
        unsafe { allocator.heap.at(1).0.give_back(&[block]) };
    }
    dealloc(allocator, OF_256, first);
}

#[test]
fn a_thread_that_may_not_cache_uses_slabs() {
    let allocator = Allocator::<Bin>::new(Terms::DEFAULT);
    allocator.cache.thread.end();
    let blocks = alloc(allocator, OF_256, 20);
    assert_eq!(allocator.stats().classes[1].blocks_out, 20);
    dealloc(allocator, OF_256, blocks);
    assert_eq!(allocator.stats().classes[1].blocks_out, 0);
    assert_eq!(cached(allocator), 0);
}

#[test]
fn at_the_cache_limit_one_magazine_will_do() {
    let allocator = Allocator::<Bin>::new(Terms { cache_limit: MAGAZINE_BYTES, ..Terms::DEFAULT });
    let blocks = alloc(allocator, OF_256, 30);
    dealloc(allocator, OF_256, blocks);
    assert_eq!(cached(allocator), MAGAZINE_BYTES);
    assert!(allocator.stats().classes[1].blocks_out <= 8);
}

/// The arena is everyone's, so others may put an object back in between: then it is tried again.
#[test]
fn without_memory_for_a_magazine_nothing_is_charged() {
    let object_bytes = 8 + 64 * size_of::<*mut u8>();
    let allocator = Allocator::<Bin>::new(Terms::DEFAULT);
    let held = allocator.heap.classes[0].take_one();
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    let mut objects = Vec::new();
    let was_refused = (0..1000).any(|_| {
        objects.extend(core::iter::from_fn(|| arena::alloc(object_bytes)));
        let block = alloc(allocator, OF_16, 1);
        dealloc(allocator, OF_16, block);
        let has_none = allocator.cache.fronts[0].loaded().is_none();
        assert_eq!(cached(allocator) == 0, has_none);
        allocator.flush();
        has_none
    });
    fake::behave(Habits::USUAL);
    assert!(was_refused);
    // SAFETY: they came from there with this size.
    objects.into_iter().for_each(|object| unsafe { arena::free(object, object_bytes) });
    dealloc(allocator, OF_16, vec![held]);
}

#[test]
fn a_bin_without_a_magazine_gets_one_when_others_gave_theirs() {
    let allocator = Allocator::<Bin>::new(Terms { cache_limit: 2 * 1024 + 2048, ..Terms::DEFAULT });
    let of_256 = alloc(allocator, OF_256, 1);
    let of_1024 = alloc(allocator, OF_1024, 3);
    let bin = &allocator.cache.fronts[2];
    assert!(bin.is_empty() && bin.is_full(), "there is no room for a magazine of 4096 bytes");
    allocator.flush();
    dealloc(allocator, OF_1024, of_1024);
    assert!(!bin.is_empty() && !bin.is_full());
    assert_eq!(cached(allocator), 4 * 1024);
    dealloc(allocator, OF_256, of_256);
    assert_eq!(cached(allocator), 4 * 1024);
}

#[test]
fn at_the_limit_a_thread_gives_up_what_it_caches() {
    let allocator = Allocator::<Bin>::new(Terms { limit: UNIT_BYTES, ..Terms::DEFAULT });
    let blocks = alloc(allocator, OF_256, 20);
    dealloc(allocator, OF_256, blocks);
    let of_1024 = alloc(allocator, OF_1024, 1);
    assert_eq!(allocator.stats().classes[1].slabs, 0);
    assert!(allocator.alloc(OF_256, Want::Bytes).is_null());
    dealloc(allocator, OF_1024, of_1024);
    alloc(allocator, OF_256, 1);
}

#[test]
fn an_ending_thread_keeps_nothing() {
    let heap = std::thread::spawn(|| {
        let allocator = Allocator::<Bin>::new(Terms::DEFAULT);
        let blocks = alloc(allocator, OF_256, 30);
        dealloc(allocator, OF_256, blocks);
        let block = alloc(allocator, OF_1024, 1);
        dealloc(allocator, OF_1024, block);
        allocator.heap
    })
    .join()
    .unwrap();
    let stats = heap.stats::<5>();
    assert_eq!(stats.cache_bytes_max, 0);
    assert_eq!(stats.classes.map(|class| class.blocks_out), [0, 8, 0, 0, 0]);
    assert_eq!(stats.classes[1].blocks_in_depot, 8);
}

/// Each kind of front, with what it may keep of 256-byte blocks on a thread: 8 in front, and 8
/// behind.
macro_rules! each_front {
    ($test:ident) => {
        $test::<Bin>();
        $test::<Bin<Magazines<AtMost<1>>>>();
        $test::<Bin<Magazines<Adaptive<1, 4>>>>();
        $test::<List>();
        $test::<List<Chains<Adaptive<1, 4>>>>();
        $test::<Bin<Chains<AtMost<2>>>>();
        $test::<Bin<Chains<Adaptive<2, 8>>>>();
    };
}

#[test]
fn all_fronts_keep_two_magazines_worth_and_give_the_rest_on() {
    fn check<F: Hit>() {
        let allocator = Allocator::<F>::new(Terms::DEFAULT);
        let blocks = alloc(allocator, OF_256, 40);
        dealloc(allocator, OF_256, blocks);
        let stats = allocator.stats().classes[1];
        let on_thread = stats.blocks_out - stats.blocks_in_depot;
        assert!((9..=16).contains(&on_thread), "{on_thread}");
        assert!(stats.blocks_in_depot > 0);
        assert_eq!(cached(allocator), 2 * MAGAZINE_BYTES);
        allocator.flush();
        assert_eq!((allocator.stats().classes[1].blocks_out, cached(allocator)), (0, 0));
    }
    each_front!(check);
}

#[test]
fn all_fronts_hand_out_the_block_that_came_last() {
    fn check<F: Hit>() {
        let allocator = Allocator::<F>::new(Terms::DEFAULT);
        let blocks = alloc(allocator, OF_256, 13);
        dealloc(allocator, OF_256, blocks.clone());
        assert_eq!(alloc(allocator, OF_256, 3), [blocks[12], blocks[11], blocks[10]]);
    }
    each_front!(check);
}

#[test]
fn all_fronts_live_without_a_cache() {
    fn check<F: Hit>() {
        let allocator = Allocator::<F>::new(Terms { cache_limit: 0, ..Terms::DEFAULT });
        let blocks = alloc(allocator, OF_256, 40);
        dealloc(allocator, OF_256, blocks);
        assert_eq!(allocator.stats().classes[1].blocks_out, 0);
        assert_eq!(cached(allocator), 0);
    }
    each_front!(check);
}

/// What a thread leaves in the depot when it ends with two magazines' worth.
fn left_by<F: Hit>() -> usize {
    let heap = std::thread::spawn(|| {
        let allocator = Allocator::<F>::new(Terms::DEFAULT);
        let blocks = alloc(allocator, OF_256, 16);
        dealloc(allocator, OF_256, blocks);
        allocator.heap
    });
    let stats = heap.join().unwrap().stats::<5>();
    assert_eq!(stats.cache_bytes_max, 0);
    assert_eq!(stats.classes[1].blocks_out, stats.classes[1].blocks_in_depot);
    stats.classes[1].blocks_in_depot
}

#[test]
fn all_fronts_leave_parcels_to_the_depot_when_their_thread_ends() {
    fn check<F: Hit>() {
        assert!(left_by::<F>() > 0);
    }
    each_front!(check);
    assert_eq!(left_by::<Bin>(), 8);
    assert_eq!(left_by::<List>(), 8);
    assert_eq!(left_by::<Bin<Chains<AtMost<2>>>>(), 4, "one parcel, and half as large");
}

/// A program that goes up and down by more than two magazines hold misses less and less often.
#[test]
fn an_adaptive_bound_follows_the_misses() {
    fn locks<F: Hit>() -> [u64; 2] {
        let allocator = Allocator::<F>::new(Terms::DEFAULT);
        let count = |rounds| {
            let before = allocator.stats().classes[1].locks;
            for _ in 0..rounds {
                let blocks = alloc(allocator, OF_256, 30);
                dealloc(allocator, OF_256, blocks);
            }
            allocator.stats().classes[1].locks - before
        };
        count(10);
        let locks = count(100);
        let others = alloc(allocator, OF_1024, 400);
        dealloc(allocator, OF_1024, others);
        assert!(cached(allocator) < 4 * MAGAZINE_BYTES + 100 * 4 * 1024);
        [locks, allocator.stats().classes[1].blocks_out as u64]
    }
    assert!(locks::<Bin>()[0] > 100);
    assert!(locks::<List>()[0] > 100);
    assert!(locks::<Bin<Chains<AtMost<2>>>>()[0] > 100);
    // What the busy class gained it loses again while another one misses.
    for [locks, out] in [
        locks::<Bin<Magazines<Adaptive<1, 4>>>>(),
        locks::<List<Chains<Adaptive<1, 4>>>>(),
        locks::<Bin<Chains<Adaptive<2, 8>>>>(),
    ] {
        assert_eq!(locks, 0);
        assert!(out <= 24, "{out}");
    }
}
