//! How much larger than the request the memory is that a block really takes.

use std::alloc::{GlobalAlloc, Layout};

use hak::{Stats, hak_allocator};

// Nothing is kept, so that what is held is what is in use.
hak_allocator!(struct General = { schema = 1, extends = "general", large.keep = 0 });
hak_allocator!(struct Web = { schema = 1, extends = "web", large.keep = 0 });
hak_allocator!(struct Exact = { schema = 1, classes.sizes = [592, 1000, 4112] });

const KIB: usize = 1 << 10;
/// The grain of spans.
const UNIT: usize = 64 * KIB;
/// The grain of mappings.
const OS_PAGE: usize = 4 * KIB;

/// Bytes that a block of `size` takes. For a class the smallest distance of two blocks; for spans
/// and mappings what the allocator holds more.
fn taken<const N: usize>(
    allocator: &impl GlobalAlloc,
    stats: fn() -> Stats<N>,
    largest_class: usize,
    size: usize,
) -> usize {
    let layout = Layout::from_size_align(size, 1).unwrap();
    let before = stats().held_bytes;
    // SAFETY: the layout has bytes.
    let mut blocks: Vec<_> = (0..40).map(|_| unsafe { allocator.alloc(layout) }).collect();
    let held = stats().held_bytes - before;
    blocks.sort_unstable();
    let distance = blocks.windows(2).map(|pair| pair[1].addr() - pair[0].addr()).min().unwrap();
    for block in blocks {
        // SAFETY: allocated above.
        unsafe { allocator.dealloc(block, layout) };
    }
    if size > largest_class { held / 40 } else { distance }
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
/// a share of the power of two below it above. A span is less than a unit larger, a mapping less
/// than an OS page.
#[test]
fn a_ladder_wastes_at_most_one_step() {
    let check = |taken: usize, size: usize, linear_to: usize, steps: usize| {
        let allowed = match size {
            _ if size <= linear_to => 16,
            _ if size <= 32 * KIB => size.next_power_of_two() / 2 / steps,
            _ if size <= 1024 * KIB => UNIT,
            _ => OS_PAGE,
        };
        assert!(taken >= size && taken - size < allowed, "{size} bytes take {taken}");
    };
    let classes = General::stats().classes.map(|class| class.bytes);
    for size in sizes(&classes) {
        check(taken(&General, General::stats, 32 * KIB, size), size, 128, 4);
    }
    let classes = Web::stats().classes.map(|class| class.bytes);
    for size in sizes(&classes) {
        check(taken(&Web, Web::stats, 32 * KIB, size), size, 256, 8);
    }
}

/// Classes made for a program waste nothing on it.
#[test]
fn exact_classes_waste_nothing() {
    for size in [592, 1000, 4112] {
        assert_eq!(taken(&Exact, Exact::stats, 4112, size), size);
    }
}
