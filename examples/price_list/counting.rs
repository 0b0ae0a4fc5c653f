//! The run under callgrind: every probe in turn, and only hits.
//!
//! Nothing is printed. After each operation of each allocator stands a mark, at which callgrind
//! writes down what it counted since the last one: first those of [`Probes::NOTHING`], then those
//! of each row, in the order of [`Operation::ALL`].

use std::alloc::Layout;

use super::probes::{
    Pair, Probes, Realloc, price_list_counted_alloc, price_list_counted_dealloc,
    price_list_counted_realloc, price_list_mark,
};
use super::script::{self, CONSTANT, LENGTH, RESIZED};
use super::variants::Variant;

/// What is counted of each allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    AllocConstant,
    DeallocConstant,
    AllocVariable,
    DeallocVariable,
    Realloc,
}

impl Operation {
    pub(crate) const ALL: [Operation; 5] = [
        Operation::AllocConstant,
        Operation::DeallocConstant,
        Operation::AllocVariable,
        Operation::DeallocVariable,
        Operation::Realloc,
    ];
}

/// Times that each operation is counted.
pub(crate) const REPETITIONS: usize = LENGTH;
/// A quarantine fills up before blocks go round.
const PASSES_MAX: usize = 10_000;
/// Passes without a miss, one after the other, that show that there will be none. A magazine may
/// last for more than one.
const QUIET_PASSES: usize = 4;

pub(crate) fn run(rows: &[&Variant]) {
    let constant = [CONSTANT; LENGTH];
    let variable = script::requests().map(|request| request.layout);
    count(&Probes::NOTHING, &constant, &variable, std::ptr::null_mut());
    for row in rows {
        // They stay: the process ends soon, and no slab becomes empty until then.
        script::standing().for_each(|layout| {
            block_of(row.probes.variable, layout);
        });
        warm_up(row, row.probes.constant, &constant);
        warm_up(row, row.probes.variable, &variable);
        let block = resized_in_place(row);
        let trips = (row.probes.trips)();
        count(&row.probes, &constant, &variable, block);
        let trips = (row.probes.trips)() - trips;
        // Two operations of each alloc: it is counted, or what its counted dealloc gives back.
        let allocs = 4 * LENGTH as u64;
        assert!(trips == 0 || trips >= allocs, "{}: {trips} misses among hits", row.name);
    }
}

/// All operations of one allocator, and a mark after each.
fn count(probes: &Probes, constant: &[Layout], variable: &[Layout], resized: *mut u8) {
    for (pair, layouts) in [(probes.constant, constant), (probes.variable, variable)] {
        count_allocs(pair, layouts);
        price_list_mark();
        count_deallocs(pair, layouts);
        price_list_mark();
    }
    count_reallocs(probes.realloc, resized);
    price_list_mark();
}

fn count_allocs(pair: Pair, layouts: &[Layout]) {
    for layout in layouts {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: the layout has bytes.
        let block = unsafe { price_list_counted_alloc(pair.alloc, size, align) };
        // SAFETY: made just now, with this layout.
        unsafe { (pair.dealloc)(block, size, align) };
    }
}

fn count_deallocs(pair: Pair, layouts: &[Layout]) {
    for layout in layouts {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: the layout has bytes.
        let block = unsafe { (pair.alloc)(size, align) };
        // SAFETY: made just now, with this layout.
        unsafe { price_list_counted_dealloc(pair.dealloc, block, size, align) };
    }
}

/// A block that stays where it is, made one size and the other.
fn count_reallocs(probe: Realloc, block: *mut u8) {
    for number in 0..REPETITIONS {
        let (old, new) = (RESIZED[number % 2], RESIZED[(number + 1) % 2]);
        // SAFETY: the block has the old layout, since the one before gave it, or is that of probes
        // that do nothing.
        unsafe {
            price_list_counted_realloc(probe, block, old.size(), old.align(), new.size());
        }
    }
}

/// Allocs and deallocs until passes no longer come to the slabs, or every alloc does.
fn warm_up(row: &Variant, pair: Pair, layouts: &[Layout]) {
    let mut quiet = 0;
    for _ in 0..PASSES_MAX {
        let before = (row.probes.trips)();
        for layout in layouts {
            let block = block_of(pair, *layout);
            // SAFETY: made just now, with this layout.
            unsafe { (pair.dealloc)(block, layout.size(), layout.align()) };
        }
        let trips = (row.probes.trips)() - before;
        quiet = if trips == 0 { quiet + 1 } else { 0 };
        if quiet == QUIET_PASSES || trips >= layouts.len() as u64 {
            return;
        }
    }
    panic!("{}: misses do not end", row.name);
}

/// A block that was seen to stay in its place when it is resized.
fn resized_in_place(row: &Variant) -> *mut u8 {
    let [one, other] = RESIZED;
    let mut block = block_of(row.probes.variable, one);
    // The system's allocator may move it once, to where there is room.
    for attempt in 0..4 {
        let before = block;
        for (old, new) in [(one, other), (other, one)] {
            // SAFETY: the block has the old layout.
            block = unsafe { (row.probes.realloc)(block, old.size(), old.align(), new.size()) };
        }
        if attempt > 0 && block == before {
            return block;
        }
    }
    panic!("{}: a block is moved at each resize", row.name);
}

fn block_of(pair: Pair, layout: Layout) -> *mut u8 {
    // SAFETY: the layout has bytes.
    let block = unsafe { (pair.alloc)(layout.size(), layout.align()) };
    assert!(!block.is_null(), "out of memory");
    block
}
