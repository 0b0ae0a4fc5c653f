//! Linux, through the C library's thin wrappers.

use core::ffi::c_int;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Puts `errno` back when it is dropped.
struct KeepErrno(c_int);

impl KeepErrno {
    fn new() -> Self {
        // SAFETY: there are no preconditions.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: it points to this thread's `errno`.
        KeepErrno(unsafe { *errno })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: there are no preconditions.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: it points to this thread's `errno`.
        unsafe { *errno = self.0 };
    }
}

/// Bytes of an OS page, asked once.
pub(crate) fn page_bytes() -> usize {
    static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);
    match PAGE_BYTES.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: `sysconf` has no preconditions.
            let asked = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let bytes = usize::try_from(asked).unwrap_or(4096);
            PAGE_BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}

/// Maps zeroed, private memory; `None` when the system refuses.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    let _errno = KeepErrno::new();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing of ours.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED { None } else { NonNull::new(memory.cast()) }
}

/// Unmaps; false when the system refuses, as it may at its limit of mappings.
///
/// # Safety
///
/// 1. The range is mapped and belongs to the caller.
/// 2. No one uses its memory after this call, unless it returns false.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) -> bool {
    let _errno = KeepErrno::new();
    // SAFETY: by (1) and (2).
    unsafe { libc::munmap(memory.as_ptr().cast(), bytes) == 0 }
}

/// Resizes a mapping, keeping its contents; what is new is zero. `None` leaves it as it was.
///
/// # Safety
///
/// 1. The old range is one mapping and belongs to the caller.
/// 2. When it moves or shrinks, no one uses what is gone after this call.
pub(crate) unsafe fn remap(
    memory: NonNull<u8>,
    old_bytes: usize,
    new_bytes: usize,
    may_move: bool,
) -> Option<NonNull<u8>> {
    let _errno = KeepErrno::new();
    let flags = if may_move { libc::MREMAP_MAYMOVE } else { 0 };
    // SAFETY: by (1) and (2).
    let moved = unsafe { libc::mremap(memory.as_ptr().cast(), old_bytes, new_bytes, flags) };
    if moved == libc::MAP_FAILED { None } else { NonNull::new(moved.cast()) }
}

/// Asks that a range be backed by single OS pages, whatever the system's setting; may be refused.
///
/// # Safety
///
/// The range is mapped and belongs to the caller.
pub(crate) unsafe fn no_huge_pages(memory: NonNull<u8>, bytes: usize) {
    let _errno = KeepErrno::new();
    // SAFETY: the advice changes no contents.
    unsafe { libc::madvise(memory.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE) };
}

/// Sleeps while `word` holds `expected`; may wake without reason.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) {
    let _errno = KeepErrno::new();
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let no_timeout = ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call, and the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, no_timeout) };
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    let _errno = KeepErrno::new();
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the address only to find sleepers.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}

/// Writes to the error stream, past every buffer and lock of the program.
pub(crate) fn write_error(text: &[u8]) {
    let _errno = KeepErrno::new();
    // SAFETY: the slice is readable. What cannot be written is lost, there is no one to tell.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// Ends the process with `SIGABRT`.
pub(crate) fn abort() -> ! {
    // SAFETY: `abort` has no preconditions.
    unsafe { libc::abort() }
}
