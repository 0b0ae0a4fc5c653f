//! Requests that no system can serve, frees that the system refuses, and `errno`.
//!
//! Overcommit can only be turned off for the whole system, so no test does.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/system.rs"]
mod system;

use std::alloc::{GlobalAlloc, Layout};
use std::io;
use std::ptr::{self, NonNull};
use std::thread;
use std::time::Duration;

use blocks::{Block, Random, free_all};
use hak::hak_allocator;
use system::{KIB, MIB, address_space, errno, mappings, resident, set_errno};

hak_allocator!("specs/general.toml");
hak_allocator!(struct Hasty = {
    schema = 1, extends = "general", cache.slots = 4, cache.refill = { default = 4 },
    cache.depot = "4 KiB", large.keep = "4 MiB", superslab.purge = { after = "1 ms" }
});
hak_allocator!(struct KeepsNothing = { schema = 1, extends = "general", large.keep = 0 });

const TIMEOUT: Duration = Duration::from_secs(60);

/// Sizes that no address space has room for: near the largest that a layout may have for its
/// alignment, and down to 2^47.
fn impossible(random: &mut Random, align: usize) -> Layout {
    let largest = (isize::MAX as usize) & !(align - 1);
    let size = match random.below(4) {
        0 => largest - random.below(2 * MIB).min(largest - 1),
        1 => largest,
        2 => 1 << 47 << random.below(16),
        _ => (1 << 47) + random.below(1 << 40),
    };
    Layout::from_size_align(size.min(largest).max(1), align).unwrap()
}

#[test]
fn impossible_requests_are_refused_at_once() {
    child::run("impossible_requests_are_refused_at_once", TIMEOUT, || {
        let tries = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };
        let mut random = Random(11);
        let live = [20, 10 * KIB, 100 * KIB, 4 * MIB];
        let live = live.map(|size| Block::new(&General, size).unwrap().filled(6));
        let refused = |random: &mut Random, nth: usize| {
            // From 2^48 on an alignment alone is too much; below, the size must be.
            let layout = impossible(random, 1 << (nth % 63));
            // SAFETY: the size is not 0.
            let start = unsafe { General.alloc(layout) };
            assert!(start.is_null(), "{layout:?}");
            // SAFETY: as above.
            let start = unsafe { General.alloc_zeroed(layout) };
            assert!(start.is_null(), "{layout:?}, zeroed");
            let block = live[nth % live.len()];
            let size = impossible(random, 8).size();
            assert!(block.resized(&General, size).is_none(), "{:?} to {size}", block.layout);
        };
        // The first of them empties what is cached.
        (0..1000).for_each(|nth| refused(&mut random, nth));
        let before = [General::stats().held_bytes, mappings(), address_space()];
        assert!(before[0] < 8 * MIB, "{} bytes are charged for what was refused", before[0]);
        let resident_before = resident();
        (0..tries).for_each(|nth| refused(&mut random, nth));
        assert_eq!([General::stats().held_bytes, mappings(), address_space()], before);
        assert!(resident() < resident_before + MIB, "{resident_before}, then {}", resident());
        assert!(live.iter().all(|block| block.is_all(6)), "what lives is as it was");
        free_all(&General, live.to_vec());
    });
}

/// An alignment beyond the address space is refused, whatever the size; the largest below works.
#[test]
fn alignments_are_served_up_to_what_the_system_has() {
    for bits in 0..63 {
        let align = 1 << bits;
        for size in [1, 100, 5 * KIB, 3 * MIB] {
            let Ok(layout) = Layout::from_size_align(size, align) else { continue };
            // SAFETY: the size is not 0.
            let start = unsafe { General.alloc(layout) };
            assert!(start.addr().is_multiple_of(align));
            assert!(bits > 40 || !start.is_null(), "{layout:?} was refused");
            assert!(bits < 47 || start.is_null(), "{layout:?} at {start:p}");
            if !start.is_null() {
                // SAFETY: the block is ours and has a byte.
                unsafe { start.write(1) };
                // SAFETY: the block is live with this layout.
                unsafe { General.dealloc(start, layout) };
            }
        }
    }
}

const MARK: i32 = 1789;

/// Frees with `errno` set, and looks at it.
fn free_keeps_errno(block: Block) {
    set_errno(MARK);
    block.free(&Hasty);
    assert_eq!(errno(), MARK, "after a free of {:?}", block.layout);
}

