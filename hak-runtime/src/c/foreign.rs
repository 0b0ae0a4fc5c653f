//! Pointers that are no blocks of ours.
//!
//! A program may free what was got before this library was loaded, by the dynamic linker, or from
//! an allocator that the program carries itself. Such a pointer goes where it would have gone
//! without this library: to the function of that name which the whole program sees, if that is not
//! ours, else to the next one behind us, which is the C library's. Where there is none, as in a
//! program that is linked statically, a `free` does nothing, the usable size is 0, and a `realloc`
//! fails.
//!
//! They are looked for when one is needed: the dynamic linker may allocate for that, and is served
//! like anyone.

use core::ffi::{CStr, c_char, c_void};
use core::mem;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::no_memory;
use crate::local;

/// A function of other allocators, once it was looked for.
struct Elsewhere {
    name: &'static CStr,
    /// What the program sees, if it is not ours, and what is behind us.
    seen: AtomicPtr<c_void>,
    next: AtomicPtr<c_void>,
    /// What is being handed over.
    handed: [Handed; HANDED_MAX],
}

/// A pointer that a thread is handing over.
struct Handed {
    /// The thread, or 0.
    thread: AtomicUsize,
    /// Only its thread reads it.
    start: AtomicPtr<u8>,
}

/// Most pointers that are handed over at a time and known when they come back. One more would go
/// round until there is a place.
const HANDED_MAX: usize = 64;

/// The address of nothing: it was looked for, and there is none.
const NONE: *mut c_void = ptr::without_provenance_mut(1);

static FREE: Elsewhere = Elsewhere::new(c"free");
static REALLOC: Elsewhere = Elsewhere::new(c"realloc");
static USABLE_SIZE: Elsewhere = Elsewhere::new(c"malloc_usable_size");

impl Elsewhere {
    const fn new(name: &'static CStr) -> Self {
        let (seen, next) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
        let handed = [const { Handed::new() }; HANDED_MAX];
        Elsewhere { name, seen, next, handed }
    }

    /// Calls `act` with the function that a pointer is for, or with none.
    ///
    /// A library that is loaded before this one may be what the program sees, and hand what it gets
    /// to us. The second time in the same thread the pointer goes to what is behind us. In another
    /// thread it is another block, which the other allocator placed where the first one was.
    fn hand<R>(&self, start: NonNull<u8>, act: impl FnOnce(Option<NonNull<c_void>>) -> R) -> R {
        let next = || found(&self.next, || symbol(libc::RTLD_NEXT, self.name));
        let Some(seen) = found(&self.seen, || self.seen_by_program()) else { return act(next()) };
        let thread = local::id();
        if self.handed.iter().any(|handed| handed.is(thread, start)) {
            return act(next());
        }
        let handed = self.handed.iter().find(|handed| handed.enter(thread, start));
        let result = act(Some(seen));
        if let Some(handed) = handed {
            handed.thread.store(0, Ordering::Relaxed);
        }
        result
    }

    fn seen_by_program(&self) -> Option<NonNull<c_void>> {
        symbol(libc::RTLD_DEFAULT, self.name).filter(|&seen| !is_ours(seen))
    }
}

impl Handed {
    const fn new() -> Self {
        Handed { thread: AtomicUsize::new(0), start: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether it is what a thread, the caller's, is handing over.
    fn is(&self, thread: usize, start: NonNull<u8>) -> bool {
        self.thread.load(Ordering::Relaxed) == thread
            && ptr::eq(self.start.load(Ordering::Relaxed), start.as_ptr())
    }

    /// Enters what a thread, the caller's, hands over; false if it has something else.
    fn enter(&self, thread: usize, start: NonNull<u8>) -> bool {
        let relaxed = Ordering::Relaxed;
        let is_free = self.thread.compare_exchange(0, thread, relaxed, relaxed).is_ok();
        if is_free {
            self.start.store(start.as_ptr(), relaxed);
        }
        is_free
    }
}

/// What is known, or found out now.
pub(super) fn found(
    known: &AtomicPtr<c_void>,
    find: impl FnOnce() -> Option<NonNull<c_void>>,
) -> Option<NonNull<c_void>> {
    let mut address = known.load(Ordering::Relaxed);
    if address.is_null() {
        address = find().map_or(NONE, NonNull::as_ptr);
        known.store(address, Ordering::Relaxed);
    }
    NonNull::new(address).filter(|address| address.as_ptr() != NONE)
}

/// Whether an address lies in this library, or the program that holds it.
pub(super) fn is_ours(address: NonNull<c_void>) -> bool {
    let base = |address: *const c_void| {
        let Some(dladdr) = weak!("dladdr") else { return ptr::null() };
        // SAFETY: the C library's function has this type.
        let dladdr: extern "C" fn(*const c_void, *mut libc::Dl_info) -> i32 =
            unsafe { mem::transmute(dladdr) };
        // SAFETY: all zeros is a valid, empty one.
        let mut info: libc::Dl_info = unsafe { mem::zeroed() };
        if dladdr(address, &raw mut info) == 0 { ptr::null() } else { info.dli_fbase }
    };
    ptr::eq(base(address.as_ptr()), base((&raw const FREE).cast()))
}

/// Looks a symbol up.
pub(super) fn symbol(from: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
    let dlsym = weak!("dlsym")?;
    // SAFETY: the C library's function has this type.
    let dlsym: extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
        unsafe { mem::transmute(dlsym) };
    NonNull::new(dlsym(from, name.as_ptr()))
}

/// The address of a function that need not be there.
macro_rules! weak {
    ($name:literal) => {{
        let address: *mut ::core::ffi::c_void;
        // SAFETY: the linker writes the address, or null, where it is read from.
        unsafe {
            ::core::arch::asm!(
                concat!(".weak ", $name),
                concat!("mov {address}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                address = out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        ::core::ptr::NonNull::new(address)
    }};
}
pub(super) use weak;

/// Hands a pointer to the `free` of who made it.
///
/// # Safety
///
/// It is no block of ours, and what `free` asks for holds.
pub(super) unsafe fn free(start: NonNull<u8>) {
    FREE.hand(start, |function| {
        let Some(function) = function else { return };
        // SAFETY: a function of this name has this type.
        let function: unsafe extern "C" fn(*mut c_void) = unsafe { mem::transmute(function) };
        // SAFETY: by this function's contract.
        unsafe { function(start.as_ptr().cast()) };
    });
}

/// Hands a pointer to the `realloc` of who made it.
///
/// # Safety
///
/// As for [`free`].
pub(super) unsafe fn realloc(start: NonNull<u8>, bytes: usize) -> *mut u8 {
    REALLOC.hand(start, |function| {
        let Some(function) = function else { return no_memory() };
        // SAFETY: a function of this name has this type.
        let function: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void =
            unsafe { mem::transmute(function) };
        // SAFETY: by this function's contract.
        unsafe { function(start.as_ptr().cast(), bytes) }.cast()
    })
}

/// Asks who made it for the usable size.
///
/// # Safety
///
/// As for [`free`].
pub(super) unsafe fn usable_size(start: NonNull<u8>) -> usize {
    USABLE_SIZE.hand(start, |function| {
        let Some(function) = function else { return 0 };
        // SAFETY: a function of this name has this type.
        let function: unsafe extern "C" fn(*mut c_void) -> usize =
            unsafe { mem::transmute(function) };
        // SAFETY: by this function's contract.
        unsafe { function(start.as_ptr().cast()) }
    })
}
