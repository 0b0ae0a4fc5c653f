//! A block that is freed twice is noticed when it reaches its slab, at the latest: one line on the
//! error stream, then SIGABRT, whatever the program's panic hook does.

#[path = "support/child.rs"]
mod child;

use std::alloc::{GlobalAlloc, Layout};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use hak::hak_allocator;

hak_allocator!(
    #[global_allocator]
    static GLOBAL = "specs/general.toml"
);
hak_allocator!(struct Small = { schema = 1, classes.sizes = [48] });

const TIME: Duration = Duration::from_secs(20);

/// Runs `misuse` in a process of its own, with a panic hook that allocates, and checks how it dies.
fn dies(test: &str, message: &str, misuse: impl FnOnce()) {
    let (status, output) = child::ends(test, TIME, || {
        std::panic::set_hook(Box::new(|info| eprintln!("a panic: {info}")));
        misuse();
    });
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}: {output}");
    let line = output.lines().rfind(|line| line.starts_with("hak: ")).unwrap_or(&output);
    let (told, address) = line.rsplit_once(" 0x").unwrap_or((line, ""));
    assert_eq!(told, message);
    assert!(usize::from_str_radix(address, 16).is_ok(), "{line}");
    assert!(!output.contains("a panic"), "the runtime does not panic: {output}");
}

fn alloc(allocator: &impl GlobalAlloc, size: usize) -> *mut u8 {
    // SAFETY: the layout has bytes.
    unsafe { allocator.alloc(Layout::from_size_align(size, 8).unwrap()) }
}

/// Frees a block, even if it is free: that is the misuse.
fn free(allocator: &impl GlobalAlloc, start: *mut u8, size: usize) {
    // SAFETY: the first time, the block came from `alloc` with this size.
    unsafe { allocator.dealloc(start, Layout::from_size_align(size, 8).unwrap()) };
}

#[test]
fn of_a_block_that_is_flushed_twice() {
    dies("of_a_block_that_is_flushed_twice", "hak: Small: double free of 48-byte block", || {
        let start = alloc(&Small, 48);
        free(&Small, start, 48);
        Small::flush();
        free(&Small, start, 48);
        Small::flush();
    });
}

#[test]
fn of_a_block_that_is_cached_twice() {
    dies("of_a_block_that_is_cached_twice", "hak: Small: double free of 48-byte block", || {
        let start = alloc(&Small, 48);
        free(&Small, start, 48);
        free(&Small, start, 48);
        Small::flush();
    });
}

#[test]
fn of_a_span() {
    dies("of_a_span", "hak: General: double free of 100000-byte block", || {
        let start = alloc(&GLOBAL, 100_000);
        free(&GLOBAL, start, 100_000);
        free(&GLOBAL, start, 100_000);
    });
}
