//! Misuse of large blocks: how the process ends, and what it says.

use core::ptr;

use super::*;
use crate::account::Terms;
use crate::checked_large::CheckedLarge;
use crate::checks::{BOUNDARY, FULL, HARDENED, SIZE};
use crate::class::classes;
use crate::depot::NoDepot;
use crate::os::fake::last_words;
use crate::parcel::FullMagazine;
use crate::size_class::SizeClass;

const SPAN: usize = 200 << 10;
const HUGE: usize = 3 << 20;

/// A heap with one class, of 64 bytes.
fn heap<L: Larges>(large: L) -> &'static Heap<NoDepot, L> {
    let account = Box::leak(Box::new(Account::new("Test", Terms::DEFAULT)));
    let sizes = [SizeClass::new([64, 1, 1, 1, 0], [1, 1024])];
    let classes: &'static _ = Box::leak(Box::new([classes(account, sizes)]));
    Box::leak(Box::new(Heap::new(
        account,
        classes,
        const { &NoDepot::<FullMagazine>::new() },
        large,
    )))
}

fn checked<const CHECKS: u16>() -> &'static Heap<NoDepot, CheckedLarge<CHECKS>> {
    heap(CheckedLarge::new(1 << 20, 4 << 20))
}

/// Frees `start` for a layout of `bytes` aligned to 8 in a child, which is to die with `words`, in
/// which `@` stands for the address.
fn dies<L: Larges>(heap: &Heap<NoDepot, L>, start: *mut u8, bytes: usize, words: &str) {
    let (signal, said) = last_words(|| {
        // SAFETY: none; the child ends before anything comes of it.
        unsafe { heap.dealloc_large(start, bytes, 8) }
    });
    let line = format!("hak: Test: {}\n", words.replace('@', &format!("{start:p}")));
    assert_eq!((signal, said), (libc::SIGABRT, line));
}

fn free<L: Larges>(heap: &Heap<NoDepot, L>, start: *mut u8, bytes: usize) {
    // SAFETY: callers free what they got for this size.
    unsafe { heap.dealloc_large(start, bytes, 8) };
}

/// A pointer into a block, or to its end.
fn into(start: *mut u8, bytes: usize) -> *mut u8 {
    start.wrapping_add(bytes)
}

/// What every set of checks with `BOUNDARY` sees, of spans and huge blocks. `canary` is what is
/// added to a request.
fn boundary<const CHECKS: u16>(canary: usize) {
    let heap = checked::<CHECKS>();
    for bytes in [SPAN, HUGE] {
        let asked = bytes + canary;
        let [one, two, three] = [(); 3].map(|()| heap.alloc_large(asked, 8, Want::Bytes));
        let other = format!("free of {bytes}-byte block @ with a layout of");
        dies(heap, one, asked + 1, &format!("{other} {} bytes aligned to 8", bytes + 1));
        dies(
            heap,
            one,
            HUGE + SPAN,
            &format!("{other} {} bytes aligned to 8", HUGE + SPAN - canary),
        );
        let inside = format!("free of @, 64 bytes into {bytes}-byte block {one:p}");
        dies(heap, into(one, 64), asked, &inside);
        free(heap, one, asked);
        let twice = format!("double free of {bytes}-byte block @");
        dies(heap, one, asked, &twice);
        free(heap, two, asked);
        dies(heap, one, asked, &twice);
        free(heap, three, asked);
    }
    let mut local = 0;
    dies(heap, &raw mut local, SPAN, "free of foreign address @");
    let resized = last_words(|| {
        // SAFETY: none; the child ends before anything comes of it.
        unsafe { heap.resize_large(&raw mut local, SPAN, HUGE, 8) };
    });
    let words = format!("hak: Test: free of foreign address {:p}\n", &raw mut local);
    assert_eq!(resized, (libc::SIGABRT, words));
}

#[test]
fn what_the_boundary_checks_see() {
    boundary::<BOUNDARY>(0);
    boundary::<FULL>(8);
    boundary::<HARDENED>(8);
}

#[test]
fn a_small_block_freed_as_a_large_one() {
    let heap = checked::<BOUNDARY>();
    let block = heap.classes[0].take_one();
    let words = "free of 64-byte block @ with a layout of 204800 bytes aligned to 8";
    dies(heap, block, SPAN, words);
    let inside = format!("free of @, 8 bytes into 64-byte block {block:p}");
    dies(heap, into(block, 8), SPAN, &inside);
    dies(checked::<BOUNDARY>(), block, SPAN, "free of foreign address @");
}

#[test]
fn without_the_size_check_a_blocks_own_size_counts() {
    let heap = checked::<{ BOUNDARY & !SIZE }>();
    for bytes in [SPAN, HUGE] {
        let start = heap.alloc_large(bytes, 8, Want::Bytes);
        free(heap, start, bytes / 2);
        heap.purge();
        assert_eq!(heap.account.held(), 0);
    }
}

#[test]
fn without_checks_what_costs_nothing_is_told() {
    let heap = heap(Large::new(1 << 20, 0));
    let [span, huge] = [SPAN, HUGE].map(|bytes| heap.alloc_large(bytes, 8, Want::Bytes));
    for (start, bytes) in [(span, SPAN), (huge, HUGE)] {
        dies(heap, into(start, 64), bytes, "free of foreign address @");
    }
    dies(heap, into(span, 64 << 10), 1 << 16, "free of foreign address @");
    let shorter = "free of 262144-byte block @ with a layout of 262145 bytes aligned to 8";
    dies(heap, span, (256 << 10) + 1, shorter);
    // Both in the child, where no other test takes the units in between.
    let twice = last_words(|| {
        free(heap, span, SPAN);
        free(heap, span, SPAN);
    });
    let words = format!("hak: Test: double free of 204800-byte block {span:p}\n");
    assert_eq!(twice, (libc::SIGABRT, words));
    free(heap, span, SPAN);
    free(heap, huge, HUGE);
}

#[test]
fn guards_and_freed_memory_fault() {
    let faults = |place: *mut u8| {
        // SAFETY: none; it is in a child, which it is to end.
        let (signal, _) = last_words(|| unsafe { place.write_volatile(1) });
        signal == libc::SIGSEGV
    };
    let heap = checked::<HARDENED>();
    for align in [8, 1 << 21] {
        let start = heap.alloc_large(HUGE, align, Want::Bytes);
        assert!(start.addr().is_multiple_of(align));
        assert!(faults(into(start, HUGE)));
        assert!(faults(start.wrapping_sub(1)));
        assert!(!faults(start) && !faults(into(start, HUGE - 1)));
        // SAFETY: allocated above.
        unsafe { heap.dealloc_large(start, HUGE, align) };
        assert!(faults(start), "it is in quarantine");
    }
}

/// The child of a fork in the midst of it finds all locks free.
#[test]
fn a_fork_finds_the_records_whole() {
    let heap = checked::<HARDENED>();
    let use_it = || {
        let start = heap.alloc_large(SPAN, 8, Want::Zeros);
        assert_ne!(start, ptr::null_mut());
        free(heap, start, SPAN);
    };
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                use_it();
            }
        });
        for _ in 0..50 {
            assert_eq!(last_words(use_it), (0, String::new()));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
