//! Threads that allocate, resize, pass on and free blocks at random, and one map of all live blocks
//! that catches any two that overlap.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

/// To whom a thread passes blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Nobody: each frees its own.
    Own,
    /// The next thread.
    Ring,
    /// The first thread.
    AllToOne,
    /// Any thread.
    Random,
}

impl Pattern {
    /// All of them.
    pub(crate) const ALL: [Pattern; 4] =
        [Pattern::Own, Pattern::Ring, Pattern::AllToOne, Pattern::Random];

    fn receiver(self, sender: usize, threads: usize, random: usize) -> Option<usize> {
        match self {
            Pattern::Own => None,
            Pattern::Ring => Some((sender + 1) % threads),
            Pattern::AllToOne => Some(0),
            Pattern::Random => Some(random % threads),
        }
    }
}

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Threads at a time.
    pub(crate) threads: usize,
    /// Operations of each.
    pub(crate) operations: usize,
    /// To whom blocks are passed.
    pub(crate) pattern: Pattern,
    /// Where the random numbers start.
    pub(crate) seed: u64,
}

/// Most blocks a thread holds.
const HELD_MAX: usize = 300;

struct Block {
    start: *mut u8,
    layout: Layout,
    mark: u8,
}

// SAFETY: a block belongs to whoever holds it.
unsafe impl Send for Block {}

/// All live blocks: start and end.
#[derive(Default)]
struct Map(Mutex<BTreeMap<usize, usize>>);

impl Map {
    fn enter(&self, block: &Block) {
        let (start, end) = (block.start.addr(), block.start.addr() + block.layout.size());
        let mut live = self.0.lock().unwrap();
        if let Some((&before, &before_end)) = live.range(..end).next_back() {
            assert!(before_end <= start, "{start:x}..{end:x} overlaps {before:x}..{before_end:x}");
        }
        live.insert(start, end);
    }

    fn leave(&self, block: &Block) {
        assert!(self.0.lock().unwrap().remove(&block.start.addr()).is_some());
    }
}

/// A generator of George Marsaglia's xorshift family.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `end`, by multiplication.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(((self.next() >> 32) * end as u64) >> 32).unwrap()
    }

    /// Every magnitude up to 64 KiB alike, and now and then up to 4 MiB.
    fn layout(&mut self) -> Layout {
        let bits = if self.below(200) == 0 { 16 + self.below(7) } else { self.below(17) };
        let size = (1 << bits) / 2 + self.below(1 << bits) / 2 + 1;
        let align = if self.below(8) == 0 { 1 << self.below(14) } else { 8 };
        Layout::from_size_align(size, align).unwrap()
    }
}

/// One thread at work.
struct Worker<'a, A: GlobalAlloc> {
    allocator: &'a A,
    map: &'a Map,
    random: Random,
    held: Vec<Block>,
}

impl<A: GlobalAlloc> Worker<'_, A> {
    fn alloc(&mut self) {
        let layout = self.random.layout();
        let zeroed = self.random.below(4) == 0;
        let start = if zeroed {
            // SAFETY: the layout has bytes.
            unsafe { self.allocator.alloc_zeroed(layout) }
        } else {
            // SAFETY: the layout has bytes.
            unsafe { self.allocator.alloc(layout) }
        };
        assert!(!start.is_null() && start.addr().is_multiple_of(layout.align()));
        if zeroed {
            check(start, layout.size(), 0);
        }
        self.hold(start, layout);
    }

    fn hold(&mut self, start: *mut u8, layout: Layout) {
        let mark = u8::try_from(self.random.below(250) + 1).unwrap();
        let block = Block { start, layout, mark };
        self.map.enter(&block);
        fill(start, layout.size(), mark);
        self.held.push(block);
    }

    fn realloc(&mut self) {
        let Some(block) = self.take() else { return };
        check(block.start, block.layout.size(), block.mark);
        self.map.leave(&block);
        let size = self.random.layout().size();
        // SAFETY: the block is ours, and the size is not 0.
        let moved = unsafe { self.allocator.realloc(block.start, block.layout, size) };
        assert!(!moved.is_null() && moved.addr().is_multiple_of(block.layout.align()));
        check(moved, EDGE.min(size).min(block.layout.size()), block.mark);
        self.hold(moved, Layout::from_size_align(size, block.layout.align()).unwrap());
    }

    fn free(&mut self, block: Block) {
        check(block.start, block.layout.size(), block.mark);
        self.map.leave(&block);
        // SAFETY: the block is ours.
        unsafe { self.allocator.dealloc(block.start, block.layout) };
    }

    fn take(&mut self) -> Option<Block> {
        if self.held.is_empty() {
            return None;
        }
        let nth = self.random.below(self.held.len());
        Some(self.held.swap_remove(nth))
    }

    fn step(&mut self, plan: &Plan, number: usize, inboxes: &[Mutex<Vec<Block>>]) {
        let full = self.held.len() >= HELD_MAX;
        match self.random.below(20) {
            0..9 if !full => self.alloc(),
            9..11 => self.realloc(),
            11..14 => {
                let random = self.random.below(plan.threads);
                if let Some(to) = plan.pattern.receiver(number, plan.threads, random)
                    && let Some(block) = self.take()
                {
                    inboxes[to].lock().unwrap().push(block);
                }
            }
            _ => {
                if let Some(block) = self.take() {
                    self.free(block);
                }
            }
        }
    }

    fn empty(&mut self, inbox: &Mutex<Vec<Block>>) {
        let blocks = std::mem::take(&mut *inbox.lock().unwrap());
        blocks.into_iter().for_each(|block| self.free(block));
    }
}

/// Carries out a plan; says how many operations that were.
pub(crate) fn run<A: GlobalAlloc + Sync>(allocator: &A, plan: Plan) -> usize {
    let map = Map::default();
    let inboxes: Vec<Mutex<Vec<Block>>> = (0..plan.threads).map(|_| Mutex::default()).collect();
    let work = |number: usize| {
        let random = Random((plan.seed + number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut worker = Worker { allocator, map: &map, random, held: Vec::new() };
        for step in 0..plan.operations {
            worker.step(&plan, number, &inboxes);
            if step % 16 == 0 {
                worker.empty(&inboxes[number]);
            }
        }
        while let Some(block) = worker.take() {
            worker.free(block);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..plan.threads).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // What was sent to a thread that had ended.
    let mut last = Worker { allocator, map: &map, random: Random(1), held: Vec::new() };
    inboxes.iter().for_each(|inbox| last.empty(inbox));
    assert!(map.0.lock().unwrap().is_empty());
    plan.threads * plan.operations
}

/// Bytes written and read at both ends of a block.
const EDGE: usize = 512;

fn edges(size: usize) -> [std::ops::Range<usize>; 2] {
    [0..size.min(EDGE), size.saturating_sub(EDGE)..size]
}

fn fill(start: *mut u8, size: usize, mark: u8) {
    for edge in edges(size) {
        // SAFETY: the range lies within a live block of the caller's.
        let from = unsafe { start.add(edge.start) };
        // SAFETY: as above.
        unsafe { from.write_bytes(mark, edge.len()) };
    }
}

fn check(start: *mut u8, size: usize, mark: u8) {
    for at in edges(size).into_iter().flatten() {
        // SAFETY: the byte lies within a live block of the caller's.
        let byte = unsafe { start.add(at) };
        // SAFETY: as above, and it was written.
        assert_eq!(unsafe { byte.read() }, mark, "byte {at} of {size} at {start:p}");
    }
}
