//! A kernel that refuses system calls, as a sandbox makes it, or pretends to have done them.
//!
//! What is needed is `mmap`, `munmap` and `futex`. The rest makes things better: without `madvise`
//! no memory goes back, without `mremap` huge blocks are copied when they grow.

#![cfg(target_arch = "x86_64")]

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/seccomp.rs"]
mod seccomp;
#[path = "support/system.rs"]
mod system;

use std::alloc::GlobalAlloc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blocks::{Block, Random, free_all};
use hak::hak_allocator;
use seccomp::Answer;
use system::{KIB, MIB, comes_true, errno, resident, set_errno};

hak_allocator!("specs/general.toml");
hak_allocator!(struct Hasty = {
    schema = 1, extends = "general", large.keep = "4 MiB", superslab.huge_pages = "advise",
    superslab.prefault = true, superslab.purge = { after = "1 ms" }
});
hak_allocator!(struct WithHelper = {
    schema = 1, extends = "general", superslab.purge = { after = "20 ms", helper = true }
});

const TIMEOUT: Duration = Duration::from_secs(60);

/// Without these an allocator cannot work, or a thread cannot end.
const ALLOWED: [libc::c_long; 9] = [
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_futex,
    libc::SYS_exit,
    // To report a failure, and to stop at one.
    libc::SYS_write,
    libc::SYS_exit_group,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
];

const SIZES: [usize; 9] = [16, 100, 4 * KIB, 32 * KIB, 70 * KIB, 500 * KIB, MIB, 3 * MIB, 9 * MIB];

/// Allocates, resizes and frees blocks of all kinds, all zeroed, and looks at all of them.
fn exercise(allocator: &impl GlobalAlloc, purge: fn()) {
    let mut random = Random(3);
    let mut blocks: Vec<Block> = Vec::with_capacity(64);
    for step in 0..1500 {
        if blocks.len() > 40 || (step % 3 == 0 && !blocks.is_empty()) {
            let block = blocks.swap_remove(random.below(blocks.len()));
            assert!(block.is_all(5), "{:?} was changed", block.layout);
            block.free(allocator);
        }
        let size = SIZES[random.below(if step % 16 == 0 { 9 } else { 6 })];
        let block = Block::zeroed(allocator, size).unwrap();
        assert!(block.is_all(0), "step {step}: {:?} is not zero", block.layout);
        let block = block.filled(5);
        let size = SIZES[random.below(if step % 16 == 1 { 9 } else { 6 })];
        let kept = size.min(block.layout.size());
        let block = block.resized(allocator, size).unwrap();
        assert!((0..kept).step_by(61).all(|at| block.get(at) == 5), "{:?}", block.layout);
        blocks.push(block.filled(5));
        if step % 100 == 99 {
            purge();
        }
    }
    free_all(allocator, blocks);
    purge();
}

/// `madvise`, `mremap` and the rest are refused: all works, nothing is lost.
#[test]
fn all_but_the_least_is_refused() {
    child::run("all_but_the_least_is_refused", TIMEOUT, || {
        let refuse = Answer::Error(libc::EPERM.cast_unsigned());
        seccomp::run(&ALLOWED, Answer::Done, refuse, || {
            exercise(&Hasty, Hasty::purge);
            assert_eq!(Hasty::stats().held_bytes, 0);
            exercise(&General, General::purge);
            assert_eq!(General::stats().held_bytes, 0);
            // The system took nothing, and nobody says that it did.
            assert_eq!(General::stats().purged_bytes, 0);
        });
    });
}

/// `madvise` says that it did, and did not: memory that was used is not taken for zero.
#[test]
fn madvise_does_nothing() {
    child::run("madvise_does_nothing", TIMEOUT, || {
        seccomp::run(&[libc::SYS_madvise], Answer::Error(0), Answer::Done, || {
            // The span's units come back as they were.
            let block = Block::new(&Hasty, MIB).unwrap().filled(0xEE);
            block.free(&Hasty);
            Hasty::purge();
            let again = Block::zeroed(&Hasty, MIB).unwrap();
            assert!(again.is_all(0), "a span is not zero");
            again.free(&Hasty);
            exercise(&Hasty, Hasty::purge);
            exercise(&General, General::purge);
        });
    });
}

/// No thread can be started, so no helper: then whoever comes by must do its work.
#[test]
fn no_helper_can_be_started() {
    child::run("no_helper_can_be_started", TIMEOUT, || {
        let refused = Answer::Error(libc::EAGAIN.cast_unsigned());
        seccomp::run(&[libc::SYS_clone, libc::SYS_clone3], refused, Answer::Done, || {
            assert!(thread::Builder::new().spawn(|| {}).is_err(), "threads can be started");
            let before = resident();
            let spans: Vec<_> =
                (0..100).map(|_| Block::new(&WithHelper, MIB).unwrap().touched(1)).collect();
            free_all(&WithHelper, spans);
            let come_by = || {
                Block::new(&WithHelper, 100 * KIB).unwrap().free(&WithHelper);
                resident() < before + 20 * MIB
            };
            let returned = comes_true(come_by);
            assert!(returned.is_some(), "{} bytes are left", resident() - before);
        });
    });
}

/// A free keeps `errno` when the kernel refuses all that it asks for on the way.
#[test]
fn errno_is_kept_when_calls_are_refused() {
    child::run("errno_is_kept_when_calls_are_refused", TIMEOUT, || {
        const MARK: i32 = 1789;
        let (sender, receiver) = mpsc::sync_channel::<Vec<Block>>(1);
        let blocks: Vec<_> = SIZES.iter().cycle().take(180).copied().collect();
        let blocks = blocks.into_iter().filter_map(|size| Block::new(&Hasty, size)).collect();
        sender.send(blocks).unwrap();
        let refuse = Answer::Error(libc::EPERM.cast_unsigned());
        seccomp::run(&ALLOWED, Answer::Done, refuse, move || {
            // This thread's first use of the allocator is a free.
            for block in receiver.recv().unwrap() {
                set_errno(MARK);
                block.free(&Hasty);
                assert_eq!(errno(), MARK, "after a free of {:?}", block.layout);
            }
            set_errno(MARK);
            Hasty::purge();
            assert_eq!(errno(), MARK, "after a purge");
        });
    });
}
