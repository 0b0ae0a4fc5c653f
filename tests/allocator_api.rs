//! `Allocator` of the crate allocator-api2 on generated types.

use std::alloc::Layout;

use allocator_api2::alloc::Allocator;
use hak::hak_allocator;

hak_allocator!(struct General = "specs/general.toml");
hak_allocator!(struct Full = { schema = 1, extends = "general", validation.level = "full" });

/// A fill that differs from byte to byte.
fn pattern(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap()
}

#[test]
fn collections_take_it() {
    let mut map = hashbrown::HashMap::new_in(General);
    for key in 0..10_000u64 {
        map.insert(key, key * key);
    }
    assert!((0..10_000).all(|key| map[&key] == key * key));
}

#[test]
fn layouts_without_bytes_are_aligned_and_free() {
    for align in (0..=26).map(|bits| 1 << bits) {
        let layout = Layout::from_size_align(0, align).unwrap();
        let block = General.allocate(layout).unwrap();
        assert_eq!(block.len(), 0);
        assert!(block.cast::<u8>().addr().get().is_multiple_of(align));
        // SAFETY: allocated above.
        unsafe { General.deallocate(block.cast(), layout) };
    }
}

/// Resizes between all pairs of sizes and alignments, so also to a stricter alignment.
#[test]
fn resizing_keeps_contents_and_meets_the_new_alignment() {
    let sizes = [0, 1, 24, 100, 4096, 40_000, 1 << 21];
    let aligns = [1, 16, 256, 8192, 1 << 20];
    let layouts: Vec<_> = sizes
        .iter()
        .flat_map(|&size| aligns.map(|align| Layout::from_size_align(size, align).unwrap()))
        .collect();
    for &old in &layouts {
        for &new in &layouts {
            resize(&General, old, new);
            resize(&Full, old, new);
        }
    }
}

fn resize<A: Allocator>(allocator: &A, old: Layout, new: Layout) {
    let block = allocator.allocate(old).unwrap().cast::<u8>();
    for at in 0..old.size() {
        // SAFETY: the block has that many bytes.
        let byte = unsafe { block.add(at) };
        // SAFETY: as above.
        unsafe { byte.write(pattern(at)) };
    }
    let resized = if new.size() >= old.size() {
        // SAFETY: the block is live with this layout, and not used below.
        unsafe { allocator.grow_zeroed(block, old, new) }
    } else {
        // SAFETY: as above.
        unsafe { allocator.shrink(block, old, new) }
    };
    let resized = resized.unwrap();
    assert_eq!(resized.len(), new.size());
    assert!(resized.cast::<u8>().addr().get().is_multiple_of(new.align()), "{old:?} to {new:?}");
    // SAFETY: the block is live, and was copied or zeroed.
    let bytes = unsafe { resized.as_ref() };
    let kept = old.size().min(new.size());
    assert!((0..kept).all(|at| bytes[at] == pattern(at)), "{old:?} to {new:?}");
    assert!(bytes[kept..].iter().all(|&byte| byte == 0), "{old:?} to {new:?}");
    // SAFETY: live with this layout, and not used below.
    unsafe { allocator.deallocate(resized.cast(), new) };
}

/// All that an allocation says it has may be written to, and is found as it was.
#[test]
fn a_canary_lies_beyond_what_may_be_written() {
    for size in (1..2000).chain([4096, 32_760, 40_000, 3 << 20]) {
        let layout = Layout::from_size_align(size, 1).unwrap();
        let block = Full.allocate(layout).unwrap();
        assert_eq!(block.len(), size);
        // SAFETY: the block has that many bytes, and is ours.
        unsafe { block.cast::<u8>().write_bytes(0xff, block.len()) };
        // SAFETY: live with this layout, and not used below.
        unsafe { Full.deallocate(block.cast(), layout) };
    }
}

#[test]
fn what_cannot_be_had_is_an_error() {
    let layout = Layout::from_size_align(isize::MAX as usize - 4095, 4096).unwrap();
    assert!(General.allocate(layout).is_err());
}
