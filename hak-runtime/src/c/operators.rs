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

use core::ffi::{CStr, c_void};
use core::mem;
use core::ptr::{self, NonNull};

use super::foreign::{symbol, weak};
use super::standard::obtain;
use super::{ALIGN, Library};

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
    obtain::<A>(bytes, align)
}

/// An operator `new` of bytes, when the hit path has found no block, or no class.
#[cold]
#[inline(never)]
pub fn new_elsewhere<A: Library>(bytes: usize) -> *mut u8 {
    new_aligned::<A>(bytes, ALIGN)
}

/// An operator `new` with an alignment, a power of two.
pub fn new_aligned<A: Library>(bytes: usize, align: usize) -> *mut u8 {
    let align = align.max(ALIGN);
    let block = obtain::<A>(bytes, align);
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
    let block = obtain::<A>(bytes, align.max(ALIGN));
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
