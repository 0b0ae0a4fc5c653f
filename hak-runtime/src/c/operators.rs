//! The operators `new` of C++, when there is no memory at first. The operators `delete` are `free`.
//!
//! What C++ asks for then is to call the program's new-handler until there is memory, or it throws,
//! or there is no handler; then to throw. A handler may throw, too, so the loop is in assembly:
//! what is thrown passes a frame that says how to be unwound, and none of Rust's. The two functions
//! of the C++ library are used where they are found; in a program without it, which has no one to
//! throw to, the process ends.
//!
//! A `new` that does not throw must catch what a handler throws. That needs C++, so the C++
//! library's own operator does it, which ends in ours; where that is not found, no handler is
//! called.
//!
//! A program may replace some operators and not others. Those for arrays, those with a size and
//! those that do not throw are made of the plain ones. So in a program that has plain ones of its
//! own the C++ library's operators do the rest, which call them.

use core::ffi::{CStr, c_void};
use core::mem;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::foreign::{found, is_ours, symbol, weak};
use super::standard::obtain;
use super::{ALIGN, Library};

/// The operators of which others are made.
const PLAIN: [&CStr; 8] = [
    c"_Znwm",
    c"_Znam",
    c"_ZdlPv",
    c"_ZdaPv",
    c"_ZnwmSt11align_val_t",
    c"_ZnamSt11align_val_t",
    c"_ZdlPvSt11align_val_t",
    c"_ZdaPvSt11align_val_t",
];

/// Whether the program is known to have one of them of its own.
static IS_REPLACED: AtomicBool = AtomicBool::new(false);
/// Whether it may have, as long as nobody has looked.
static MAY_BE_REPLACED: AtomicBool = AtomicBool::new(true);

/// An operator that is made of others.
pub struct Derived {
    name: &'static CStr,
    next: AtomicPtr<c_void>,
}

impl Derived {
    /// The operator of a mangled name, with a zero at its end.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("a name ends with its only zero")
        };
        Derived { name, next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The C++ library's own operator, if that is to be called: the program has replaced one that
    /// this is made of. If it is not, [`may_be_replaced`] says no from here on.
    #[must_use]
    pub fn of_others(&self) -> Option<NonNull<c_void>> {
        if !IS_REPLACED.load(Ordering::Relaxed) {
            let mut seen = PLAIN.iter().filter_map(|name| symbol(libc::RTLD_DEFAULT, name));
            IS_REPLACED.store(seen.any(|seen| !is_ours(seen)), Ordering::Relaxed);
        }
        let is_replaced = IS_REPLACED.load(Ordering::Relaxed);
        let next = || found(&self.next, || symbol(libc::RTLD_NEXT, self.name));
        let other = if is_replaced { next() } else { None };
        if other.is_none() {
            MAY_BE_REPLACED.store(false, Ordering::Relaxed);
        }
        other
    }
}

/// Whether an operator that is made of others has to ask [`Derived::of_others`] before it allocates
/// or frees.
#[inline]
#[must_use]
pub fn may_be_replaced() -> bool {
    MAY_BE_REPLACED.load(Ordering::Relaxed)
}

/// What is tried again: a size and an alignment, a block or null.
type Try = extern "C" fn(usize, usize) -> *mut u8;

core::arch::global_asm!(
    ".pushsection .text.hak_new_failed,\"ax\",@progbits",
    ".p2align 4",
    ".globl hak_new_failed",
    ".hidden hak_new_failed",
    ".type hak_new_failed, @function",
    "hak_new_failed:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "push r12",
    ".cfi_def_cfa_offset 24",
    ".cfi_offset r12, -24",
    "push r13",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset r13, -32",
    // The size, the alignment, and what is tried.
    "mov rbx, rdi",
    "mov r12, rsi",
    "mov r13, rdx",
    "2:",
    "call {handler}",
    "test rax, rax",
    "jz 3f",
    // It may throw.
    "call rax",
    "mov rdi, rbx",
    "mov rsi, r12",
    "call r13",
    "test rax, rax",
    "jz 2b",
    "jmp 4f",
    "3:",
    // It does not come back.
    "call {thrower}",
    "call rax",
    "4:",
    "pop r13",
    ".cfi_def_cfa_offset 24",
    "pop r12",
    ".cfi_def_cfa_offset 16",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    ".size hak_new_failed, . - hak_new_failed",
    ".popsection",
    handler = sym handler,
    thrower = sym thrower,
);

