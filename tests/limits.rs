//! What a spec says about an allocator's memory: its limit, huge pages, and memory made resident
//! ahead.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/system.rs"]
mod system;

use std::alloc::{GlobalAlloc, Layout};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use blocks::{Block, Random, free_all};
use hak::hak_allocator;
use system::{KIB, MIB, Mapping};

const LIMIT: usize = 64 * MIB;
const SUPERSLAB: usize = 2 * MIB;

// A test each, since they run side by side.
hak_allocator!(struct Filled = { schema = 1, extends = "general", superslab.limit = "64 MiB" });
hak_allocator!(struct Mixed = { schema = 1, extends = "general", superslab.limit = "64 MiB" });
hak_allocator!(struct Refilled = { schema = 1, extends = "general", superslab.limit = "64 MiB" });
hak_allocator!(struct Resized = { schema = 1, extends = "general", superslab.limit = "64 MiB" });
hak_allocator!(struct Crowded = { schema = 1, extends = "general", superslab.limit = "64 MiB" });
hak_allocator!(struct Disturbed = { schema = 1, extends = "general", superslab.limit = "64 MiB" });
hak_allocator!(struct Advised = {
    schema = 1, extends = "general", superslab.huge_pages = "advise"
});
hak_allocator!(struct NotAdvised = { schema = 1, extends = "general" });
hak_allocator!(struct Growing = {
    schema = 1, extends = "general", superslab.prefault = "growing"
});
hak_allocator!(struct NotGrowing = { schema = 1, extends = "general", superslab.prefault = false });
hak_allocator!(struct Prefaulted = { schema = 1, extends = "general", superslab.prefault = true });

const TIMEOUT: Duration = Duration::from_secs(60);

/// Allocates blocks of one size until there is no more.
fn fill(allocator: &impl GlobalAlloc, size: usize) -> Vec<Block> {
    std::iter::from_fn(|| Block::new(allocator, size)).collect()
}

/// Every kind of block fills the limit to the last tenth, again and again.
#[test]
fn each_kind_fills_the_limit() {
    for size in [64, 3000, 32 * KIB, 64 * KIB, 960 * KIB, 4 * MIB, 3 * MIB, 112, MIB, 31 * MIB] {
        let blocks = fill(&Filled, size);
        let bytes = blocks.len() * size;
        assert!(bytes <= LIMIT, "{bytes} bytes of blocks of {size}");
        assert!(bytes >= LIMIT * 9 / 10, "only {bytes} bytes of blocks of {size}");
        assert!(Filled::stats().held_bytes <= LIMIT);
        // With one block less there is room for one.
        let mut blocks = blocks;
        blocks.swap_remove(blocks.len() / 2).free(&Filled);
        blocks.push(Block::new(&Filled, size).expect("one was freed"));
        assert!(Block::new(&Filled, 64 * MIB).is_none());
        free_all(&Filled, blocks);
    }
    Filled::purge();
    assert_eq!(Filled::stats().held_bytes, 0, "nothing is lost");
}

/// Blocks of all kinds at once; what is live stays as it was when a request is refused.
#[test]
fn all_kinds_share_the_limit() {
    let mut random = Random(1);
    let mut blocks: Vec<Block> = Vec::new();
    let mut refused = 0;
    for step in 0..20_000 {
        let size = match random.below(10) {
            0 => 64 * KIB + random.below(900 * KIB),
            1 => MIB + random.below(6 * MIB),
            _ => random.small_size(),
        };
        match Block::new(&Mixed, size) {
            Some(block) => {
                block.put(0, 1);
                block.put(size - 1, 1);
                blocks.push(block);
            }
            None => refused += 1,
        }
        if step % 3 == 0 && !blocks.is_empty() {
            let block = blocks.swap_remove(random.below(blocks.len()));
            assert_eq!((block.get(0), block.get(block.layout.size() - 1)), (1, 1));
            block.free(&Mixed);
        }
        assert!(step % 1000 != 0 || Mixed::stats().held_bytes <= LIMIT);
    }
    println!("{refused} of 20000 requests were refused");
    assert!(refused > 100, "{refused}: the limit was hardly reached");
    free_all(&Mixed, blocks);
    Mixed::purge();
    assert_eq!(Mixed::stats().held_bytes, 0, "nothing is lost");
}

