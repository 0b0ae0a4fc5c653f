//! Atomics, cells and the lock on loom's, for models.
//!
//! Loom's objects live for one execution of a model, cannot be made in a constant, and are not all
//! zeros. These stand in for the real ones where that is asked for: they make loom's object at the
//! first use in each execution. All-zero bytes are a valid object whose initial value is zero.
//!
//! Loom takes the first use for the making: other threads' uses must happen after it, or the model
//! fails. So what a model's threads share is first used by the thread that starts them.

use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::sync::atomic::{AtomicUsize as Counter, Ordering::Relaxed};

use crate::os::fake;

/// The number of the execution under way, over all models; 0 before the first.
static EXECUTION: Counter = Counter::new(0);

/// Checks a model: each order of its threads' events in which at most `preemptions` threads lose
/// their turn.
pub(crate) fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    /// Statics are shared, so there is one model at a time.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE.lock();
    let before = EXECUTION.load(Relaxed);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        EXECUTION.fetch_add(1, Relaxed);
        THREADS.store(0, Relaxed);
        fake::recycle();
        model();
    });
    println!("{} executions", EXECUTION.load(Relaxed) - before);
}

/// Uses a block or a unit: two uses without an order between them fail the model. The cell is put
/// into the memory itself, whose zeros are a valid one.
#[track_caller]
pub(crate) fn touch(memory: *mut u8) {
    #[expect(clippy::cast_ptr_alignment, reason = "blocks and units are aligned to 16 bytes")]
    let cell = memory.cast::<UnsafeCell<()>>();
    // SAFETY: models touch memory of theirs, in which nothing else is stored.
    unsafe { &*cell }.get();
}

/// An object of loom's, made at its first use in each execution.
struct Made<T> {
    execution: Cell<usize>,
    object: core::cell::UnsafeCell<MaybeUninit<T>>,
}

impl<T> Made<T> {
    const fn new() -> Self {
        let object = core::cell::UnsafeCell::new(MaybeUninit::uninit());
        Made { execution: Cell::new(0), object }
    }

    #[track_caller]
    fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        let execution = EXECUTION.load(Relaxed);
        if self.execution.replace(execution) != execution {
            // SAFETY: loom's threads take turns on one thread, and none has a reference to an
            // object of an earlier execution.
            unsafe { self.object.get().write(MaybeUninit::new(make())) };
        }
        // SAFETY: it was made in this execution, and is not written again.
        unsafe { &*self.object.get().cast::<T>() }
    }
}

macro_rules! atomics {
    ($($name:ident of $value:ty),* $(,)?) => {$(
        pub(crate) struct $name {
            initial: $value,
            made: Made<loom::sync::atomic::$name>,
        }

        // SAFETY: loom's threads take turns on one thread.
        unsafe impl Sync for $name {}

        impl $name {
            #[allow(dead_code, reason = "some are found in zeroed memory only")]
            pub(crate) const fn new(initial: $value) -> Self {
                $name { initial, made: Made::new() }
            }
        }

        impl Deref for $name {
            type Target = loom::sync::atomic::$name;

            #[track_caller]
            fn deref(&self) -> &Self::Target {
                self.made.get_or(|| loom::sync::atomic::$name::new(self.initial))
            }
        }
    )*};
}

atomics! {
    AtomicBool of bool,
    AtomicU8 of u8,
    AtomicU32 of u32,
    AtomicU64 of u64,
    AtomicUsize of usize,
}

pub(crate) struct AtomicPtr<T> {
    initial: *mut T,
    made: Made<loom::sync::atomic::AtomicPtr<T>>,
}

// SAFETY: loom's threads take turns on one thread.
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    pub(crate) const fn new(initial: *mut T) -> Self {
        AtomicPtr { initial, made: Made::new() }
    }
}

impl<T> Deref for AtomicPtr<T> {
    type Target = loom::sync::atomic::AtomicPtr<T>;

    #[track_caller]
    fn deref(&self) -> &Self::Target {
        self.made.get_or(|| loom::sync::atomic::AtomicPtr::new(self.initial))
    }
}

