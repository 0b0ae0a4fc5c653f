//! What a thread of a library has of its own: memory from the arena, which its pointer leads to.
//!
//! # Rules
//!
//! 1. A thread gets it at its first slow path, and gives it back when it ends, to be used again: a
//!    short-lived thread leaves nothing behind.
//! 2. While a thread gets it, the thread counts as one that is gone, so that whatever the C library
//!    allocates for that is served without it.
//! 3. What the thread library itself allocates for a key does not make a thread get its home: it
//!    would set its own key's value inside of that, and the library would overwrite it.
//! 4. A thread that first comes by in the last round of its destructors is not told that it ends.
//!    So each home holds a lock of its thread, which the kernel marks when the thread is gone; who
//!    gets a home looks at a few others first, and takes one that is left like that.
//! 5. Before and after it, a thread works on the slabs directly: it has an empty cache that all
//!    such threads share, and nobody writes to that.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use crate::arena;
use crate::bin::Bin;
use crate::fork::Beside;
use crate::local::{self, Here, Stage};
use crate::os::Life;
use crate::sync::Mutex;
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

    /// Empties its parts, of a thread that is gone and was not told that it ends.
    fn end(&self);
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

/// Calls `act`; a new thread stays new.
pub(super) fn without_arriving<T: Local, R>(act: impl FnOnce() -> R) -> R {
    let here = local::here();
    if local::stage() != Stage::Fresh {
        return act();
    }
    // SAFETY: it is what threads share that are gone, and the thread has nothing that it leaves.
    unsafe { local::set_here(T::gone()) };
    let result = act();
    // SAFETY: it is what new threads share, and nobody arrives who is gone.
    unsafe { local::set_here(here) };
    result
}

#[cold]
fn settle_in<T: Local>() -> bool {
    const { assert!(HEAD_BYTES + size_of::<T>() <= arena::OBJECT_BYTES_MAX, "the arena has it") };
    // SAFETY: it is what threads share that are gone, and the thread has nothing that it leaves.
    unsafe { local::set_here(T::gone()) };
    let Some(home) = home::<T>() else { return false };
    // SAFETY: a home has room for a `T` behind its head.
    let own = unsafe { home.byte_add(HEAD_BYTES) };
    // SAFETY: as above, aligned to a cache line; the home is this thread's.
    unsafe { own.cast::<T>().write(T::new(Here::own(T::gone(), leave))) };
    // SAFETY: by the contract of `Local` there is a `Presence` so far behind the start.
    let presence = unsafe { own.byte_add(T::PRESENCE).cast::<Presence>() };
    // SAFETY: as above.
    if !unsafe { presence.as_ref() }.0.enter_first() {
        // SAFETY: nobody uses what is in it.
        unsafe { leave(own.cast()) };
        return false;
    }
    // SAFETY: it begins with a `Here`, and is this thread's own until its end.
    unsafe { local::set_here(own.as_ptr().cast_const().cast()) };
    true
}

/// The head of a home, before what the thread has.
#[repr(C, align(64))]
struct Home {
    life: Life,
    /// The next of all homes, and of those that are free. The lock of all protects them.
    next: Cell<*const Home>,
    next_free: Cell<*const Home>,
}

const HEAD_BYTES: usize = size_of::<Home>();

/// All homes there are, and those that no thread has.
struct Homes {
    newest: *const Home,
    free: *const Home,
    /// The next to be looked at.
    cursor: *const Home,
}

// SAFETY: homes are never unmapped; their links are used under the lock only.
unsafe impl Send for Homes {}

static HOMES: Mutex<Homes> =
    Mutex::new(Homes { newest: ptr::null(), free: ptr::null(), cursor: ptr::null() });
static AT_FORK: Beside = Beside::new();

/// Homes that are looked at whenever one is wanted.
const LOOKS: usize = 2;

/// A home, whose life is this thread's: one that is left, a free one, or a new one.
fn home<T: Local>() -> Option<NonNull<Home>> {
    AT_FORK.enter((&raw const HOMES).cast(), lock_homes, unlock_homes);
    let mut homes = HOMES.lock();
    if let Some(left) = homes.find_left() {
        drop(homes);
        // SAFETY: a home has a `T` behind its head.
        let own = unsafe { left.byte_add(HEAD_BYTES).cast::<T>() };
        // SAFETY: as above, and it is nobody's any more but this thread's.
        unsafe { own.as_ref() }.end();
        return Some(left);
    }
    let free = homes.pop_free();
    drop(homes);
    free.or_else(new_home::<T>)
}

fn new_home<T>() -> Option<NonNull<Home>> {
    let home = arena::alloc(HEAD_BYTES + size_of::<T>())?.cast::<Home>();
    let null = || Cell::new(ptr::null());
    // SAFETY: the memory is that long, aligned to a cache line, and ours.
    unsafe { home.write(Home { life: Life::new(), next: null(), next_free: null() }) };
    // SAFETY: as above.
    let head = unsafe { home.as_ref() };
    // Before others see it.
    head.life.begin();
    let mut homes = HOMES.lock();
    head.next.set(homes.newest);
    homes.newest = home.as_ptr();
    Some(home)
}

/// A thread leaves its home.
///
/// # Safety
///
/// It is what stands behind the head of a home, and nobody uses it any more.
unsafe fn leave(own: NonNull<u8>) {
    // SAFETY: by this function's contract.
    let home = unsafe { own.byte_sub(HEAD_BYTES).cast::<Home>() };
    // SAFETY: homes are never unmapped.
    let head = unsafe { home.as_ref() };
    head.life.end();
    let mut homes = HOMES.lock();
    head.next_free.set(homes.free);
    homes.free = home.as_ptr();
}

impl Homes {
    fn pop_free(&mut self) -> Option<NonNull<Home>> {
        let home = NonNull::new(self.free.cast_mut())?;
        // SAFETY: homes are never unmapped.
        let head = unsafe { home.as_ref() };
        self.free = head.next_free.replace(ptr::null());
        head.life.begin();
        Some(home)
    }

    /// One of the next few homes whose thread is gone without having left it. It is this thread's.
    fn find_left(&mut self) -> Option<NonNull<Home>> {
        for _ in 0..LOOKS {
            let at = if self.cursor.is_null() { self.newest } else { self.cursor };
            let home = NonNull::new(at.cast_mut())?;
            // SAFETY: homes are never unmapped.
            let head = unsafe { home.as_ref() };
            self.cursor = head.next.get();
            if head.life.is_over() {
                return Some(home);
            }
        }
        None
    }
}

/// # Safety
///
/// The caller is a fork handler.
unsafe fn lock_homes(_: *const ()) {
    HOMES.before_fork();
}

/// # Safety
///
/// As for [`lock_homes`], which it follows.
unsafe fn unlock_homes(_: *const ()) {
    // SAFETY: by this function's contract.
    unsafe { HOMES.after_fork() };
}
