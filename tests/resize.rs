//! Resizing: memory that a block has left goes back, growing copies no more than it must, and
//! zeroed memory is zero whatever was there before.
//!
//! Tests that look at the process's memory have a process of their own.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/system.rs"]
mod system;

use std::alloc::GlobalAlloc;
use std::time::Duration;

use blocks::{Block, free_all};
use hak::hak_allocator;
use system::{GIB, KIB, MIB, forget_peak, peak, resident};

hak_allocator!("specs/general.toml");
hak_allocator!("specs/tiny.toml");
hak_allocator!(struct KeepsNothing = { schema = 1, extends = "general", large.keep = 0 });
hak_allocator!(struct Lazily = {
    schema = 1, extends = "general", superslab.purge = { how = "free", after = "1 ms" }
});

const TIMEOUT: Duration = Duration::from_secs(60);

/// A block that is never copied needs no memory beyond what is touched.
#[test]
fn a_huge_block_grows_without_being_copied() {
    child::run("a_huge_block_grows_without_being_copied", TIMEOUT, || {
        let mut block = Block::new(&General, 16 * MIB).unwrap();
        (0..16).for_each(|nth| block.put(nth * MIB, 7));
        let before = resident();
        forget_peak();
        while block.layout.size() < GIB {
            block = block.resized(&General, block.layout.size() * 2).unwrap();
        }
        assert_eq!(General::stats().held_bytes, GIB);
        let more = peak().saturating_sub(before);
        println!("{} KiB resident for growing 16 MiB to 1 GiB", more / KIB);
        assert!(more < 4 * MIB, "{more} bytes more: contents were copied");
        assert!((0..16).all(|nth| block.get(nth * MIB) == 7 && block.get(nth * MIB + 1) == 0));
        block.free(&General);
        assert_eq!(General::stats().held_bytes, 0);
    });
}

/// Nor does one that is touched as a whole need its old and its new size together.
#[test]
fn a_full_huge_block_grows_to_its_new_size() {
    child::run("a_full_huge_block_grows_to_its_new_size", TIMEOUT, || {
        const LAST: usize = 256 * MIB;
        let before = resident();
        let mut block = Block::new(&General, 16 * MIB).unwrap().touched(1);
        while block.layout.size() < LAST {
            block = block.resized(&General, block.layout.size() * 2).unwrap().touched(1);
        }
        let most = peak() - before;
        println!("peak of {} KiB for a block of {} KiB", most / KIB, LAST / KIB);
        assert!(most < LAST * 11 / 10, "{most} bytes for a block of {LAST}");
        block.free(&General);
    });
}

#[test]
fn growing_by_a_word_moves_rarely() {
    child::run("growing_by_a_word_moves_rarely", TIMEOUT, || {
        const LAST: usize = 8 * MIB;
        let (mut copied, mut moved) = (0, 0);
        let mut block = Block::new(&General, 8).unwrap();
        while block.layout.size() < LAST {
            let size = block.layout.size();
            block.put(size - 1, (size % 251) as u8);
            let grown = block.resized(&General, size + 8).unwrap();
            let count = if size <= MIB { &mut copied } else { &mut moved };
            *count += usize::from(grown.start != block.start);
            block = grown;
        }
        println!("8 bytes to 8 MiB by 8: {copied} copies, then {moved} moved mappings");
        assert!((8..LAST).step_by(8).all(|size| block.get(size - 1) == (size % 251) as u8));
        block.free(&General);
        // Once for each class, once into a span, and once into a mapping.
        assert!(copied <= General::stats().classes.len() + 2, "{copied} copies");
    });
}