/// Small, large and huge; by the thread that allocated and by one that never did; when caches are
/// full, and when a purge is due.
#[test]
fn a_free_keeps_errno() {
    child::run("a_free_keeps_errno", TIMEOUT, || {
        let sizes = [8, 64, 1000, 16 * KIB, 32 * KIB, 65 * KIB, MIB, 2 * MIB, 30 * MIB];
        for round in 0..6 {
            let blocks = sizes.iter().cycle().take(900).map(|&size| {
                set_errno(MARK);
                let block = Block::new(&Hasty, size).unwrap();
                assert_eq!(errno(), MARK, "after an alloc of {size}");
                block
            });
            let blocks: Vec<_> = blocks.collect();
            let free = |blocks: Vec<Block>| blocks.into_iter().for_each(free_keeps_errno);
            match round % 3 {
                0 => free(blocks),
                1 => thread::scope(|scope| scope.spawn(move || free(blocks)).join().unwrap()),
                _ => {
                    let (first, last) = blocks.split_at(blocks.len() / 2);
                    first.iter().for_each(|&block| free_keeps_errno(block));
                    // The delay of a purge.
                    thread::sleep(Duration::from_millis(5));
                    last.iter().for_each(|&block| free_keeps_errno(block));
                }
            }
        }
        assert!(Hasty::stats().purged_bytes > 0, "no purge was due");
        set_errno(MARK);
        Hasty::purge();
        assert_eq!(errno(), MARK, "after a purge");
    });
}

/// Mappings of single OS pages that cannot be merged, as many as the system allows.
struct Filler {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

impl Filler {
    fn new() -> Self {
        const PAGE: usize = 4096;
        let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        let bytes = (most.trim().parse::<usize>().unwrap() + 16) * PAGE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping touches nothing of ours.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let start = NonNull::new(start).unwrap();
        for at in (0..bytes).step_by(2 * PAGE) {
            // SAFETY: the place lies within the mapping.
            let place = unsafe { start.byte_add(at) };
            // SAFETY: the OS page is ours, and has no contents.
            let result = unsafe { libc::mprotect(place.as_ptr(), PAGE, libc::PROT_READ) };
            if result != 0 {
                let error = io::Error::last_os_error();
                assert_eq!(error.raw_os_error(), Some(libc::ENOMEM), "{error}");
                return Filler { start, bytes };
            }
        }
        panic!("there is no limit");
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody uses it.
        unsafe { libc::munmap(self.start.as_ptr(), self.bytes) };
    }
}

/// The system cannot unmap the middle of a mapping when there are as many mappings as it allows.
/// Frees succeed all the same, what they freed is used again, and goes back in the end.
#[test]
fn frees_succeed_at_the_limit_of_mappings() {
    child::run("frees_succeed_at_the_limit_of_mappings", TIMEOUT, || {
        let huge: Vec<_> = (0..40).map(|_| Block::new(&KeepsNothing, 3 * MIB).unwrap()).collect();
        let spans: Vec<_> = (0..40).map(|_| Block::new(&KeepsNothing, MIB).unwrap()).collect();
        let held = KeepsNothing::stats().held_bytes;
        assert!(held >= 160 * MIB);
        let filler = Filler::new();
        let free = |block: &Block| {
            set_errno(MARK);
            block.free(&KeepsNothing);
            assert_eq!(errno(), MARK);
        };
        let (every_other, rest): (Vec<_>, Vec<_>) = (0..40).partition(|nth| nth % 2 == 1);
        every_other.iter().for_each(|&nth| free(&huge[nth]));
        let refused = KeepsNothing::stats().held_bytes - (held - 60 * MIB);
        println!("{refused} bytes could not be unmapped, of {}", 60 * MIB);
        assert!(refused >= 3 * MIB, "the limit was not reached");
        spans.iter().for_each(free);

        // What could not be unmapped serves the next requests, of the same size and of others.
        let before = address_space();
        for round in 0..50 {
            let blocks: Vec<_> = (0..10)
                .filter_map(|nth| {
                    Block::new(&KeepsNothing, (1 + (nth + round) % 2) * 3 * MIB / 2 + 1)
                })
                .map(|block| block.touched(1))
                .collect();
            assert!(blocks.len() >= 5, "round {round}: only {} of 10", blocks.len());
            blocks.iter().for_each(free);
        }
        let span = Block::new(&KeepsNothing, MIB).expect("spans need no mapping");
        assert!(address_space() <= before + 32 * MIB, "address space grows");
        span.free(&KeepsNothing);

        drop(filler);
        rest.iter().for_each(|&nth| free(&huge[nth]));
        KeepsNothing::purge();
        assert_eq!(KeepsNothing::stats().held_bytes, 0, "nothing is lost when there is room again");
    });
}

/// Random blocks of 64 KiB to 16 MiB below a bound: mappings stay few.
#[test]
fn mappings_stay_few() {
    child::run("mappings_stay_few", TIMEOUT, || {
        let mut random = Random(5);
        let mut blocks: Vec<Block> = Vec::new();
        let (mut live, mut most) = (0, 0);
        for step in 0..60_000 {
            let size = (64 * KIB) << random.below(8);
            let size = size + random.below(size);
            while live + size > 512 * MIB {
                let block = blocks.swap_remove(random.below(blocks.len()));
                live -= block.layout.size();
                block.free(&General);
            }
            live += size;
            blocks.push(Block::new(&General, size).unwrap());
            if step % 5000 == 4999 {
                most = most.max(mappings());
            }
        }
        println!("{most} mappings at most, {} superslabs", General::stats().superslab_bytes >> 21);
        assert!(most < 1000, "{most} mappings");
        free_all(&General, blocks);
    });
}
