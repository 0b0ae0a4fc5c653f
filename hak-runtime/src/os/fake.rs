//! An operating system for tests: Linux, with the refusals and habits that a test asks for.
//!
//! What is asked for holds for the calling thread only, so that tests run side by side. Tests that
//! move the clock, or would take whole superslabs from each other, hold [`ALONE`].

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::linux;
pub(crate) use super::linux::{
    ThreadKey, abort, advise_huge_pages, give_way, no_huge_pages, now_ns, populate, processors,
    random, sleep, spawn, thread_number, write_error,
};
#[cfg(not(loom))]
pub(crate) use super::linux::{
    call_at_fork, futex_wait, futex_wake_one, set_thread_pointer, thread_key, thread_pointer,
};

#[cfg(loom)]
#[path = "fake_for_models.rs"]
pub(crate) mod for_models;
#[cfg(loom)]
pub(crate) use for_models::*;

pub(crate) static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// What a system is like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// Bytes of an OS page: as large as the real one, or larger.
    pub(crate) page_bytes: usize,
    /// Of so many calls one is refused; none if it is 0.
    pub(crate) refuse_one_in: u32,
    /// `MADV_DONTNEED` is accepted, and nothing done.
    pub(crate) ignores_dontneed: bool,
}

impl Habits {
    /// A system that refuses nothing.
    pub(crate) const USUAL: Habits =
        Habits { page_bytes: 4096, refuse_one_in: 0, ignores_dontneed: false };
}

std::thread_local! {
    static HABITS: Cell<Habits> = const { Cell::new(Habits::USUAL) };
    #[cfg(loom)]
    static ON_DISCARD: Cell<fn(NonNull<u8>, usize)> = const { Cell::new(|_, _| ()) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static REFUSALS: Cell<u32> = const { Cell::new(0) };
    static MAPPED_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Sets what the calling thread's system is like from now on.
pub(crate) fn behave(habits: Habits) {
    HABITS.set(habits);
}

/// One clock for all, since what waits for a purge is shared.
static NOW_MS: AtomicU64 = AtomicU64::new(1);

/// Moves the clock, which else stands still.
pub(crate) fn let_pass(milliseconds: u64) {
    NOW_MS.fetch_add(milliseconds, Ordering::Relaxed);
}

pub(crate) fn now_ms() -> u64 {
    NOW_MS.load(Ordering::Relaxed)
}

/// Has a function see each range that the calling thread discards.
#[cfg(loom)]
pub(crate) fn on_discard(see: fn(NonNull<u8>, usize)) {
    ON_DISCARD.set(see);
}

/// Calls of this thread that were refused.
#[cfg(not(loom))]
pub(crate) fn refusals() -> u32 {
    REFUSALS.get()
}

/// Bytes that this thread mapped, less what it unmapped.
pub(crate) fn mapped_bytes() -> usize {
    MAPPED_BYTES.get()
}

/// Runs a misuse in a fork of this process: the signal that ended it, and its last words. What
/// the misuse does must not need other threads.
#[cfg(not(loom))]
pub(crate) fn last_words(misuse: impl FnOnce()) -> (i32, String) {
    use std::io::Read;
    use std::os::fd::{AsRawFd, OwnedFd};

    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the child does what the misuse does, and ends without a return.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the system forks");
    if child == 0 {
        // SAFETY: both are open; what stood in the place of the error stream is the parent's.
        unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) };
        // SAFETY: there are no preconditions.
        unsafe { libc::alarm(20) };
        misuse();
        // SAFETY: there are no preconditions.
        unsafe { libc::_exit(0) };
    }
    drop(OwnedFd::from(writer));
    let mut words = String::new();
    reader.read_to_string(&mut words).unwrap();
    let mut status = 0;
    // SAFETY: the child is ours, and the status is writable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    (if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }, words)
}

/// Whether the next call is to be refused. It then goes to the system with arguments that are
/// refused there, so that `errno` is set.
fn refuses() -> bool {
    CALLS.set(CALLS.get().wrapping_add(1));
    let one_in = HABITS.get().refuse_one_in;
    let refused = one_in != 0 && CALLS.get().is_multiple_of(one_in);
    REFUSALS.set(REFUSALS.get() + u32::from(refused));
    refused
}

