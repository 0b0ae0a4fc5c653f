//! Linux, through the C library's thin wrappers.
//!
//! Memory is asked for by the system call itself: a library that puts its own functions in place of
//! the wrappers may allocate in them, and locks are held here.

use core::ffi::{c_int, c_long, c_void};
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

/// A system call about memory; `None` when it fails.
///
/// # Safety
///
/// As for the system call of that number.
unsafe fn ask(number: c_long, arguments: [usize; 6]) -> Option<usize> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: by this function's contract.
    usize::try_from(unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) })
        .ok()
}

/// Flags as the system takes them.
fn flags(flags: c_int) -> usize {
    flags.cast_unsigned() as usize
}

/// Maps zeroed, private memory with an access.
fn map_for(access: c_int, bytes: usize) -> Option<NonNull<u8>> {
    let _errno = KeepErrno::new();
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let arguments = [0, bytes, flags(access), flags(kind), usize::MAX, 0];
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing of ours.
    let memory = unsafe { ask(libc::SYS_mmap, arguments) }?;
    NonNull::new(ptr::with_exposed_provenance_mut(memory))
}

/// Gives an advice about a range; false when it is refused.
///
/// # Safety
///
/// The range is mapped and belongs to the caller. The advice changes no contents, or the caller
/// needs none.
unsafe fn advise(memory: NonNull<u8>, bytes: usize, advice: c_int) -> bool {
    let _errno = KeepErrno::new();
    let start = memory.as_ptr().expose_provenance();
    // SAFETY: by this function's contract.
    unsafe { ask(libc::SYS_madvise, [start, bytes, flags(advice), 0, 0, 0]) }.is_some()
}

/// Changes the access to a range; false when that is refused.
///
/// # Safety
///
/// The range is mapped and belongs to the caller, and is not used in ways that are forbidden now.
unsafe fn protect(memory: NonNull<u8>, bytes: usize, access: c_int) -> bool {
    let _errno = KeepErrno::new();
    let start = memory.as_ptr().expose_provenance();
    // SAFETY: by this function's contract.
    unsafe { ask(libc::SYS_mprotect, [start, bytes, flags(access), 0, 0, 0]) }.is_some()
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
    map_for(libc::PROT_READ | libc::PROT_WRITE, bytes)
}

/// Reserves addresses that read as zeros, and take no memory until [`allow`] makes them writable;
/// `None` when the system refuses.
#[cfg(feature = "c")]
pub(crate) fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    map_for(libc::PROT_READ, bytes)
}

/// Bytes of addresses that the process may have; `None` without a limit.
#[cfg(feature = "c")]
pub(crate) fn address_limit() -> Option<usize> {
    let _errno = KeepErrno::new();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY)
        .then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

/// Unmaps; false when the system refuses, as it may at its limit of mappings.
///
/// # Safety
///
/// 1. The range is mapped and belongs to the caller.
/// 2. No one uses its memory after this call, unless it returns false.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) -> bool {
    let _errno = KeepErrno::new();
    let start = memory.as_ptr().expose_provenance();
    // SAFETY: by (1) and (2).
    unsafe { ask(libc::SYS_munmap, [start, bytes, 0, 0, 0, 0]) }.is_some()
}

/// Resizes a mapping, keeping its contents; what is new is zero. `None` leaves it as it was: there
/// is no room, or the system holds the range as more than one mapping.
///
/// # Safety
///
/// 1. The old range is mapped and belongs to the caller.
/// 2. When it moves or shrinks, no one uses what is gone after this call.
pub(crate) unsafe fn remap(
    memory: NonNull<u8>,
    old_bytes: usize,
    new_bytes: usize,
    may_move: bool,
) -> Option<NonNull<u8>> {
    let _errno = KeepErrno::new();
    let moving = flags(if may_move { libc::MREMAP_MAYMOVE } else { 0 });
    let start = memory.as_ptr().expose_provenance();
    // SAFETY: by (1) and (2).
    let moved = unsafe { ask(libc::SYS_mremap, [start, old_bytes, new_bytes, moving, 0, 0]) }?;
    NonNull::new(ptr::with_exposed_provenance_mut(moved))
}

/// Asks that a range be backed by single OS pages, whatever the system's setting; may be refused.
///
/// # Safety
///
/// The range is mapped and belongs to the caller.
pub(crate) unsafe fn no_huge_pages(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the advice changes no contents.
    unsafe { advise(memory, bytes, libc::MADV_NOHUGEPAGE) };
}

