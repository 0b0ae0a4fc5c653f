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
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::no_memory;

/// A function of another allocator, once it was looked for.
struct Elsewhere {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

/// The address of nothing: it was looked for, and there is none.
const NONE: *mut c_void = ptr::without_provenance_mut(1);

static FREE: Elsewhere = Elsewhere::new(c"free");
static REALLOC: Elsewhere = Elsewhere::new(c"realloc");
static USABLE_SIZE: Elsewhere = Elsewhere::new(c"malloc_usable_size");

impl Elsewhere {
    const fn new(name: &'static CStr) -> Self {
        Elsewhere { name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    fn get(&self) -> Option<NonNull<c_void>> {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            found = other(self.name).map_or(NONE, NonNull::as_ptr);
            self.found.store(found, Ordering::Relaxed);
        }
        NonNull::new(found).filter(|found| found.as_ptr() != NONE)
    }
}

/// The function of a name that the program sees, if it is another library's, else the next one
/// behind this library.
fn other(name: &CStr) -> Option<NonNull<c_void>> {
    let seen = symbol(libc::RTLD_DEFAULT, name)?;
    if is_ours(seen) { symbol(libc::RTLD_NEXT, name) } else { Some(seen) }
}

/// Whether an address lies in this library, or the program that holds it.
fn is_ours(address: NonNull<c_void>) -> bool {
    let base = |address: *const c_void| {
        let Some(dladdr) = weak!("dladdr") else { return ptr::null() };
        // SAFETY: the C library's function has this type.
        let dladdr: extern "C" fn(*const c_void, *mut libc::Dl_info) -> i32 =
            unsafe { core::mem::transmute(dladdr) };
        // SAFETY: all zeros is a valid, empty one.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        if dladdr(address, &raw mut info) == 0 { ptr::null() } else { info.dli_fbase }
    };
    ptr::eq(base(address.as_ptr()), base((&raw const FREE).cast()))
}

/// Looks a symbol up.
pub(super) fn symbol(from: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
    let dlsym = weak!("dlsym")?;
    // SAFETY: the C library's function has this type.
    let dlsym: extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
        unsafe { core::mem::transmute(dlsym) };
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
    let Some(function) = FREE.get() else { return };
    // SAFETY: a function of this name has this type.
    let function: unsafe extern "C" fn(*mut c_void) = unsafe { core::mem::transmute(function) };
    // SAFETY: by this function's contract.
    unsafe { function(start.as_ptr().cast()) };
}

/// Hands a pointer to the `realloc` of who made it.
///
/// # Safety
///
/// As for [`free`].
pub(super) unsafe fn realloc(start: NonNull<u8>, bytes: usize) -> *mut u8 {
    let Some(function) = REALLOC.get() else { return no_memory() };
    // SAFETY: a function of this name has this type.
    let function: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void =
        unsafe { core::mem::transmute(function) };
    // SAFETY: by this function's contract.
    unsafe { function(start.as_ptr().cast(), bytes) }.cast()
}

/// Asks who made it for the usable size.
///
/// # Safety
///
/// As for [`free`].
pub(super) unsafe fn usable_size(start: NonNull<u8>) -> usize {
    let Some(function) = USABLE_SIZE.get() else { return 0 };
    // SAFETY: a function of this name has this type.
    let function: unsafe extern "C" fn(*mut c_void) -> usize =
        unsafe { core::mem::transmute(function) };
    // SAFETY: by this function's contract.
    unsafe { function(start.as_ptr().cast()) }
}
