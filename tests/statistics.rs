//! `stats()`: its figures after known operations, and the same as JSON.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/system.rs"]
mod system;

use std::collections::BTreeSet;
use std::thread;

use blocks::{Block, free_all};
use hak::{Stats, hak_allocator};
use serde_json::Value;
use system::{KIB, MIB};

hak_allocator!(struct Known = {
    schema = 1, classes.sizes = [16, 64, 1024, 8192], cache.slots = 8,
    cache.refill = { default = 8 }, large.keep = "8 MiB"
});
hak_allocator!(struct Hot = {
    schema = 1, extends = "general", hints.hot = [512, 16], large.keep = "8 MiB"
});
hak_allocator!(struct Untouched = { schema = 1, extends = "general" });

const UNIT: usize = 64 * KIB;

/// The figures that other allocators of the process change, too.
const SHARED: [&str; 3] = ["superslab_bytes", "dirty_bytes", "purged_bytes"];

#[test]
fn figures_follow_from_operations() {
    let blocks: Vec<_> = (0..100).map(|_| Block::new(&Known, 1000).unwrap()).collect();
    let class = |size| {
        let classes = Known::stats().classes;
        *classes.iter().find(|class| class.bytes == size).unwrap()
    };
    let seen = class(1024);
    // Refills of 8: 13 of them make 104, and 63 or 64 blocks are in a slab.
    assert_eq!((seen.supplied, seen.refills, seen.blocks_out), (104, 13, 104));
    assert_eq!((seen.slabs, seen.slab_bytes), (2, 2 * UNIT));
    assert_eq!(Known::stats().held_bytes, 2 * UNIT);
    // Two magazines of 8 for the thread's only class.
    assert!(Known::stats().cache_bytes_max <= 2 * 8 * 1024);

    let span = Block::new(&Known, 100 * KIB).unwrap();
    let huge = Block::new(&Known, 3 * MIB + 1).unwrap();
    let held = 2 * UNIT + 128 * KIB + 3 * MIB + 4 * KIB;
    assert_eq!(Known::stats().held_bytes, held);
    assert_eq!(Known::stats().in_use_bytes(), held - 2 * UNIT + 104 * 1024);
    free_all(&Known, vec![span, huge]);
    assert_eq!(Known::stats().held_bytes, held - 128 * KIB);
    assert_eq!(Known::stats().kept_bytes, 3 * MIB + 4 * KIB);

    free_all(&Known, blocks);
    let seen = class(1024);
    assert!(seen.blocks_in_depot > 0 && seen.blocks_in_depot % 8 == 0, "{seen:?}");
    assert!(seen.blocks_out - seen.blocks_in_depot <= 16, "the bin holds two magazines: {seen:?}");
    Known::flush();
    let seen = class(1024);
    assert_eq!((seen.blocks_out, seen.blocks_in_depot), (0, 0));
    assert_eq!(Known::stats().in_use_bytes(), 0);
    Known::purge();
    let stats = Known::stats();
    assert_eq!((stats.held_bytes, stats.kept_bytes, stats.cache_bytes_max), (0, 0, 0));
    assert_eq!(class(1024).slabs, 0);
    assert_eq!(class(1024).supplied, 104, "what happened stays counted");
    for size in [16, 64, 8192] {
        let unused = hak::ClassStats { bytes: size, ..Default::default() };
        assert_eq!(class(size), unused, "nothing was done with it");
    }
}

/// What the purge took is no longer dirty, and is counted.
#[test]
fn purged_bytes_grow_by_what_was_dirty() {
    let before = Hot::stats().purged_bytes;
    let blocks: Vec<_> = (0..20).map(|_| Block::new(&Hot, 900 * KIB).unwrap().touched(1)).collect();
    free_all(&Hot, blocks);
    Hot::purge();
    let taken = Hot::stats().purged_bytes - before;
    assert!(taken >= 20 * 900 * KIB, "{taken} bytes went back");
    assert!(Hot::stats().superslab_bytes >= 20 * MIB);
}

