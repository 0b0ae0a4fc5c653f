//! How much larger than the request the memory is that a block really takes.

use std::alloc::{GlobalAlloc, Layout};

use hak::hak_allocator;

hak_allocator!("specs/general.toml");
hak_allocator!("specs/web.toml");
hak_allocator!(struct Exact = { schema = 1, classes.sizes = [592, 1000, 4112] });

const KIB: usize = 1 << 10;
/// An OS page, the grain in which spans and mappings take memory: what is not touched is not taken.
const OS_PAGE: usize = 4 * KIB;

/// Bytes that a block of `size` takes: the smallest distance of two blocks. For spans and mappings,
/// of which only whole OS pages are resident, the size in those.
fn taken(allocator: &impl GlobalAlloc, largest_class: usize, size: usize) -> usize {
    if size > largest_class {
        return size.next_multiple_of(OS_PAGE);
    }
    let layout = Layout::from_size_align(size, 1).unwrap();
    // SAFETY: the layout has bytes.
    let mut blocks: Vec<_> = (0..40).map(|_| unsafe { allocator.alloc(layout) }).collect();
    blocks.sort_unstable();
    let distance = blocks.windows(2).map(|pair| pair[1].addr() - pair[0].addr()).min().unwrap();
    for block in blocks {
        // SAFETY: allocated above.
        unsafe { allocator.dealloc(block, layout) };
    }
    distance
}

/// Sizes from 1 byte to 8 MiB: below, at and above every class and every power of two.
fn sizes(classes: &[usize]) -> impl Iterator<Item = usize> {
    let powers = (4..=23).map(|bits| 1usize << bits);
    let around = |size: usize| [size - 1, size, size + 1];
    let mut sizes: Vec<_> = classes.iter().copied().chain(powers).flat_map(around).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter()
}

/// In a ladder, a block is at most one step larger than the request: a quantum below `linear_to`,
/// a share of the power of two below it above.
#[test]
fn a_ladder_wastes_at_most_one_step() {
    let check = |taken: usize, size: usize, linear_to: usize, steps: usize| {
        let step = if size <= linear_to { 16 } else { size.next_power_of_two() / 2 / steps };
        let allowed = step.max(if size > 32 * KIB { OS_PAGE } else { 0 });
        assert!(taken >= size && taken - size < allowed, "{size} bytes take {taken}");
    };
    let classes = General::stats().classes.map(|class| class.bytes);
    for size in sizes(&classes) {
        check(taken(&General, 32 * KIB, size), size, 128, 4);
    }
    let classes = Web::stats().classes.map(|class| class.bytes);
    for size in sizes(&classes) {
        check(taken(&Web, 32 * KIB, size), size, 256, 8);
    }
}

/// Classes made for a program waste nothing on it.
#[test]
fn exact_classes_waste_nothing() {
    for size in [592, 1000, 4112] {
        assert_eq!(taken(&Exact, 4112, size), size);
    }
    assert_eq!(taken(&General, 32 * KIB, 592), 640);
}
