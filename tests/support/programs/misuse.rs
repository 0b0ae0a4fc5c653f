//! Misuses its allocator, `Subject`, in one way: `misuse CASE SIZE`.
//!
//! When the misuse has happened and nothing has ended the program, it says so; then it looks for
//! what the misuse left behind, says so again, and ends well.

use std::alloc::{GlobalAlloc, Layout};
use std::env;
use std::ffi::c_void;
use std::io::{self, Write};
use std::sync::Barrier;
use std::thread;

hak::hak_allocator!(struct Other = { schema = 1 });

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
}

/// With eight bytes more or without: the class of 64 bytes.
const SMALL: usize = 56;
const LARGE: usize = 200 << 10;
const HUGE: usize = 3 << 20;

const OS_PAGE: usize = 4096;
const UNIT: usize = 64 << 10;
const SUPERSLAB: usize = 2 << 20;

/// What blocks are filled with.
const SECRET: u8 = 0x5a;

/// Each way of misuse; its argument is the size of the block that is misused.
const CASES: &[(&str, fn(usize))] = &[
    ("foreign_stack", foreign_stack),
    ("foreign_libc", foreign_libc),
    ("foreign_other", foreign_other),
    ("foreign_null", foreign_null),
    ("foreign_realloc", foreign_realloc),
    ("interior", interior),
    ("interior_realloc", interior_realloc),
    ("size_same_class", size_same_class),
    ("size_other_class", size_other_class),
    ("size_other_kind", size_other_kind),
    ("size_realloc", size_realloc),
    ("align_same_class", align_same_class),
    ("align_other_class", align_other_class),
    ("align_realloc", align_realloc),
    ("double_free", double_free),
    ("double_free_delayed", double_free_delayed),
    ("double_free_other_thread", double_free_other_thread),
    ("double_free_flushed", double_free_flushed),
    ("double_free_realloc", double_free_realloc),
    ("overflow_1", overflow_1),
    ("overflow_16", overflow_16),
    ("overflow_zeros", overflow_zeros),
    ("overflow_realloc", overflow_realloc),
    ("write_after_free", write_after_free),
    ("write_after_free_other_thread", write_after_free_other_thread),
    ("read_after_free", read_after_free),
    ("reuse", reuse),
    ("guard_behind", guard_behind),
    ("guard_before", guard_before),
    ("guard_slab", guard_slab),
    ("guard_header", guard_header),
];

/// A block that another thread may misuse.
#[derive(Clone, Copy)]
struct Block(*mut u8);

// SAFETY: what two threads do with a block here is done one after the other.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

fn layout(size: usize) -> Layout {
    aligned(size, 8)
}

fn aligned(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).expect("sizes are small, alignments powers of two")
}

/// A block that nothing is written to.
fn bare(size: usize) -> Block {
    // SAFETY: the layout has bytes.
    let start = unsafe { ALLOCATOR.alloc(layout(size)) };
    assert!(!start.is_null(), "no memory");
    Block(start)
}

/// A block full of `SECRET`.
fn filled(size: usize) -> Block {
    let block = bare(size);
    // SAFETY: the block has that many bytes.
    unsafe { block.0.write_bytes(SECRET, size) };
    block
}

/// Frees a block with a layout that may be wrong, or when it is none: that is the misuse.
fn free(Block(start): Block, layout: Layout) {
    // SAFETY: broken on purpose, except where a case prepares its misuse.
    unsafe { ALLOCATOR.dealloc(start, layout) };
}

/// Resizes, as wrongly.
fn realloc(Block(start): Block, layout: Layout, new_size: usize) {
    // SAFETY: broken on purpose.
    unsafe { ALLOCATOR.realloc(start, layout, new_size) };
}

/// The place so far into a block, or beyond it.
fn place(Block(start): Block, offset: usize) -> Block {
    Block(start.wrapping_add(offset))
}

/// Changes one byte, whatever it is.
fn flip(Block(place): Block) {
    // SAFETY: none is promised: the place may be freed or a neighbour's.
    let old = unsafe { place.read_volatile() };
    // SAFETY: as above.
    unsafe { place.write_volatile(!old) };
}

fn look(Block(place): Block) -> u8 {
    // SAFETY: none is promised: the place may be freed or a guard's.
    unsafe { place.read_volatile() }
}

fn say(what: &str) {
    io::stderr().write_all(format!("{what}\n").as_bytes()).expect("the error stream is open");
}

/// Allocates and frees until all free blocks of a size have been looked at, and the quarantine has
/// let go of those that were freed before.
fn search(size: usize) {
    let (rounds, blocks) = if size == SMALL { (20, 256) } else { (20, 4) };
    for _ in 0..rounds {
        let blocks: Vec<_> = (0..blocks).map(|_| bare(size)).collect();
        blocks.into_iter().for_each(|block| free(block, layout(size)));
    }
}

/// Does something here, then something on another thread. That stands ready before: nothing that
/// it needs for itself must come to lie in a block that is freed here.
fn on_another_thread(here: impl FnOnce(), there: impl FnOnce() + Send) {
    let both = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            free(filled(SMALL), layout(SMALL));
            both.wait();
            both.wait();
            there();
        });
        both.wait();
        here();
        both.wait();
    });
}

fn foreign_stack(size: usize) {
    #[repr(align(4096))]
    struct Page([u8; OS_PAGE]);
    let mut page = Page([0; OS_PAGE]);
    free(place(Block(page.0.as_mut_ptr()), 64), layout(size));
}

fn foreign_libc(size: usize) {
    // SAFETY: any size may be asked for.
    let start = unsafe { malloc(size) };
    free(Block(start.cast()), layout(size));
}

