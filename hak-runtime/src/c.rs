//! The C interface: `malloc` and its like, and the operators of C++, on an allocator from a spec.
//!
//! A generated library has the hit paths of `malloc` and `free`, its tables and its statics; it
//! says by [`Library`] what the rest needs to know, and [`export_c`](crate::export_c) gives the
//! functions their names. All that is not a hit path is here, and the same for every spec.
//!
//! # Rules
//!
//! 1. Functions do what glibc's do, corner by corner: `errno` is set by failures alone, and kept by
//!    what frees.
//! 2. Nothing here panics, unwinds, or allocates but from the library's own heap.
//! 3. The exported functions are never called from here: a call of `malloc` means to the compiler
//!    what the C standard says of it, not what this crate does.
//! 4. A block is found by its address alone: a small one by the map of places, or its superslab's
//!    header, a large one by the registry. What is neither is another allocator's, and goes to
//!    where it would have gone without us: see `foreign`.

mod aligned;
mod export;
mod figures;
mod foreign;
mod operators;
mod own;
mod resize;
mod standard;
mod table;

use core::ptr::NonNull;

use crate::account::Terms;
use crate::address_map;
use crate::checks::{CANARY, CANARY_BYTES, FOREIGN};
use crate::depot::Depots;
use crate::fault::Fault;
use crate::heap::Heap;
use crate::hooks;
use crate::large::Larges;
use crate::misuse::{self, Block, Request};
use crate::place_map;
use crate::span::Want;

pub use libc::{mallinfo as MallInfo, mallinfo2 as MallInfo2};

pub use crate::cache::Front;
pub use crate::local::{Here, here};
pub use crate::place_map::{place_in, place_map};
pub use aligned::{aligned_alloc, memalign, posix_memalign, pvalloc, valloc};
pub use figures::{mallinfo, mallinfo2, malloc_stats, malloc_trim, mallopt};
pub use operators::{Derived, may_be_replaced, new_aligned, new_aligned_or_null};
pub use operators::{new_elsewhere, new_or_null};
pub use own::{Local, Part, Presence, Shared, arrive};
pub use resize::{realloc, reallocarray};
pub use standard::{calloc, free, free_elsewhere, malloc, malloc_elsewhere, malloc_usable_size};
pub use table::{place_table, wide_place_table};

/// What every block is aligned to, as C's `max_align_t` asks.
pub const ALIGN: usize = 16;

/// An allocator as the C interface sees it. A place is what its generated code counts classes in.
pub trait Library: 'static {
    /// Its depots.
    type Depots: Depots;
    /// Its way for large requests.
    type Larges: Larges;
    /// What a thread has of its own.
    type Own: Local;
    /// What is checked: the bits of [`crate::checks`].
    const CHECKS: u16;
    /// What places of neighbouring classes are apart.
    const WORDS: usize;
    /// What they are apart in the map of places, where the first one is at this, too.
    const STEP: usize;

    /// All that threads share.
    fn heap() -> &'static Heap<Self::Depots, Self::Larges>;

    /// The place of the class that serves so many bytes, a canary's among them, at an alignment.
    fn class_of(bytes: usize, align: usize) -> Option<usize>;

    /// A block of the class at a place; null without memory.
    ///
    /// # Safety
    ///
    /// There is such a class.
    unsafe fn obtain(place: usize) -> *mut u8;

    /// Takes a block of the class at a place back; with checks it may be any address in a slab of
    /// that class.
    ///
    /// # Safety
    ///
    /// The block is the caller's, and not used after this call.
    unsafe fn release(block: *mut u8, place: usize);

    /// Ends the process if a block of the class at a place is not as it was handed out.
    ///
    /// # Safety
    ///
    /// The block is the caller's.
    unsafe fn inspect(block: *mut u8, place: usize);

    /// A block that no class serves, of so many bytes, a canary's not among them; null without
    /// memory. `align` is a power of two.
    fn obtain_large(bytes: usize, align: usize, want: Want) -> *mut u8;

    /// Gives what this thread and the depots keep back to the slabs.
    fn flush();
}