#[test]
fn classes_stand_from_small_to_large() {
    let sizes = Hot::stats().classes.map(|class| class.bytes);
    assert!(sizes.is_sorted(), "{sizes:?}");
}

/// Figures of a moment add up even while threads are at work.
#[test]
fn figures_of_a_busy_allocator_are_possible() {
    hak_allocator!(struct Busy = { schema = 1, classes.sizes = [32, 256], cache.slots = 4 });
    thread::scope(|scope| {
        let work = || {
            for _ in 0..200 {
                let blocks = (0..200).map(|nth| Block::new(&Busy, nth % 256 + 1).unwrap());
                free_all(&Busy, blocks.collect());
            }
        };
        let threads = [scope.spawn(work), scope.spawn(work)];
        while threads.iter().any(|thread| !thread.is_finished()) {
            for class in Busy::stats().classes {
                let room = class.slab_bytes / class.bytes;
                assert!(class.blocks_out <= room, "{class:?}");
                assert!(class.blocks_out as u64 <= class.supplied, "{class:?}");
                assert!(class.refills <= class.locks, "{class:?}");
            }
        }
        // The end of the scope is too early: a thread empties its cache after its closure.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    Busy::purge();
    assert_eq!(Busy::stats().held_bytes, 0);
}

fn json<const N: usize>(stats: &Stats<N>) -> Value {
    let text = stats.json().to_string();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_says_what_the_struct_says() {
    hak_allocator!(struct Told = { schema = 1, extends = "web" });
    let blocks: Vec<_> = (1..5000).map(|size| Block::new(&Told, size).unwrap()).collect();
    let stats = Told::stats();
    let json = json(&stats);
    assert_eq!(json["held_bytes"], stats.held_bytes);
    assert_eq!(json["kept_bytes"], stats.kept_bytes);
    assert_eq!(json["cache_bytes_max"], stats.cache_bytes_max);
    let classes = json["classes"].as_array().unwrap();
    assert_eq!(classes.len(), stats.classes.len());
    for (told, class) in classes.iter().zip(stats.classes) {
        assert_eq!(told["bytes"], class.bytes);
        assert_eq!(told["slabs"], class.slabs);
        assert_eq!(told["slab_bytes"], class.slab_bytes);
        assert_eq!(told["blocks_out"], class.blocks_out);
        assert_eq!(told["blocks_in_depot"], class.blocks_in_depot);
        assert_eq!(told["supplied"], class.supplied);
        assert_eq!(told["refills"], class.refills);
        assert_eq!(told["exchanges"], class.exchanges);
        assert_eq!(told["locks"], class.locks);
    }
    free_all(&Told, blocks);
}

/// The keys are the names of the fields, all of them, as the debug form shows them too.
#[test]
fn json_has_a_key_for_each_field() {
    let stats = Untouched::stats();
    let json = json(&stats);
    let fields = |debug: String| -> BTreeSet<String> {
        let words = debug.lines().filter_map(|line| line.strip_prefix("    "));
        let names = words.filter(|word| !word.starts_with(' ')).filter_map(|w| w.split_once(": "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    let mut expected = fields(format!("{stats:#?}"));
    expected.insert("in_use_bytes".to_owned());
    assert_eq!(keys(&json), expected.iter().map(String::as_str).collect());
    let expected = fields(format!("{:#?}", stats.classes[0]));
    assert_eq!(keys(&json["classes"][0]), expected.iter().map(String::as_str).collect());
    assert!(SHARED.iter().all(|key| json[*key].is_u64()));
}

/// An allocator that was never used holds nothing.
#[test]
fn an_unused_allocator_holds_nothing() {
    let stats = Untouched::stats();
    assert_eq!((stats.held_bytes, stats.kept_bytes, stats.cache_bytes_max), (0, 0, 0));
    assert!(stats.classes.iter().all(|class| class.supplied == 0 && class.slabs == 0));
}