fn foreign_null(size: usize) {
    free(Block(std::ptr::null_mut()), layout(size));
}

fn foreign_other(size: usize) {
    // SAFETY: the layout has bytes.
    let start = unsafe { Other.alloc(layout(size)) };
    free(Block(start), layout(size));
}

fn foreign_realloc(size: usize) {
    // SAFETY: the layout has bytes.
    let start = unsafe { Other.alloc(layout(size)) };
    realloc(Block(start), layout(size), 16);
}

fn interior(size: usize) {
    free(place(filled(size), 8), layout(size));
}

fn interior_realloc(size: usize) {
    realloc(place(filled(size), 8), layout(size), 16);
}

fn size_same_class(size: usize) {
    free(filled(size), layout(size - 6));
}

fn size_other_class(size: usize) {
    free(filled(size), layout(size * 2));
}

/// Small freed as large, large and huge as small.
fn size_other_kind(size: usize) {
    let other = if size == SMALL { LARGE } else { SMALL };
    free(filled(size), layout(other));
}

fn size_realloc(size: usize) {
    realloc(filled(size), layout(size * 2), 16);
}

fn align_same_class(size: usize) {
    free(filled(size), aligned(size, 16));
}

fn align_other_class(size: usize) {
    free(filled(size), aligned(size, OS_PAGE));
}

fn align_realloc(size: usize) {
    realloc(filled(size), aligned(size, OS_PAGE), 16);
}

fn double_free(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    free(block, layout(size));
}

/// After ten thousand other operations. Those of the same class ask for as many bytes: the block is
/// used again, and is free again in the end.
fn double_free_delayed(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    for nth in 0..500 {
        let sizes = (0..10).map(|step| if step == 5 { SMALL } else { 200 + (nth + step) % 1000 });
        let others: Vec<_> = sizes.map(|size| (bare(size), size)).collect();
        others.into_iter().for_each(|(block, size)| free(block, layout(size)));
    }
    free(block, layout(size));
}

fn double_free_other_thread(size: usize) {
    let block = filled(size);
    on_another_thread(
        || free(block, layout(size)),
        || {
            free(block, layout(size));
            Subject::flush();
        },
    );
}

fn double_free_flushed(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    Subject::flush();
    free(block, layout(size));
}

fn double_free_realloc(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    realloc(block, layout(size), 16);
}

/// A block that another one of ours follows, so that what lies behind it is nobody else's.
fn with_neighbour(size: usize) -> Block {
    if size != SMALL {
        return filled(size);
    }
    let row: Vec<_> = (0..64).map(|_| filled(size)).collect();
    let has_neighbour = |block: &&Block| row.iter().any(|other| other.0 == place(**block, 64).0);
    *row.iter().find(has_neighbour).expect("of 64 blocks two are neighbours")
}

fn overflow_1(size: usize) {
    let block = with_neighbour(size);
    flip(place(block, size));
    free(block, layout(size));
}

fn overflow_16(size: usize) {
    let block = with_neighbour(size);
    (0..16).for_each(|offset| flip(place(block, size + offset)));
    free(block, layout(size));
}

/// A buffer is cleared, and a word too many.
fn overflow_zeros(size: usize) {
    let block = with_neighbour(size);
    // SAFETY: none; the last word is beyond the block.
    unsafe { block.0.write_bytes(0, size + 8) };
    free(block, layout(size));
}

fn overflow_realloc(size: usize) {
    let block = with_neighbour(size);
    flip(place(block, size));
    realloc(block, layout(size), 16);
}

fn write_after_free(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    flip(place(block, 8));
}

fn write_after_free_other_thread(size: usize) {
    let block = filled(size);
    on_another_thread(|| free(block, layout(size)), || flip(place(block, 8)));
}

fn read_after_free(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    let is_there = look(place(block, 16)) == SECRET;
    say(if is_there { "the secret is there" } else { "the secret is gone" });
}

/// Whether a block comes back within the ten requests that follow its free.
fn reuse(size: usize) {
    let block = filled(size);
    free(block, layout(size));
    let comes_back = (0..10).any(|_| {
        let other = bare(size);
        free(other, layout(size));
        other.0 == block.0
    });
    say(if comes_back { "the block came back" } else { "the block stayed away" });
}

/// The block ends with an OS page, with eight bytes more or without.
fn guard_behind(size: usize) {
    look(place(filled(size - 64), size));
}

fn guard_before(size: usize) {
    look(Block(filled(size).0.wrapping_sub(1)));
}

/// The last OS page of the region of so many bytes that a block lies in.
fn last_page(region: usize, Block(start): Block, bytes: usize) -> Block {
    Block(start.map_addr(|address| (address & !(region - 1)) + bytes - OS_PAGE))
}

fn guard_slab(size: usize) {
    look(last_page(UNIT, filled(size), UNIT));
}

/// The header is the first unit of a superslab.
fn guard_header(size: usize) {
    look(last_page(SUPERSLAB, filled(size), UNIT));
}

fn main() {
    let mut arguments = env::args().skip(1);
    let (case, size) = (arguments.next().expect("a case"), arguments.next().expect("a size"));
    let size = match size.as_str() {
        "small" => SMALL,
        "large" => LARGE,
        "huge" => HUGE,
        other => panic!("no size `{other}`"),
    };
    let misuse = CASES.iter().find(|(name, _)| *name == case);
    let (_, misuse) = misuse.unwrap_or_else(|| panic!("no case `{case}`"));
    misuse(size);
    say("the misuse returned");
    search(size);
    Subject::flush();
    search(size);
    Subject::flush();
    say("ended");
}