/// What lies in caches and depots, in whole slabs and in kept mappings serves any other use.
#[test]
fn what_one_kind_kept_another_uses() {
    let sizes = [48, 31 * MIB, 700, 64 * KIB, 2 * MIB, 8 * KIB, 16 * MIB, 32 * KIB, 500 * KIB];
    for size in sizes.into_iter().chain(sizes.into_iter().rev()) {
        let blocks = fill(&Refilled, size);
        let bytes = blocks.len() * size;
        // The magazines of this thread hold a few blocks, and their slabs, of other classes.
        assert!(bytes + size >= LIMIT * 9 / 10, "only {bytes} bytes of blocks of {size}");
        free_all(&Refilled, blocks);
    }
    Refilled::purge();
    assert_eq!(Refilled::stats().held_bytes, 0, "nothing is lost");
}

/// A block that cannot grow is as it was.
#[test]
fn a_refused_resize_leaves_the_block() {
    for size in [100, 20 * KIB, 100 * KIB, 900 * KIB, 5 * MIB, 40 * MIB] {
        let block = Block::new(&Resized, size).unwrap().filled(3);
        let rest = fill(&Resized, 64 * KIB);
        let held = Resized::stats().held_bytes;
        assert!(block.resized(&Resized, 65 * MIB).is_none(), "beyond the limit");
        assert!(block.resized(&Resized, isize::MAX as usize - 7).is_none(), "beyond everything");
        assert_eq!(Resized::stats().held_bytes, held);
        assert!(block.is_all(3), "the block is as it was");
        free_all(&Resized, rest);
        let block = block.resized(&Resized, 41 * MIB).expect("there is room now");
        assert_eq!(block.get(0), 3);
        block.free(&Resized);
    }
    Resized::purge();
    assert_eq!(Resized::stats().held_bytes, 0, "nothing is lost");
}

/// Four threads at the limit: what one frees another gets, and nothing is lost on the way.
#[test]
fn threads_meet_at_the_limit() {
    const THREADS: usize = 4;
    let full = Barrier::new(THREADS);
    let work = |seed| {
        let mut random = Random(seed);
        let mut blocks = Vec::new();
        let mut refused = 0;
        for _ in 0..5_000 {
            let size = if random.below(3) == 0 { random.below(2 * MIB) } else { 8 * KIB };
            match Block::new(&Crowded, size.max(1)) {
                Some(block) => blocks.push(block),
                None => refused += 1,
            }
            if blocks.len() > 400 || random.below(2) == 0 && !blocks.is_empty() {
                blocks.swap_remove(random.below(blocks.len())).free(&Crowded);
            }
        }
        full.wait();
        free_all(&Crowded, blocks);
        refused
    };
    let refused: Vec<usize> = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("refused, by thread: {refused:?} of 5000");
    assert!(refused.iter().all(|&refused| refused > 0), "the limit was not reached");
    Crowded::purge();
    let stats = Crowded::stats();
    assert_eq!(stats.held_bytes, 0, "nothing is lost");
    assert_eq!(stats.classes.iter().map(|class| class.blocks_out).sum::<usize>(), 0);
}