unsafe extern "C" {
    /// Calls the new-handler and tries again, until there is a block or something is thrown.
    fn hak_new_failed(bytes: usize, align: usize, again: Try) -> *mut u8;
}

/// A function of the C++ library.
fn of_library(linked: Option<NonNull<c_void>>, name: &CStr) -> Option<NonNull<c_void>> {
    linked.or_else(|| symbol(libc::RTLD_DEFAULT, name))
}

/// The program's new-handler; null when it has none.
extern "C" fn handler() -> *const c_void {
    let get = of_library(weak!("_ZSt15get_new_handlerv"), c"_ZSt15get_new_handlerv");
    let Some(get) = get else { return ptr::null() };
    // SAFETY: the C++ library's function has this type.
    let get: extern "C" fn() -> *const c_void = unsafe { mem::transmute(get) };
    get()
}

/// What throws `std::bad_alloc`, or ends the process where that cannot be.
extern "C" fn thrower() -> *const c_void {
    let name = c"_ZSt17__throw_bad_allocv";
    let throw = of_library(weak!("_ZSt17__throw_bad_allocv"), name);
    throw.map_or(libc::abort as *const c_void, |throw| throw.as_ptr().cast_const())
}

extern "C" fn again<A: Library>(bytes: usize, align: usize) -> *mut u8 {
    obtain_aligned::<A>(bytes, align)
}

/// An operator `new` of bytes, when the hit path has found no block, or no class.
#[cold]
#[inline(never)]
pub fn new_elsewhere<A: Library>(bytes: usize) -> *mut u8 {
    new_aligned::<A>(bytes, ALIGN)
}

/// A block; null without memory, and for an alignment that is no power of two.
fn obtain_aligned<A: Library>(bytes: usize, align: usize) -> *mut u8 {
    if align.is_power_of_two() { obtain::<A>(bytes, align.max(ALIGN)) } else { ptr::null_mut() }
}

/// An operator `new` with an alignment. One that is no power of two is as if there were no memory,
/// as in the C++ library.
pub fn new_aligned<A: Library>(bytes: usize, align: usize) -> *mut u8 {
    let block = obtain_aligned::<A>(bytes, align);
    if !block.is_null() {
        return block;
    }
    // SAFETY: what is thrown is for the caller's caller, in C++.
    unsafe { hak_new_failed(bytes, align, again::<A>) }
}

/// An operator `new` that does not throw.
pub fn new_or_null<A: Library>(bytes: usize, nothrow: *const c_void) -> *mut u8 {
    let block = obtain::<A>(bytes, ALIGN);
    if !block.is_null() || handler().is_null() {
        return block;
    }
    let Some(next) = symbol(libc::RTLD_NEXT, c"_ZnwmRKSt9nothrow_t") else { return block };
    // SAFETY: an operator of this name has this type.
    let next: extern "C" fn(usize, *const c_void) -> *mut u8 = unsafe { mem::transmute(next) };
    next(bytes, nothrow)
}

/// An operator `new` with an alignment that does not throw.
pub fn new_aligned_or_null<A: Library>(
    bytes: usize,
    align: usize,
    nothrow: *const c_void,
) -> *mut u8 {
    let block = obtain_aligned::<A>(bytes, align);
    if !block.is_null() || handler().is_null() {
        return block;
    }
    let name = c"_ZnwmSt11align_val_tRKSt9nothrow_t";
    let Some(next) = symbol(libc::RTLD_NEXT, name) else { return block };
    // SAFETY: an operator of this name has this type.
    let next: extern "C" fn(usize, usize, *const c_void) -> *mut u8 =
        unsafe { mem::transmute(next) };
    next(bytes, align, nothrow)
}