/// A cell each of whose uses must happen before or after every other.
pub(crate) struct UnsafeCell<T> {
    value: core::cell::UnsafeCell<T>,
    uses: Made<loom::cell::UnsafeCell<()>>,
}

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        UnsafeCell { value: core::cell::UnsafeCell::new(value), uses: Made::new() }
    }

    #[track_caller]
    pub(crate) fn get(&self) -> *mut T {
        self.uses.get_or(|| loom::cell::UnsafeCell::new(())).with_mut(|_| ());
        self.value.get()
    }
}

/// Loom's mutex in place of ours. The value is as it was at first in each execution; it is plain
/// data, so a copy of its bytes will do.
pub(crate) struct Mutex<T> {
    initial: T,
    value: core::cell::UnsafeCell<MaybeUninit<T>>,
    lock: Made<loom::sync::Mutex<()>>,
}

// SAFETY: loom's threads take turns on one thread, and the value is reached under the lock.
unsafe impl<T: Send> Sync for Mutex<T> {}

pub(crate) struct Guard<'a, T> {
    value: &'a core::cell::UnsafeCell<MaybeUninit<T>>,
    _lock: loom::sync::MutexGuard<'a, ()>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(initial: T) -> Self {
        let value = core::cell::UnsafeCell::new(MaybeUninit::uninit());
        Mutex { initial, value, lock: Made::new() }
    }

    #[track_caller]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let lock = self.lock.get_or(|| {
            // SAFETY: both are values of the same type, and `initial` is never used otherwise.
            unsafe { self.value.get().cast::<T>().copy_from(&raw const self.initial, 1) };
            loom::sync::Mutex::new(())
        });
        Guard { value: &self.value, _lock: lock.lock().expect("a model's lock is not poisoned") }
    }
}

/// Forks are not modelled.
#[expect(clippy::unused_self, reason = "as the real ones")]
impl<T> Mutex<T> {
    pub(crate) fn before_fork(&self) {
        unreachable!();
    }

    pub(crate) unsafe fn after_fork(&self) {
        unreachable!();
    }

    pub(crate) unsafe fn value(&self) -> &T {
        unreachable!();
    }

    pub(crate) fn value_for_fork(&self) -> Option<NonNull<T>> {
        unreachable!();
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, and its making initialised the value.
        unsafe { &*self.value.get().cast::<T>() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and its making initialised the value.
        unsafe { &mut *self.value.get().cast::<T>() }
    }
}

/// Threads of this execution that have a number.
static THREADS: Counter = Counter::new(0);

loom::thread_local! {
    static NUMBER: usize = THREADS.fetch_add(1, Relaxed) + 1;
}

pub(super) fn this_thread() -> u32 {
    NUMBER.with(|&number| u32::try_from(number).expect("a model has few threads"))
}

/// The kernel's queue of sleepers; models have one futex at most.
struct Sleepers(Made<(loom::sync::Mutex<()>, loom::sync::Condvar)>);

// SAFETY: loom's threads take turns on one thread.
unsafe impl Sync for Sleepers {}

static SLEEPERS: Sleepers = Sleepers(Made::new());

impl Sleepers {
    fn queue(&self) -> &(loom::sync::Mutex<()>, loom::sync::Condvar) {
        self.0.get_or(|| (loom::sync::Mutex::new(()), loom::sync::Condvar::new()))
    }
}

/// Like the kernel's: between the look at the word and the sleep no one can wake.
pub(super) fn futex_wait(word: &AtomicU32, expected: u32) {
    let (lock, wakes) = SLEEPERS.queue();
    let guard = lock.lock().expect("a model's lock is not poisoned");
    if word.load(core::sync::atomic::Ordering::SeqCst) == expected {
        drop(wakes.wait(guard));
    }
}

pub(super) fn futex_wake_one(_: &AtomicU32) {
    let (lock, wakes) = SLEEPERS.queue();
    let _guard = lock.lock();
    wakes.notify_one();
}
