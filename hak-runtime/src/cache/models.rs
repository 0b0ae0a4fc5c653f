//! Models of magazines that change hands: through the depot, and when a thread ends.

use loom::thread;

use super::*;
use crate::Bin;
use crate::account::{Account, Terms};
use crate::class::{classes, each_slab};
use crate::depot::depots;
use crate::large::Large;
use crate::size_class::SizeClass;
use crate::superslab::UNIT_BYTES;
use crate::sync::modelled::{check, touch};

/// Eight blocks in a slab, two in a magazine, one magazine in the depot.
const SIZES: [SizeClass; 1] = [SizeClass::new([8 << 10, 2, 2, 2, 1], [1, 8])];
const BLOCKS: usize = 8;

static ACCOUNT: Account = Account::new("Model", Terms { limit: UNIT_BYTES, ..Terms::DEFAULT });
static CLASSES: [[Class; 1]; 1] = [classes(&ACCOUNT, SIZES)];
static DEPOTS: [[Depot; 1]; 1] = [depots(SIZES)];
static HEAP: Heap<[[Depot; 1]; 1]> = Heap::new(&ACCOUNT, &CLASSES, &DEPOTS, Large::new(0, 0));

/// A thread's cache, which the thread's end empties.
struct Local(Cache<Bin, 1>);

impl Local {
    fn new() -> Self {
        Local(Cache::new())
    }

    /// Takes a block, and uses it.
    fn alloc(&self) -> *mut u8 {
        // SAFETY: there is one class.
        let bin = unsafe { self.0.bin(0) };
        let block = if bin.is_empty() {
            // SAFETY: the cache is this thread's.
            unsafe { self.0.alloc_slow(&HEAP, 0) }
        } else {
            // SAFETY: the bin is not empty.
            unsafe { bin.pop() }
        };
        assert!(!block.is_null());
        touch(block);
        block
    }

    fn dealloc(&self, block: *mut u8) {
        touch(block);
        // SAFETY: there is one class.
        let bin = unsafe { self.0.bin(0) };
        if bin.is_full() {
            // SAFETY: the cache is this thread's, and models free what they took, once.
            unsafe { self.0.dealloc_slow(&HEAP, 0, block) };
        } else {
            // SAFETY: as above.
            unsafe { bin.push(block) };
        }
    }

    fn dealloc_all<const N: usize>(&self, blocks: [*mut u8; N]) {
        for block in blocks {
            self.dealloc(block);
        }
    }

    /// As the thread key's destructor does it.
    fn end(self) {
        self.0.thread.end();
    }
}

/// Uses all that threads share, before they start.
fn begin() {
    let first = Local::new();
    let blocks = [(); 5].map(|()| first.alloc());
    first.dealloc_all(blocks);
    first.end();
    HEAP.drain_depots();
}

/// No block is lost, no thread is charged for a magazine, and nothing is left in the depot.
fn all_are_there() {
    HEAP.drain_depots();
    assert_eq!(ACCOUNT.cached(), 0);
    let mut slabs = Vec::new();
    each_slab(&CLASSES[0], |_, free| slabs.push(free));
    assert_eq!(slabs, [BLOCKS]);
    let mut blocks = [(); BLOCKS].map(|()| CLASSES[0][0].take_one());
    blocks.sort_unstable();
    assert!(!blocks[0].is_null() && blocks.windows(2).all(|pair| pair[0] != pair[1]));
}

/// One thread frees what fills two magazines and ends; the other allocates meanwhile.
#[test]
fn an_ending_thread_leaves_its_magazines() {
    check(3, || {
        begin();
        let ending = thread::spawn(|| {
            let local = Local::new();
            let blocks = [(); 3].map(|()| local.alloc());
            local.dealloc_all(blocks);
            local.end();
        });
        let local = Local::new();
        let blocks = [(); 3].map(|()| local.alloc());
        local.dealloc_all(blocks);
        ending.join().unwrap();
        local.end();
        all_are_there();
    });
}

/// The depot's only place is wanted by two ending threads.
#[test]
fn two_ending_threads_meet_at_the_depot() {
    check(2, || {
        begin();
        let run = || {
            let local = Local::new();
            let blocks = [(); 4].map(|()| local.alloc());
            local.dealloc_all(blocks);
            local.end();
        };
        let other = thread::spawn(run);
        run();
        other.join().unwrap();
        all_are_there();
    });
}

/// Frees after the thread's end go to the slabs and leave nothing behind.
#[test]
fn a_free_after_the_end_is_not_cached() {
    check(3, || {
        begin();
        let local = Local::new();
        let block = local.alloc();
        let address = block.expose_provenance();
        let other = thread::spawn(move || {
            let local = Local::new();
            local.0.thread.end();
            local.dealloc(ptr::with_exposed_provenance_mut(address));
        });
        let more = [(); 3].map(|()| local.alloc());
        local.dealloc_all(more);
        other.join().unwrap();
        local.end();
        all_are_there();
    });
}
