//! What a quarantine holds, and for how long.

use super::*;
use crate::account::{Account, Terms};
use crate::class::classes;
use crate::depot::NoDepot;
use crate::large::Large;
use crate::parcel::FullMagazine;
use crate::size_class::SizeClass;

const SIZES: [SizeClass; 2] =
    [SizeClass::new([64, 64, 16, 16, 0], [1, 1024]), SizeClass::new([16_384, 2, 2, 2, 0], [2, 8])];
/// Four blocks of the first class, less than one of the second.
const BYTES: usize = 256;

type Subject = &'static Heap<NoDepot<FullMagazine>>;

fn heap(terms: Terms) -> Subject {
    let account = Box::leak(Box::new(Account::new("Test", terms)));
    let shards: &'static _ = Box::leak(Box::new([classes(account, SIZES)]));
    let heap = Heap::new(
        account,
        shards,
        const { &NoDepot::<FullMagazine>::new() },
        Large::new(1 << 20, 0),
    );
    Box::leak(Box::new(heap))
}

fn quarantine() -> &'static Quarantine<2> {
    Box::leak(Box::new(Quarantine::new(BYTES)))
}

/// Takes some blocks of a class, holds them back, and says what left for each.
fn hold_all(
    heap: Subject,
    quarantine: &Quarantine<2>,
    number: usize,
    count: usize,
) -> (Vec<*mut u8>, Vec<Option<NonNull<u8>>>) {
    let blocks: Vec<_> = (0..count).map(|_| heap.classes[number].take_one()).collect();
    // SAFETY: the blocks are ours, and the quarantine is this thread's.
    let hold = |&block| unsafe { quarantine.hold(heap, number, block) };
    let left = blocks.iter().map(hold).collect();
    (blocks, left)
}

fn out(heap: Subject, number: usize) -> usize {
    let stats = heap.stats::<2>();
    stats.classes[number].blocks_out
}

#[test]
fn who_came_first_leaves_first() {
    let (heap, quarantine) = (heap(Terms::DEFAULT), quarantine());
    let (blocks, left) = hold_all(heap, quarantine, 0, 11);
    assert_eq!(left[..4], [None; 4]);
    let left: Vec<_> = left[4..].iter().map(|block| block.unwrap().as_ptr()).collect();
    assert_eq!(left, blocks[..7]);
    assert_eq!(heap.account.cached(), BYTES);
    // SAFETY: those that left are ours again.
    unsafe { heap.classes[0].give_back(&left) };
    assert_eq!(out(heap, 0), 4);
    // SAFETY: the quarantine is this thread's.
    unsafe { quarantine.flush(heap) };
    assert_eq!((out(heap, 0), heap.account.cached()), (0, 0));
}

#[test]
fn a_ring_holds_at_least_one_block() {
    let (heap, quarantine) = (heap(Terms::DEFAULT), quarantine());
    let (blocks, left) = hold_all(heap, quarantine, 1, 2);
    assert_eq!(left, [None, NonNull::new(blocks[0])]);
    assert_eq!(heap.account.cached(), 16_384);
}

#[test]
fn at_the_cache_limit_blocks_pass_through() {
    let heap = heap(Terms { cache_limit: BYTES - 1, ..Terms::DEFAULT });
    let (blocks, left) = hold_all(heap, quarantine(), 0, 3);
    assert!(blocks.iter().zip(left).all(|(&block, left)| left == NonNull::new(block)));
    assert_eq!(heap.account.cached(), 0);
}

#[test]
fn an_ended_thread_holds_nothing() {
    let heap = heap(Terms::DEFAULT);
    let thread = std::thread::spawn(move || {
        let quarantine = quarantine();
        hold_all(heap, quarantine, 0, 3);
        hold_all(heap, quarantine, 1, 1);
        assert_eq!((out(heap, 0), out(heap, 1)), (3, 1));
    });
    thread.join().unwrap();
    assert_eq!((out(heap, 0), out(heap, 1), heap.account.cached()), (0, 0, 0));
}

#[test]
fn a_thread_that_may_not_cache_holds_nothing() {
    let (heap, quarantine) = (heap(Terms::DEFAULT), quarantine());
    quarantine.thread.end();
    let (blocks, left) = hold_all(heap, quarantine, 0, 1);
    assert_eq!(left, [NonNull::new(blocks[0])]);
}
