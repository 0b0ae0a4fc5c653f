//! The program that `hak inspect` builds on an allocator, to see which instructions it runs.
//!
//! It sets the processor's trap flag around a call: after each instruction the kernel sends a
//! signal, whose handler notes where the program is. What is written to stdout is words of 64
//! bits, the lowest byte first: the address of `alloc_constant`, then for each call its number in
//! the order of `Call`, the count of addresses noted, and the addresses.
//!
//! Each function that is looked at has a parameter that it does not use. Without it the compiler
//! may find that one equals a function of the standard library, and let it jump there. An
//! alignment comes before a size, as in the registers in which a `Layout` is handed on.

mod allocator;

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::mem::{self, ManuallyDrop};
use std::os::fd::FromRawFd as _;
use std::process::exit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const ALIGN: usize = 8;
/// Allocs and deallocs before the first that is looked at: magazines and what else fills up are
/// then as they are most of the time.
const WARM_UP: usize = 5000;
/// How often each call is looked at. What happens now and then is not in the shortest.
const ROUNDS: usize = 16;
/// Exit status when the allocator has no memory, and when no instruction was noted.
const NO_MEMORY: i32 = 3;
const NO_TRAPS: i32 = 4;

/// Addresses noted during one call. What is beyond the end is not noted.
static NOTED: [AtomicUsize; 1 << 16] = [const { AtomicUsize::new(0) }; 1 << 16];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The layout that the compiler knows.
// SAFETY: 8 is a power of two, and no size of a class is near the largest there may be.
const CONSTANT: Layout = unsafe { Layout::from_size_align_unchecked(BYTES, ALIGN) };

#[derive(Clone, Copy)]
enum Call {
    AllocConstant,
    DeallocConstant,
    AllocVariable,
    DeallocVariable,
    ReallocVariable,
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn alloc_constant(_apart: usize) -> *mut u8 {
    // SAFETY: the layout has bytes.
    unsafe { alloc(CONSTANT) }
}

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn dealloc_constant(block: *mut u8, _apart: usize) {
    // SAFETY: by `dealloc`'s contract, which is this function's.
    unsafe { dealloc(block, CONSTANT) }
}

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn alloc_variable(align: usize, size: usize, _apart: usize) -> *mut u8 {
    // SAFETY: the caller's size and alignment are a layout's.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    // SAFETY: by `alloc`'s contract, which is this function's.
    unsafe { alloc(layout) }
}

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn dealloc_variable(block: *mut u8, align: usize, size: usize, _apart: usize) {
    // SAFETY: the caller's size and alignment are a layout's.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    // SAFETY: by `dealloc`'s contract, which is this function's.
    unsafe { dealloc(block, layout) }
}

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn realloc_variable(
    block: *mut u8,
    align: usize,
    size: usize,
    new_size: usize,
    _apart: usize,
) -> *mut u8 {
    // SAFETY: the caller's size and alignment are a layout's.
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    // SAFETY: by `realloc`'s contract, which is this function's.
    unsafe { realloc(block, layout, new_size) }
}

/// Where the program is, after each instruction while the trap flag is set.
unsafe extern "C" fn note(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let at = COUNT.load(Relaxed);
    // SAFETY: the kernel hands the handler a context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let place = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    // A repeated string instruction is one, however often it repeats.
    let repeats = at > 0 && NOTED[at - 1].load(Relaxed) == place;
    if let (Some(slot), false) = (NOTED.get(at), repeats) {
        slot.store(place, Relaxed);
        COUNT.store(at + 1, Relaxed);
    }
}

fn install() {
    // SAFETY: all zeros are a `sigaction`.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = note as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler is one for `SA_SIGINFO`, and calls nothing.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, ptr::null_mut()) };
}

/// Runs a call with the trap flag set, and writes what was noted.
#[inline(never)]
fn look_at<T>(which: Call, call: impl FnOnce() -> T) -> T {
    COUNT.store(0, Relaxed);
    // SAFETY: sets the trap flag, whose signal is handled. What is pushed is popped.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = call();
    // SAFETY: clears the trap flag.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    let count = COUNT.load(Relaxed);
    if count == 0 {
        exit(NO_TRAPS);
    }
    write(&[which as usize, count]);
    NOTED[..count].iter().for_each(|place| write(&[place.load(Relaxed)]));
    result
}

/// Writes words without allocating.
fn write(words: &[usize]) {
    // SAFETY: this is stdout, and it stays open.
    let mut stdout = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    for word in words {
        if stdout.write_all(&(*word as u64).to_le_bytes()).is_err() {
            exit(1);
        }
    }
}

fn served(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        exit(NO_MEMORY);
    }
    block
}

/// Each call once, looked at by `look`.
fn round(look: bool) {
    let (size, align, apart) = black_box((BYTES, ALIGN, 0_usize));
    let looked = |which, call: &mut dyn FnMut() -> *mut u8| {
        if look { look_at(which, call) } else { call() }
    };
    let functions = black_box((
        alloc_constant as extern "C" fn(_) -> _,
        dealloc_constant as unsafe extern "C" fn(_, _),
        alloc_variable as unsafe extern "C" fn(_, _, _) -> *mut u8,
        dealloc_variable as unsafe extern "C" fn(_, _, _, _),
        realloc_variable as unsafe extern "C" fn(_, _, _, _, _) -> *mut u8,
    ));
    let block = served(looked(Call::AllocConstant, &mut || (functions.0)(apart)));
    looked(Call::DeallocConstant, &mut || {
        // SAFETY: the block is of this layout, and goes back once.
        unsafe { (functions.1)(block, apart) };
        block
    });
    // SAFETY: the layout has bytes.
    let alloc = &mut || unsafe { (functions.2)(align, size, apart) };
    let block = served(looked(Call::AllocVariable, alloc));
    // SAFETY: the block is of this layout. One byte less is of the same class: classes are
    // multiples of 8, and so is this size.
    let realloc = &mut || unsafe { (functions.4)(block, align, size, size - 1, apart) };
    let block = served(looked(Call::ReallocVariable, realloc));
    looked(Call::DeallocVariable, &mut || {
        // SAFETY: the block is of this layout now, and goes back once.
        unsafe { (functions.3)(block, align, size - 1, apart) };
        block
    });
}

fn main() {
    install();
    (0..WARM_UP).for_each(|_| round(false));
    write(&[alloc_constant as *const () as usize]);
    (0..ROUNDS).for_each(|_| round(true));
}
