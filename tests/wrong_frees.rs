//! Without any check, a block that is freed as what it is not is noticed when it reaches its slab:
//! it is reported, not followed.

#[path = "support/child.rs"]
mod child;

use std::alloc::{GlobalAlloc, Layout};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use hak::hak_allocator;

hak_allocator!(struct Two = { schema = 1, classes.sizes = [48, 64, 12_288] });
hak_allocator!(struct Other = { schema = 1, classes.sizes = [48] });

const TIME: Duration = Duration::from_secs(20);

/// Frees what `wrong` gives as a block of some size, in a process of its own, and checks how that
/// dies. Addresses in the message are cut out.
fn dies(test: &str, size: usize, message: &str, wrong: impl FnOnce() -> *mut u8) {
    let (status, output) = child::ends(test, TIME, || {
        // The allocator has a slab of each class, so that there is something to mistake.
        let _held = [48, 64, 12_288].map(|size| alloc(&Two, size));
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: it is wrong: that is the misuse. The process ends before anything follows it.
        unsafe { Two.dealloc(wrong(), layout) };
        Two::flush();
    });
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}: {output}");
    let line = output.lines().rfind(|line| line.starts_with("hak: ")).unwrap_or(&output);
    let is_digit = |digit: char| digit.is_ascii_hexdigit();
    let told: Vec<_> = line.split("0x").map(|part| part.trim_start_matches(is_digit)).collect();
    assert_eq!(told.concat(), format!("hak: Two: {message}"), "{line}");
}

fn alloc(allocator: &impl GlobalAlloc, size: usize) -> *mut u8 {
    // SAFETY: the layout has bytes.
    unsafe { allocator.alloc(Layout::from_size_align(size, 8).unwrap()) }
}

fn free(allocator: &impl GlobalAlloc, block: *mut u8, size: usize) {
    // SAFETY: the tests free what they got for the size, but for the misuse that they are about.
    unsafe { allocator.dealloc(block, Layout::from_size_align(size, 8).unwrap()) };
}

#[test]
fn of_a_smaller_class() {
    dies("of_a_smaller_class", 64, "free of 48-byte block  as one of 64 bytes", || alloc(&Two, 48));
}

#[test]
fn of_a_class_with_longer_slabs() {
    let message = "free of 12288-byte block  as one of 48 bytes";
    dies("of_a_class_with_longer_slabs", 48, message, || alloc(&Two, 12_288));
}

#[test]
fn of_a_class_with_shorter_slabs() {
    let message = "free of 64-byte block  as one of 12288 bytes";
    dies("of_a_class_with_shorter_slabs", 12_288, message, || alloc(&Two, 64));
}

#[test]
fn of_the_midst_of_a_block() {
    let message = "free of , 8 bytes into 48-byte block ";
    dies("of_the_midst_of_a_block", 48, message, || alloc(&Two, 48).wrapping_add(8));
}

#[test]
fn of_the_end_of_a_slab() {
    let message = "free of foreign address ";
    // 1365 blocks of 48 bytes fit a slab.
    let end = |block: *mut u8| block.map_addr(|address| (address & !0xffff) + 1365 * 48);
    dies("of_the_end_of_a_slab", 48, message, || end(alloc(&Two, 48)));
}

/// Both go back with one atomic operation, if they may.
#[test]
fn of_the_end_of_a_slab_beside_the_last_block() {
    let test = "of_the_end_of_a_slab_beside_the_last_block";
    dies(test, 48, "free of foreign address ", || {
        let start = alloc(&Two, 48).map_addr(|address| address & !0xffff);
        let blocks: Vec<_> = (0..1365).map(|_| alloc(&Two, 48)).collect();
        let last = start.wrapping_add(1364 * 48);
        assert!(blocks.contains(&last));
        free(&Two, last, 48);
        start.wrapping_add(1365 * 48)
    });
}

/// Of blocks that go back together, the one that is free already is named.
#[test]
fn twice_and_beside_another() {
    let test = "twice_and_beside_another";
    let (status, output) = child::ends(test, TIME, || {
        let blocks = [(); 3].map(|()| alloc(&Two, 48));
        free(&Two, blocks[1], 48);
        Two::flush();
        eprintln!("freed twice: {:?}", blocks[1]);
        blocks.into_iter().for_each(|block| free(&Two, block, 48));
        Two::flush();
    });
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}: {output}");
    let is_told = |block| output.contains(&format!("double free of 48-byte block {block}"));
    let block = output.lines().find_map(|line| line.strip_prefix("freed twice: "));
    assert!(block.is_some_and(is_told), "{output}");
}

#[test]
fn of_a_span() {
    dies("of_a_span", 48, "free of foreign address ", || alloc(&Two, 100_000));
}

#[test]
fn of_another_allocators_block() {
    dies("of_another_allocators_block", 48, "free of foreign address ", || alloc(&Other, 48));
}

#[test]
fn of_memory_that_is_no_allocators() {
    dies("of_memory_that_is_no_allocators", 48, "free of foreign address ", || {
        // In the midst of enough memory, all of it touched, so that looking around is no fault.
        vec![1u8; 16 << 20].leak().as_mut_ptr().wrapping_add(8 << 20)
    });
}