#[test]
fn blocks_that_grow_by_turns_are_copied_once_after_their_classes() {
    child::run("blocks_that_grow_by_turns_are_copied_once_after_their_classes", TIMEOUT, || {
        let mut blocks =
            [1, 2, 3, 4].map(|mark| Block::new(&General, 32 * KIB).unwrap().filled(mark));
        // What does not grow stands beside them.
        let mut others = Vec::new();
        let mut copies = 0;
        while blocks[3].layout.size() < MIB {
            for block in &mut blocks {
                let grown = block.resized(&General, block.layout.size() * 2).unwrap();
                copies += usize::from(grown.start != block.start);
                *block = grown;
                others.push(Block::new(&General, 100 * KIB).unwrap());
            }
        }
        for (block, mark) in blocks.iter().zip(1..) {
            assert!((0..32 * KIB).all(|at| block.get(at) == mark));
        }
        assert_eq!(copies, blocks.len());
        free_all(&General, others.into_iter().chain(blocks).collect());
    });
}

/// How often a mapping moves is up to the places that the system finds. It is never copied.
#[test]
fn a_mapping_grows_by_os_pages_without_being_copied() {
    child::run("a_mapping_grows_by_os_pages_without_being_copied", TIMEOUT, || {
        let mut block = Block::new(&General, 16 * MIB).unwrap();
        let (mut steps, mut moves) = (0, 0);
        forget_peak();
        let before = peak();
        while block.layout.size() < 256 * MIB {
            let grown = block.resized(&General, block.layout.size() + 4 * KIB).unwrap();
            moves += usize::from(grown.start != block.start);
            steps += 1;
            block = grown;
        }
        println!("16 to 256 MiB by 4 KiB: {steps} steps, {moves} moves");
        assert!(peak() < before + MIB, "{} bytes more", peak() - before);
        block.free(&General);
    });
}

/// Blocks that grow by turns stand in each other's way. Their contents are not copied all the same.
#[test]
fn mappings_that_grow_by_turns_are_not_copied() {
    child::run("mappings_that_grow_by_turns_are_not_copied", TIMEOUT, || {
        let new = |mark| Block::new(&General, 2 * MIB).unwrap().filled(mark);
        let mut blocks = [1, 2, 3].map(new);
        let (mut moves, mut steps) = (0, 0);
        forget_peak();
        let before = peak();
        while blocks[2].layout.size() < 8 * MIB {
            for block in &mut blocks {
                let grown = block.resized(&General, block.layout.size() + 4 * KIB).unwrap();
                moves += usize::from(grown.start != block.start);
                steps += 1;
                *block = grown;
            }
        }
        println!("three mappings by turns: {steps} steps, {moves} moves");
        // A copy would need what was never touched.
        assert!(peak() < before + MIB, "{} bytes more", peak() - before);
        for (block, mark) in blocks.into_iter().zip(1..) {
            assert!((0..2 * MIB).step_by(509).all(|at| block.get(at) == mark));
            block.free(&General);
        }
    });
}

#[test]
fn a_shrinking_huge_block_returns_its_end() {
    child::run("a_shrinking_huge_block_returns_its_end", TIMEOUT, || {
        let before = resident();
        let mut block = Block::new(&KeepsNothing, 64 * MIB).unwrap().touched(5);
        for mib in (2..64).rev() {
            block = block.resized(&KeepsNothing, mib * MIB).unwrap();
            assert_eq!(KeepsNothing::stats().held_bytes, mib * MIB);
        }
        let left = resident().saturating_sub(before);
        assert!(left < 4 * MIB, "{left} bytes resident for 2 MiB");
        assert!((0..2 * MIB).step_by(4096).all(|at| block.get(at) == 5));
        // Into a span, and into a class.
        for size in [MIB, 300 * KIB, 64 * KIB, 16 * KIB, 16] {
            block = block.resized(&KeepsNothing, size).unwrap();
            assert_eq!(block.get(0), 5);
            let held = KeepsNothing::stats().held_bytes;
            assert!(held <= size + 512 * KIB, "{held} bytes for a block of {size}");
        }
        block.free(&KeepsNothing);
        KeepsNothing::purge();
        assert_eq!(KeepsNothing::stats().held_bytes, 0);
    });
}