/// The contract of a port: see the head of `os`.
fn check(memory: NonNull<u8>, bytes: usize) {
    assert!(memory.addr().get().is_multiple_of(page_bytes()), "{memory:p}: not an OS page");
    check_bytes(bytes);
}

fn check_bytes(bytes: usize) {
    assert!(bytes > 0 && bytes.is_multiple_of(page_bytes()), "{bytes}: not whole OS pages");
}

/// An address in the midst of an OS page: the system refuses every call on it.
fn unacceptable(memory: NonNull<u8>) -> NonNull<u8> {
    memory.map_addr(|address| address | 1)
}

pub(crate) fn page_bytes() -> usize {
    HABITS.get().page_bytes
}

#[cfg(not(loom))]
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    check_bytes(bytes);
    if refuses() {
        return linux::map(usize::MAX);
    }
    let memory = map_at(page_bytes(), bytes)?;
    MAPPED_BYTES.set(MAPPED_BYTES.get() + bytes);
    Some(memory)
}

/// A mapping at a multiple of `align`.
pub(super) fn map_at(align: usize, bytes: usize) -> Option<NonNull<u8>> {
    let more = align - linux::page_bytes();
    let wide = linux::map(bytes.checked_add(more)?)?;
    let head = wide.addr().get().next_multiple_of(align) - wide.addr().get();
    // SAFETY: `head` is at most `more`.
    let start = unsafe { wide.add(head) };
    // SAFETY: the mapping ends `more - head` bytes behind it.
    let end = unsafe { start.add(bytes) };
    for (edge, length) in [(wide, head), (end, more - head)] {
        // SAFETY: the edge is ours, and no one uses it.
        assert!(length == 0 || unsafe { linux::unmap(edge, length) });
    }
    Some(start)
}

/// # Safety
///
/// As for [`linux::unmap`].
#[cfg(not(loom))]
pub(crate) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) -> bool {
    check(memory, bytes);
    let memory = if refuses() { unacceptable(memory) } else { memory };
    // SAFETY: by this function's contract.
    let unmapped = unsafe { linux::unmap(memory, bytes) };
    if unmapped {
        MAPPED_BYTES.set(MAPPED_BYTES.get().wrapping_sub(bytes));
    }
    unmapped
}

/// # Safety
///
/// As for [`linux::remap`].
#[cfg(not(loom))]
pub(crate) unsafe fn remap(
    memory: NonNull<u8>,
    old_bytes: usize,
    new_bytes: usize,
    may_move: bool,
) -> Option<NonNull<u8>> {
    check(memory, old_bytes);
    check(memory, new_bytes);
    // A larger OS page would move to a multiple of a smaller one.
    let may_move = may_move && page_bytes() == linux::page_bytes();
    let memory = if refuses() { unacceptable(memory) } else { memory };
    // SAFETY: by this function's contract.
    let moved = unsafe { linux::remap(memory, old_bytes, new_bytes, may_move) }?;
    MAPPED_BYTES.set(MAPPED_BYTES.get() + new_bytes - old_bytes);
    Some(moved)
}

/// # Safety
///
/// As for [`linux::discard`].
pub(crate) unsafe fn discard(memory: NonNull<u8>, bytes: usize, lazily: bool) -> bool {
    check(memory, bytes);
    #[cfg(loom)]
    ON_DISCARD.get()(memory, bytes);
    let memory = if refuses() { unacceptable(memory) } else { memory };
    if HABITS.get().ignores_dontneed && !lazily && memory.addr().get().is_multiple_of(2) {
        return true;
    }
    // SAFETY: by this function's contract.
    unsafe { linux::discard(memory, bytes, lazily) }
}

/// # Safety
///
/// As for [`linux::forbid`].
pub(crate) unsafe fn forbid(memory: NonNull<u8>, bytes: usize) -> bool {
    check(memory, bytes);
    let memory = if refuses() { unacceptable(memory) } else { memory };
    // SAFETY: by this function's contract.
    unsafe { linux::forbid(memory, bytes) }
}

/// # Safety
///
/// As for [`linux::allow`].
pub(crate) unsafe fn allow(memory: NonNull<u8>, bytes: usize) -> bool {
    check(memory, bytes);
    let memory = if refuses() { unacceptable(memory) } else { memory };
    // SAFETY: by this function's contract.
    unsafe { linux::allow(memory, bytes) }
}