/// A request that cannot be served is no reason to refuse another thread's that can.
#[test]
fn an_impossible_request_disturbs_no_other() {
    let stop = AtomicBool::new(false);
    let mut refused = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let layout = Layout::from_size_align(1 << 50, 8).unwrap();
            while !stop.load(Ordering::Relaxed) {
                // SAFETY: the layout has bytes.
                assert!(unsafe { Disturbed.alloc(layout) }.is_null());
            }
        });
        for _ in 0..30_000 {
            match Block::new(&Disturbed, 100 * KIB) {
                Some(block) => block.free(&Disturbed),
                None => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(refused, 0, "of 30000 requests of 100 KiB at a limit of 64 MiB");
}

#[test]
fn superslabs_and_mappings_carry_the_advice() {
    child::run("superslabs_and_mappings_carry_the_advice", TIMEOUT, || {
        let small = Block::new(&NotAdvised, 100).unwrap();
        let mapping = Mapping::of(small.start);
        assert!(mapping.has_flag("nh") && !mapping.has_flag("hg"), "never");
        let huge = Block::new(&NotAdvised, 8 * MIB).unwrap();
        assert!(!Mapping::of(huge.start).has_flag("hg"), "never");
        free_all(&NotAdvised, vec![small, huge]);
    });
}

#[test]
fn superslabs_and_mappings_carry_advice_for_huge_pages() {
    child::run("superslabs_and_mappings_carry_advice_for_huge_pages", TIMEOUT, || {
        let blocks = [100, 100 * KIB, 8 * MIB].map(|size| Block::new(&Advised, size).unwrap());
        for block in &blocks {
            let mapping = Mapping::of(block.start);
            assert!(mapping.has_flag("hg") && !mapping.has_flag("nh"), "{:?}", block.layout);
        }
        free_all(&Advised, blocks.to_vec());
    });
}

#[test]
fn prefaulted_memory_is_resident() {
    child::run("prefaulted_memory_is_resident", TIMEOUT, || {
        let small = Block::new(&Prefaulted, 100).unwrap();
        let resident = Mapping::of(small.start).bytes("Rss:");
        assert!(resident >= SUPERSLAB, "{resident} bytes of a superslab are resident");
        let huge = Block::new(&Prefaulted, 20 * MIB).unwrap();
        let resident = Mapping::of(huge.start).bytes("Rss:");
        assert!(resident >= 20 * MIB, "{resident} bytes of a mapping are resident");
        free_all(&Prefaulted, vec![small, huge]);
    });
}

/// The pages of a class's further slabs are resident before they are touched, once it has many.
#[test]
fn a_growing_class_is_resident_ahead() {
    /// Blocks of a KiB in a slab, and slabs that make many.
    const BLOCKS: usize = 64;
    const MANY: usize = 16;
    child::run("a_growing_class_is_resident_ahead", TIMEOUT, || {
        // A new slab's record, in the superslab's header, may be the first on its page.
        let slabs = |resident| resident / (64 * KIB);
        assert_eq!(slabs(ahead_of_use(&Growing, MANY * BLOCKS - 1)), 0);
        assert_eq!(slabs(ahead_of_use(&Growing, BLOCKS)), 1);
        assert_eq!(slabs(ahead_of_use(&NotGrowing, (MANY + 4) * BLOCKS)), 0);
    });
}

/// Allocates so many blocks of a KiB, touches none, and says how much more is resident then of
/// the superslab of the last one.
fn ahead_of_use(allocator: &impl GlobalAlloc, blocks: usize) -> usize {
    let layout = Layout::from_size_align(KIB, 8).unwrap();
    // SAFETY: the size is not 0. They stay allocated: the process ends.
    let alloc = || unsafe { allocator.alloc(layout) };
    // The first one makes the superslab's header resident.
    let first = alloc();
    let resident = || Mapping::of(first).bytes("Rss:");
    let before = resident();
    (1..blocks).for_each(|_| _ = alloc());
    resident() - before
}

/// Without it, what is not touched is not resident.
#[test]
fn memory_is_not_resident_ahead_of_its_use() {
    child::run("memory_is_not_resident_ahead_of_its_use", TIMEOUT, || {
        let small = Block::new(&NotAdvised, 100).unwrap();
        let resident = Mapping::of(small.start).bytes("Rss:");
        assert!(resident < 256 * KIB, "{resident} bytes of a superslab are resident");
        small.free(&NotAdvised);
    });
}