/// The end of a mapping is kept like any freed one, up to the spec's bound.
#[test]
fn ends_of_huge_blocks_are_kept_for_reuse() {
    child::run("ends_of_huge_blocks_are_kept_for_reuse", TIMEOUT, || {
        let block = Block::new(&General, 40 * MIB).unwrap().resized(&General, 10 * MIB).unwrap();
        let stats = General::stats();
        assert_eq!((stats.held_bytes, stats.kept_bytes), (40 * MIB, 30 * MIB));
        let again = Block::new(&General, 20 * MIB).unwrap();
        let stats = General::stats();
        assert_eq!((stats.held_bytes, stats.kept_bytes), (40 * MIB, 10 * MIB));
        General::purge();
        assert_eq!(General::stats().held_bytes, 30 * MIB);
        free_all(&General, vec![block, again]);
    });
}

#[test]
fn a_shrinking_span_returns_its_units() {
    let block = Block::new(&Tiny, 250 * KIB).unwrap();
    assert_eq!(Tiny::stats().held_bytes, 256 * KIB);
    let block = block.resized(&Tiny, 70 * KIB).unwrap();
    assert_eq!(Tiny::stats().held_bytes, 128 * KIB);
    block.free(&Tiny);
    assert_eq!(Tiny::stats().held_bytes, 0);
}

#[test]
fn blocks_that_shrink_leave_their_classes() {
    child::run("blocks_that_shrink_leave_their_classes", TIMEOUT, || {
        let large = |_| Block::new(&General, 16 * KIB).unwrap().filled(9);
        let blocks: Vec<_> = (0..4000).map(large).collect();
        let held = General::stats().held_bytes;
        assert!(held >= 4000 * 16 * KIB);
        let small = |block: Block| block.resized(&General, 24).unwrap();
        let blocks: Vec<_> = blocks.into_iter().map(small).collect();
        assert!(blocks.iter().all(|block| block.is_all(9)));
        General::purge();
        let now = General::stats().held_bytes;
        assert!(now <= 512 * KIB, "{held}, then {now} bytes for 4000 blocks of 24");
        free_all(&General, blocks);
    });
}

/// Sizes of every kind: classes, spans, mappings.
const KINDS: [usize; 8] = [16, 500, 32 * KIB, 33 * KIB, 200 * KIB, MIB, 2 * MIB + 1, 20 * MIB];

/// Memory that was written to, freed, returned in whichever way, and asked for as zero.
fn zeroed_is_zero(allocator: &impl GlobalAlloc, between: impl Fn()) {
    for round in 0..3 {
        let blocks: Vec<_> =
            KINDS.iter().map(|&size| Block::new(allocator, size).unwrap().filled(0xAA)).collect();
        let blocks = blocks.into_iter().map(|block| {
            // Shrinking and growing leaves old bytes beyond the end.
            let size = block.layout.size();
            let block = block.resized(allocator, size / 2 + 1).unwrap();
            block.resized(allocator, size).unwrap().filled(0xBB)
        });
        free_all(allocator, blocks.collect());
        between();
        let zeroed: Vec<_> =
            KINDS.iter().map(|&size| Block::zeroed(allocator, size).unwrap()).collect();
        for block in &zeroed {
            assert!(block.is_all(0), "round {round}: {:?} is not zero", block.layout);
        }
        free_all(allocator, zeroed);
    }
}

#[test]
fn zeroed_memory_is_zero_when_it_is_used_again() {
    zeroed_is_zero(&General, || {});
    zeroed_is_zero(&KeepsNothing, || {});
    zeroed_is_zero(&Tiny, || {});
}

#[test]
fn zeroed_memory_is_zero_after_a_purge() {
    zeroed_is_zero(&General, General::purge);
    zeroed_is_zero(&Lazily, Lazily::purge);
    zeroed_is_zero(&Tiny, Tiny::purge);
}

/// A zeroed GiB is not touched, even if as much was used before.
#[test]
fn a_zeroed_gib_is_not_touched() {
    child::run("a_zeroed_gib_is_not_touched", TIMEOUT, || {
        Block::new(&General, 30 * MIB).unwrap().touched(1).free(&General);
        let before = resident();
        let block = Block::zeroed(&General, GIB).unwrap();
        block.put(GIB / 2, 1);
        let more = resident().saturating_sub(before);
        assert!(more < MIB, "{more} bytes are resident");
        assert_eq!(block.get(0), 0);
        block.free(&General);
    });
}