/// Asks that a range be backed by huge pages where that is possible; may be refused.
///
/// # Safety
///
/// The range is mapped and belongs to the caller.
pub(crate) unsafe fn advise_huge_pages(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the advice changes no contents.
    unsafe { advise(memory, bytes, libc::MADV_HUGEPAGE) };
}

/// Makes a range resident, as far as the system can (since Linux 5.14).
///
/// # Safety
///
/// The range is mapped and belongs to the caller.
pub(crate) unsafe fn populate(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: contents are kept.
    unsafe { advise(memory, bytes, libc::MADV_POPULATE_WRITE) };
}

/// Returns the OS pages of a range, which stays mapped; false when the system refuses. Whether the
/// range is zero after it is for [`super::dontneed_zeroes`] to say.
///
/// # Safety
///
/// The range is mapped and belongs to the caller, and its contents are not needed.
pub(crate) unsafe fn discard(memory: NonNull<u8>, bytes: usize, lazily: bool) -> bool {
    let advice = if lazily { libc::MADV_FREE } else { libc::MADV_DONTNEED };
    // SAFETY: by this function's contract.
    unsafe { advise(memory, bytes, advice) }
}

/// Forbids all access to a range, whose contents stay; false when the system refuses, as it may at
/// its limit of mappings.
///
/// # Safety
///
/// The range is mapped and belongs to the caller, and no one uses it while access is forbidden.
pub(crate) unsafe fn forbid(memory: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by this function's contract.
    unsafe { protect(memory, bytes, libc::PROT_NONE) }
}

/// Allows access again; false when the system refuses, and access stays forbidden.
///
/// # Safety
///
/// The range is mapped and belongs to the caller.
pub(crate) unsafe fn allow(memory: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by this function's contract.
    unsafe { protect(memory, bytes, libc::PROT_READ | libc::PROT_WRITE) }
}

/// A random number that no one can guess; `None` when the system has none to give at once.
pub(crate) fn random() -> Option<u64> {
    let _errno = KeepErrno::new();
    let mut number = [0; size_of::<u64>()];
    // SAFETY: the array is writable and as long as is said.
    let length =
        unsafe { libc::getrandom(number.as_mut_ptr().cast(), number.len(), libc::GRND_NONBLOCK) };
    (length == number.len().cast_signed()).then(|| u64::from_ne_bytes(number))
}

/// Milliseconds of a clock that never goes back, a few milliseconds coarse.
pub(crate) fn now_ms() -> u64 {
    let _errno = KeepErrno::new();
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1000 + now.tv_nsec.cast_unsigned() / 1_000_000
}

