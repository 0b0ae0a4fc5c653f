//! A mutex on one word: a short spin, then a futex.
//!
//! The standard library's mutex would do, but its poison flag reads a panic counter on every use,
//! and a fork handler has to release a lock without holding its guard.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ops::{Deref, DerefMut};

pub(crate) use core::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering,
};

use crate::os;

/// No one holds the lock.
const FREE: u32 = 0;
/// Someone holds the lock, and no one waits.
const HELD: u32 = 1;
/// Someone holds the lock, and others may be asleep in the kernel.
const WAITED_FOR: u32 = 2;
/// Looks at a held lock before the first sleep; critical sections here take under a microsecond.
const SPINS: u32 = 100;

/// Mutual exclusion for `T`. Not reentrant, never poisoned, allocates nothing.
pub(crate) struct Mutex<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and there is one guard at a time.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits until no one else holds the lock, and holds it until the guard is dropped.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_contended();
        }
        Guard { mutex: self }
    }

    #[cold]
    fn lock_contended(&self) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Relaxed) == FREE
                && self
                    .state
                    .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            spin_loop();
        }
        // From here on the state says that someone may sleep; one wake-up too many is harmless.
        while self.state.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            os::futex_wait(&self.state, WAITED_FOR);
        }
    }
}

/// The right to use the value of a [`Mutex`].
pub(crate) struct Guard<'a, T> {
    mutex: &'a Mutex<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so no `&mut T` exists.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and it is borrowed mutably.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.mutex.state.swap(FREE, Ordering::Release) == WAITED_FOR {
            os::futex_wake_one(&self.mutex.state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mutex;

    #[test]
    fn counts_of_many_threads_add_up() {
        let total = Mutex::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| *total.lock() += 1));
            }
        });
        assert_eq!(*total.lock(), 80_000);
    }
}
