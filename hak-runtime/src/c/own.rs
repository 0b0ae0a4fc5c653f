//! What a thread of a library has of its own: memory from the arena, which its pointer leads to.
//!
//! # Rules
//!
//! 1. A thread gets it at its first slow path, and gives it back when it ends, to be used again: a
//!    short-lived thread leaves nothing behind.
//! 2. While a thread gets it, the thread counts as one that is gone, so that whatever the C library
//!    allocates for that is served without it.
//! 3. Before and after it, a thread works on the slabs directly: it has an empty cache that all
//!    such threads share, and nobody writes to that.

use core::marker::PhantomData;
use core::mem;

use crate::arena;
use crate::bin::Bin;
use crate::local::{self, Here, Stage};
use crate::thread::Thread;

/// The type of all that a thread has. It begins with a [`Here`].
///
/// # Safety
///
/// 1. The type is `repr(C)`, and its first field is a [`Here`].
/// 2. There is a [`Presence`] at [`Local::PRESENCE`].
/// 3. It has no destructor, and may be forgotten at any time after its parts have been emptied by
///    the thread's end.
pub unsafe trait Local: Sized + 'static {
    /// Bytes from its start to its [`Presence`].
    const PRESENCE: usize;

    /// What a thread starts with, behind `here`.
    fn new(here: Here) -> Self;

    /// What threads share that are gone.
    fn gone() -> *const Here;
}

/// By which the end of a thread is noticed that has something of its own.
pub struct Presence(Thread);

impl Presence {
    /// Of a thread that has not come by.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        Presence(Thread::new())
    }
}

/// Something that threads share, and only read.
pub struct Shared<T>(T);

// SAFETY: nobody writes to it: the runtime looks at the head, and hit paths at bins, which have
// neither a block nor room.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A shared value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Shared(value)
    }
}

/// A part of what a thread has, so many bytes from the start.
pub struct Part<T, const OFFSET: usize>(PhantomData<fn() -> T>);

impl<T, const OFFSET: usize> Part<T, OFFSET> {
    /// The part at that distance.
    ///
    /// # Safety
    ///
    /// There is a `T` so many bytes behind the [`Here`] of every thread.
    #[must_use]
    pub const unsafe fn new() -> Self {
        Part(PhantomData)
    }

    /// Calls `act` with this thread's part.
    #[inline(always)]
    pub fn with<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        // SAFETY: by the contract of `new`.
        let part = unsafe { local::here().byte_add(OFFSET).cast::<T>() };
        // SAFETY: as above; it is the thread's own, or shared and only read.
        act(unsafe { &*part })
    }

    /// The same with one of several that stand in a row, from this part on, at a place: its
    /// distance in words.
    ///
    /// # Safety
    ///
    /// There is a `T` at that place.
    #[inline(always)]
    pub unsafe fn with_place<R>(&self, place: usize, act: impl FnOnce(&T) -> R) -> R {
        // SAFETY: by the contracts of `new` and this function.
        let first = unsafe { local::here().byte_add(OFFSET).cast::<usize>() };
        // SAFETY: as above.
        let part = unsafe { first.add(place) };
        // SAFETY: as above; it is the thread's own, or shared and only read.
        act(unsafe { &*part.cast::<T>() })
    }
}

impl<S, const OFFSET: usize> Part<Bin<S>, OFFSET> {
    /// Takes a block from the bin at a place; never null. What [`Bin::pop`] does in three
    /// instructions is two here: the bin's first word goes down where it stands.
    ///
    /// # Safety
    ///
    /// As for [`Part::with_place`], and the bin, which is the thread's own, is not empty.
    #[inline(always)]
    pub unsafe fn pop(&self, place: usize) -> *mut u8 {
        // SAFETY: by this function's contract.
        let top = unsafe { self.with_place(place, Bin::top) };
        // SAFETY: the bin's first word is its top, and what is below it is a slot (bin rule 2).
        unsafe {
            core::arch::asm!(
                "sub qword ptr [{here} + 8*{place} + {offset}], 8",
                here = in(reg) local::here(),
                place = in(reg) place,
                offset = const OFFSET,
                options(nostack)
            );
        }
        // SAFETY: as above.
        let slot = unsafe { top.sub(1) };
        // SAFETY: slots below the top hold blocks.
        let block = unsafe { slot.read() };
        // SAFETY: a block is never null. Saying so removes the test for out of memory.
        unsafe { core::hint::assert_unchecked(!block.is_null()) };
        block
    }
}

/// Whether this thread has something of its own, which it gets here if it is new.
#[inline]
pub fn arrive<T: Local>() -> bool {
    match local::stage() {
        Stage::Own | Stage::Ending => true,
        Stage::Fresh => settle_in::<T>(),
        Stage::Gone => false,
    }
}

#[cold]
fn settle_in<T: Local>() -> bool {
    const { assert!(mem::size_of::<T>() <= arena::OBJECT_BYTES_MAX, "the arena has no such") };
    let bytes = mem::size_of::<T>();
    // SAFETY: it is what threads share that are gone, and the thread has nothing that it leaves.
    unsafe { local::set_here(T::gone()) };
    let Some(memory) = arena::alloc(bytes) else { return false };
    let own = memory.cast::<T>();
    // SAFETY: the memory is that long, aligned to a cache line, and ours.
    unsafe { own.write(T::new(Here::own(T::gone(), bytes))) };
    // SAFETY: by the contract of `Local` there is a `Presence` so far behind the start.
    let presence = unsafe { memory.byte_add(T::PRESENCE).cast::<Presence>() };
    // SAFETY: as above.
    if !unsafe { presence.as_ref() }.0.enter_first() {
        // SAFETY: it came from there, and nobody knows it.
        unsafe { arena::free(memory, bytes) };
        return false;
    }
    // SAFETY: it begins with a `Here`, and is this thread's own until its end.
    unsafe { local::set_here(memory.as_ptr().cast_const().cast()) };
    true
}
