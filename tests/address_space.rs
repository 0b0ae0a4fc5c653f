//! Little address space: `RLIMIT_AS` as batch systems and containers set it.
//!
//! Each test has a process of its own. Only the allocators under test are generated here: a program
//! on one is in `limited_program.rs`.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/limited.rs"]
mod limited;
#[path = "support/system.rs"]
mod system;

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use allocator_api2::alloc::Allocator;
use blocks::{Block, Random, free_all};
use hak::hak_allocator;
use system::{GIB, KIB, MIB, address_space, limit_address_space};

hak_allocator!("specs/general.toml");
hak_allocator!("specs/web.toml");
hak_allocator!("specs/tiny.toml");

const TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of the blocks that fill the address space.
const BLOCK: usize = 8 * KIB;

/// Allocates and frees what a small program does, and as many blocks as there is room for.
fn works(allocator: &impl GlobalAlloc) -> usize {
    for _ in 0..3 {
        let sizes = [1, 100, 5 * KIB, 40 * KIB, 300 * KIB, 2 * MIB];
        let blocks = sizes.iter().cycle().take(60);
        let block = |&size: &usize| Block::new(allocator, size).expect("there is room").filled(1);
        // The huge ones come to 20 MiB.
        free_all(allocator, blocks.map(block).collect());
    }
    const BLOCKS_MAX: usize = 1 << 17;
    let mut blocks = Vec::with_capacity(BLOCKS_MAX);
    while blocks.len() < BLOCKS_MAX
        && let Some(block) = Block::new(allocator, BLOCK)
    {
        blocks.push(block);
    }
    let bytes = blocks.len() * BLOCK;
    free_all(allocator, blocks);
    bytes
}

fn works_within(limit: usize) {
    let used = address_space();
    let bytes = works(&General);
    println!("{} KiB of blocks, limit {}, used {}", bytes / KIB, limit / KIB, used / KIB);
    // A superslab's header and tails of slabs are 1 in 20; the search for an aligned place at the
    // end needs up to two superslabs; and there is the list.
    let expected = (limit.min(GIB) - used - 9 * MIB) * 9 / 10;
    assert!(bytes >= expected, "{bytes} bytes of blocks, expected {expected}");
    General::purge();
    assert_eq!(General::stats().held_bytes, 0);
    // Memory that others gave back serves them.
    Block::new(&Web, 5 * KIB).unwrap().free(&Web);
    Block::new(&Tiny, 100 * KIB).unwrap().free(&Tiny);
}

#[test]
fn works_within_64_mib() {
    limited::run(64 * MIB, "works_within_64_mib", || works_within(64 * MIB));
}

#[test]
fn works_within_256_mib() {
    limited::run(256 * MIB, "works_within_256_mib", || works_within(256 * MIB));
}

#[test]
fn works_within_1_gib() {
    limited::run(GIB, "works_within_1_gib", || works_within(GIB));
}

#[test]
fn works_within_8_gib() {
    limited::run(8 * GIB, "works_within_8_gib", || works_within(8 * GIB));
}

/// A request through one of the entry points; `None` when it was refused.
fn request(nth: usize, size: usize, last: &mut Option<Block>) -> Option<Block> {
    let layout = Layout::from_size_align(size, 8).unwrap();
    let of = |memory: NonNull<[u8]>| Block { start: memory.as_ptr().cast(), layout };
    match nth % 5 {
        0 => Block::new(&General, size),
        1 => Block::zeroed(&General, size).inspect(|block| assert_eq!(block.get(size - 1), 0)),
        2 => {
            let old = last.take()?;
            let grown = old.resized(&General, old.layout.size() + size);
            // Refused, it is as it was.
            grown.or_else(|| {
                *last = Some(old);
                None
            })
        }
        3 => General.allocate(layout).ok().map(of),
        _ => {
            let old = last.take()?;
            let size = old.layout.size() + size;
            let layout = Layout::from_size_align(size, 8).unwrap();
            let start = NonNull::new(old.start).unwrap();
            // SAFETY: the block is live with its layout, and the new one is not smaller.
            let grown = unsafe { General.grow(start, old.layout, layout) };
            let grown = grown.map(|memory| Block { start: memory.as_ptr().cast(), layout });
            grown.ok().or_else(|| {
                *last = Some(old);
                None
            })
        }
    }
}

/// Takes what there is, until a hundred requests were refused; all blocks keep their mark.
fn exhaust(seed: u64, blocks: &mut Vec<Block>) -> usize {
    let mut random = Random(seed);
    let mark = u8::try_from(seed).unwrap();
    let mut refused = 0;
    let mut last = None;
    for nth in 0.. {
        if refused == 100 || blocks.len() + 2 > blocks.capacity() {
            break;
        }
        let size = 1 + match random.below(20) {
            0 => random.below(3 * MIB),
            1..3 => random.below(400 * KIB),
            _ => random.below(40 * KIB),
        };
        let block = request(nth, size, &mut last);
        refused += usize::from(block.is_none());
        if let Some(block) = block {
            let end = block.layout.size() - 1;
            block.put(0, mark);
            block.put(end, mark);
            blocks.extend(last.replace(block));
        }
    }
    blocks.extend(last);
    assert!(blocks.iter().all(|block| block.get(0) == mark));
    assert!(blocks.iter().all(|block| block.get(block.layout.size() - 1) == mark));
    refused
}

/// Nine threads take all there is through every entry point, free it, and go on.
#[test]
fn nine_threads_exhaust_the_address_space() {
    child::run("nine_threads_exhaust_the_address_space", TIMEOUT, || {
        const THREADS: usize = 9;
        // The C library reserves 128 MiB for each thread's own arena otherwise.
        // SAFETY: there are no preconditions.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        let [start, end] = [(); 2].map(|()| Barrier::new(THREADS));
        let work = |seed: u64| {
            // There is no room for a list's growth later.
            let mut blocks = Vec::with_capacity(20_000);
            if start.wait().is_leader() {
                limit_address_space(address_space() + 200 * MIB);
            }
            end.wait();
            let mut refused = 0;
            for _ in 0..3 {
                refused += exhaust(seed, &mut blocks);
                blocks.drain(..).for_each(|block| block.free(&General));
                end.wait();
                let block = Block::new(&General, 100 * KIB).expect("all was freed").filled(1);
                block.free(&General);
                end.wait();
            }
            refused
        };
        let refused: Vec<_> = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (1..10).map(|seed| scope.spawn(move || work(seed))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        println!("refused requests, by thread: {refused:?}");
        assert!(refused.iter().sum::<usize>() > 300, "the limit was hardly reached");
        General::purge();
        let stats = General::stats();
        assert_eq!(stats.held_bytes, 0, "nothing is lost");
        assert_eq!(stats.classes.iter().map(|class| class.blocks_out).sum::<usize>(), 0);
    });
}