/// Bytes that a library's canary takes of a block.
const fn canary_bytes<A: Library>() -> usize {
    if A::CHECKS & CANARY != 0 { CANARY_BYTES } else { 0 }
}

/// What an address is the start of.
enum At {
    /// A block of a class: its place, and the bytes that the program may use.
    Small { place: usize, usable: usize },
    /// A large block that got so many bytes, a canary's among them.
    Large(Request),
    /// A large block that was freed.
    Freed(Request),
    /// Nothing of ours.
    Elsewhere,
}

/// Finds a block by its start.
fn look_up<A: Library>(start: NonNull<u8>) -> At {
    let heap = A::heap();
    let small = |number: usize| {
        // SAFETY: slabs are of classes that there are.
        let bytes = unsafe { heap.block_bytes(number) };
        At::Small { place: number * A::WORDS, usable: bytes - canary_bytes::<A>() }
    };
    if let Some(number) = number_at::<A>(start.addr().get()) {
        return small(number);
    }
    if address_map::contains(start.addr().get())
        // SAFETY: it lies in a superslab.
        && let Some(found) = unsafe { heap.find(start) }
    {
        return small(found.class.number);
    }
    match heap.large.find(start) {
        misuse::Found::Start(request) => At::Large(request),
        misuse::Found::Freed(request) => At::Freed(request),
        misuse::Found::Inside(block) => A::heap().account.die_of(Fault::Inside {
            address: start.addr().get(),
            start: block.start.addr().get(),
            bytes: block.bytes - canary_bytes::<A>(),
        }),
        misuse::Found::Nowhere => At::Elsewhere,
    }
}

/// The number of the class that the map of places has for an address.
#[inline]
fn number_at<A: Library>(address: usize) -> Option<usize> {
    let place = place_map::at(address) as usize;
    (place != 0).then(|| place / A::STEP - 1)
}

/// The large block that was freed is freed again.
#[cold]
fn die_of_double_free<A: Library>(start: NonNull<u8>, request: Request) -> ! {
    let bytes = request.bytes - canary_bytes::<A>();
    A::heap().account.die_of(misuse::double_free(Block { start, bytes }))
}

/// An address that is no block of ours: the process ends if that is looked for.
#[cold]
fn check_foreign<A: Library>(start: NonNull<u8>) {
    if const { A::CHECKS & FOREIGN != 0 } {
        A::heap().account.die_of(Fault::Foreign { address: start.addr().get() });
    }
}

/// A library's terms: what its checks need, and the map of places.
#[must_use]
pub const fn terms<const CHECKS: u16, const STEP: usize>(terms: Terms) -> Terms {
    Terms {
        on_register: Some(begin::<CHECKS>),
        note_slab: Some(note_slab::<STEP>),
        ..hooks::checked::<CHECKS>(terms)
    }
}

/// What is done once, before the library hands out its first block.
fn begin<const CHECKS: u16>() {
    place_map::reserve();
    address_map::watch();
    hooks::begin::<CHECKS>();
}

/// Notes a slab's place, counted in steps from the first class, which is at 1.
fn note_slab<const STEP: usize>(slab: NonNull<u8>, bytes: usize, number: Option<usize>) {
    let place = number.map_or(0, |number| (number + 1) * STEP);
    place_map::note(slab, bytes, u8::try_from(place).unwrap_or(0));
}

/// Fails as C does: `errno` is `code`, and there is no block.
#[cold]
fn fail(code: core::ffi::c_int) -> *mut u8 {
    // SAFETY: there are no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it points to this thread's `errno`.
    unsafe { errno.write(code) };
    core::ptr::null_mut()
}

/// The same, without memory.
#[cold]
fn no_memory() -> *mut u8 {
    fail(libc::ENOMEM)
}

/// A block, or the failure to get one.
#[inline]
fn or_fail(block: *mut u8) -> *mut u8 {
    if block.is_null() { no_memory() } else { block }
}

/// What a library does when something panics, which nothing does: it ends the process.
#[cold]
pub fn panicked() -> ! {
    crate::os::abort()
}