/// Nanoseconds of a clock that never goes back.
#[cfg(not(feature = "c"))]
pub(crate) fn now_ns() -> u64 {
    let _errno = KeepErrno::new();
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Processors that this process may run on, at least 1.
pub(crate) fn processors() -> usize {
    let _errno = KeepErrno::new();
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the set is writable and as large as is said.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } == 0;
    // SAFETY: the set is initialised.
    let count = if known { unsafe { libc::CPU_COUNT(&set) } } else { 1 };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// The kernel's number of this thread, 1 to 2^22.
pub(crate) fn thread_number() -> u32 {
    // SAFETY: there are no preconditions, and it cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Has functions called at each fork: before it, and after it in the parent and in the child. If
/// the system has no memory for that, forks are as they would be without.
pub(crate) fn call_at_fork(
    before: unsafe extern "C" fn(),
    in_parent: unsafe extern "C" fn(),
    in_child: unsafe extern "C" fn(),
) {
    let _errno = KeepErrno::new();
    // SAFETY: the functions live as long as the program.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// A place for one pointer in every thread.
pub(crate) type ThreadKey = libc::pthread_key_t;

/// A new key, whose destructor gets the pointer of each ending thread that has one; `None` when
/// the system has no key left.
pub(crate) fn thread_key(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<ThreadKey> {
    let _errno = KeepErrno::new();
    let mut key = 0;
    // SAFETY: `key` is writable.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) } == 0;
    made.then_some(key)
}

/// This thread's pointer; null at first.
pub(crate) fn thread_pointer(key: ThreadKey) -> *mut c_void {
    // SAFETY: keys are never deleted.
    unsafe { libc::pthread_getspecific(key) }
}

/// Sets this thread's pointer; false when the system has no memory for it.
///
/// # Safety
///
/// The key's destructor may be called with the pointer when the thread ends.
pub(crate) unsafe fn set_thread_pointer(key: ThreadKey, pointer: *const c_void) -> bool {
    let _errno = KeepErrno::new();
    // SAFETY: keys are never deleted, and the rest by this function's contract.
    unsafe { libc::pthread_setspecific(key, pointer) == 0 }
}

/// What shows that a thread lives: a lock that it holds while it does, which the kernel marks when
/// the thread is gone.
#[cfg(feature = "c")]
#[repr(transparent)]
pub(crate) struct Life(core::cell::UnsafeCell<libc::pthread_mutex_t>);

#[cfg(feature = "c")]
impl Life {
    /// Of no thread.
    pub(crate) const fn new() -> Life {
        Life(core::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    /// Makes it this thread's, whoever's it was.
    pub(crate) fn begin(&self) {
        let _errno = KeepErrno::new();
        // SAFETY: all-zero attributes are overwritten before they are read.
        let mut attributes: libc::pthread_mutexattr_t = unsafe { core::mem::zeroed() };
        // SAFETY: attributes and lock are writable, and nobody waits for the lock.
        #[expect(clippy::multiple_unsafe_ops_per_block, reason = "one sequence of C calls")]
        unsafe {
            libc::pthread_mutexattr_init(&raw mut attributes);
            libc::pthread_mutexattr_setrobust(&raw mut attributes, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(self.0.get(), &raw const attributes);
            libc::pthread_mutexattr_destroy(&raw mut attributes);
            libc::pthread_mutex_trylock(self.0.get());
        }
    }

    /// Ends it while the thread lives. In the child of a fork it is not this thread's, and refused.
    pub(crate) fn end(&self) {
        // SAFETY: the lock was made by `begin`.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }

    /// Whether the thread that it was of is gone, and has not ended it; true once, and then it is
    /// this thread's.
    pub(crate) fn is_over(&self) -> bool {
        // SAFETY: the lock was made by `begin`.
        match unsafe { libc::pthread_mutex_trylock(self.0.get()) } {
            libc::EOWNERDEAD => {
                // SAFETY: this thread holds it now.
                unsafe { libc::pthread_mutex_consistent(self.0.get()) };
                true
            }
            0 => {
                self.end();
                false
            }
            _ => false,
        }
    }
}

/// Lets other threads run.
pub(crate) fn give_way() {
    // SAFETY: there are no preconditions, and it does not fail.
    unsafe { libc::sched_yield() };
}

/// Starts a thread with a small stack that gets no signals; false when the system refuses.
pub(crate) fn spawn(main: extern "C" fn(*mut c_void) -> *mut c_void) -> bool {
    /// Bytes of stack: little of it is touched, but the program's thread-local variables stand
    /// there, too. If they need more, the C library says so.
    const STACK_BYTES: [usize; 3] = [256 << 10, 2 << 20, 16 << 20];
    let _errno = KeepErrno::new();
    STACK_BYTES.iter().map(|&bytes| spawn_with(bytes, main)).find(|&error| error != libc::EINVAL)
        == Some(0)
}

/// Starts a thread; gives the error.
fn spawn_with(stack_bytes: usize, main: extern "C" fn(*mut c_void) -> *mut c_void) -> c_int {
    // SAFETY: an all-zero set and attributes are overwritten before they are read.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { core::mem::zeroed() };
    // SAFETY: as above.
    let mut attributes: libc::pthread_attr_t = unsafe { core::mem::zeroed() };
    let mut thread: libc::pthread_t = 0;
    // SAFETY: all pointers are to live variables, initialised by the calls before; the new
    // thread starts with all signals blocked, and this one's mask is restored.
    #[expect(clippy::multiple_unsafe_ops_per_block, reason = "one sequence of C calls")]
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&raw mut attributes, stack_bytes);
        let error =
            libc::pthread_create(&raw mut thread, &raw const attributes, main, ptr::null_mut());
        libc::pthread_attr_destroy(&raw mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        error
    }
}

/// Sleeps for some milliseconds, or less when a signal comes.
pub(crate) fn sleep(milliseconds: u64) {
    let _errno = KeepErrno::new();
    let time = libc::timespec {
        tv_sec: (milliseconds / 1000).cast_signed(),
        tv_nsec: (milliseconds % 1000 * 1_000_000).cast_signed(),
    };
    // SAFETY: the time outlives the call.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
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
