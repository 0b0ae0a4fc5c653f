//! What went wrong in other allocators, as their users told it, in short form: alignment, overlap,
//! and collections on top. The long sweeps are in `properties.rs`.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/model.rs"]
mod model;
#[path = "support/system.rs"]
mod system;

use std::time::Duration;

use allocator_api2::vec::Vec as VecIn;
use blocks::{Block, Random, free_all};
use hak::hak_allocator;
use hashbrown::{DefaultHashBuilder, HashMap};
use model::{Model, Op};
use system::{GIB, KIB, MIB, resident};

hak_allocator!("specs/general.toml");
hak_allocator!("specs/tiny.toml");

const TIMEOUT: Duration = Duration::from_secs(60);

/// Odd sizes with each alignment, eight live blocks of each.
#[test]
fn odd_sizes_with_every_alignment() {
    for align in (0..=16).map(|bits| 1 << bits) {
        for size in (1..64 * KIB).step_by(3001) {
            let mut model = Model::new(&General, usize::MAX);
            (0..8).for_each(|_| model.apply(&Op::Alloc { size, align, zeroed: false }));
            model.finish();
        }
    }
}

/// Alignments of superslabs and more, up to a GiB.
#[test]
fn alignments_of_mib_and_more() {
    child::run("alignments_of_mib_and_more", TIMEOUT, || {
        let before = resident();
        for align in [MIB, 2 * MIB, 4 * MIB, 64 * MIB, GIB] {
            let sizes = [1, align - 1, align, align + 1];
            let block = |&size: &usize| {
                let block = Block::aligned(&General, size, align).expect("there is room");
                block.put(0, 1);
                block.put(size - 1, 1);
                block
            };
            let blocks: Vec<_> = sizes.iter().map(block).collect();
            let mut places: Vec<_> =
                blocks.iter().map(|b| (b.start.addr(), b.layout.size())).collect();
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            free_all(&General, blocks);
        }
        assert!(resident() < before + 8 * MIB, "only what was touched is resident");
    });
}

/// Up to 8 KiB and back, for each alignment.
#[test]
fn resizing_keeps_the_alignment() {
    for align in (0..=12).map(|bits| 1 << bits) {
        let mut block = Block::aligned(&Tiny, 8, align).unwrap().filled(1);
        let up = (1..=1024).map(|nth| nth * 8);
        for size in up.clone().chain(up.rev()) {
            block = block.resized(&Tiny, size).unwrap();
            assert!(block.start.addr().is_multiple_of(align));
            assert_eq!(block.get(7), 1);
        }
        block.free(&Tiny);
    }
}

#[repr(align(256))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Wide(u64);

#[test]
fn a_vector_of_wide_elements_keeps_them() {
    let mut wide: VecIn<Wide, General> = VecIn::new_in(General);
    for step in 0..500 {
        wide.push(Wide(step));
        wide.reserve_exact(step as usize % 37 + 1);
        assert!(wide.as_ptr().addr().is_multiple_of(256));
        if step % 3 == 0 {
            wide.shrink_to_fit();
        }
        assert_eq!(wide[0], Wide(0));
    }
    assert!(wide.iter().zip(0..).all(|(wide, nth)| *wide == Wide(nth)));
}

/// A table whose groups are read with vector instructions, which fault on a wrong alignment.
#[test]
fn a_large_hash_table() {
    let entries = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };
    let hasher = DefaultHashBuilder::default();
    let mut map: HashMap<u64, u64, _, General> = HashMap::with_hasher_in(hasher, General);
    map.extend((0..entries).map(|key| (key, key * 3)));
    assert!((0..entries).all(|key| map[&key] == key * 3));
    map.retain(|key, _| key % 100 == 0);
    map.shrink_to_fit();
    assert_eq!(map.len() as u64, entries / 100);
}

/// Blocks of 1 to 64 MiB at random, among them frees of neighbours: none overlaps another.
#[test]
fn large_blocks_are_disjoint() {
    child::run("large_blocks_are_disjoint", TIMEOUT, || {
        let mut random = Random(9);
        let mut model = Model::new(&General, 1500 * MIB);
        for _ in 0..3000 {
            let size = (MIB << random.below(6)) + random.below(MIB);
            model.apply(&match random.below(4) {
                0 | 1 => Op::Alloc { size, align: 4096 << random.below(10), zeroed: false },
                2 => Op::Realloc { nth: random.below(100), size },
                _ => Op::Dealloc { nth: random.below(100) },
            });
        }
        model.finish();
        General::purge();
        assert_eq!(General::stats().held_bytes, 0, "nothing is lost");
    });
}
