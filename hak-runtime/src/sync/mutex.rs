//! A mutex on one word: a short spin, then a futex.
//!
//! The standard library's mutex would do, but its poison flag reads a panic counter on every use,
//! and fork handlers need more: to release without a guard, and to know who holds the lock.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::{AtomicU32, Ordering, futex_wait, futex_wake_one, this_thread};

/// No one holds the lock. Otherwise the state is the holder's thread number, and flags.
const FREE: u32 = 0;
/// Others may be asleep in the kernel.
const WAITED_FOR: u32 = 1 << 31;
/// The lock was acquired for a fork.
const FORKING: u32 = 1 << 30;
/// Looks at a held lock before the first sleep; critical sections here take under a microsecond.
const SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 100 };

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
        Guard { mutex: self, holder: self.acquire() }
    }

    /// Gives the holder's number.
    #[inline]
    fn acquire(&self) -> u32 {
        let me = this_thread();
        if self.state.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.acquire_contended(me);
        }
        me
    }

    #[cold]
    fn acquire_contended(&self, me: u32) {
        if self.is_held_for_fork_by(me) {
            return;
        }
        for _ in 0..SPINS {
            let seen = self.state.load(Ordering::Relaxed);
            if seen == FREE && self.changed(seen, me) {
                return;
            }
            spin_loop();
        }
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if seen == FREE {
                // Others may still sleep; one wake-up too many is harmless.
                if self.changed(seen, me | WAITED_FOR) {
                    return;
                }
            } else if seen & WAITED_FOR != 0 || self.changed(seen, seen | WAITED_FOR) {
                futex_wait(&self.state, seen | WAITED_FOR);
            }
        }
    }

    /// Whether this thread is forking and a fork handler of the program, run between ours, came
    /// here. The lock was free when it was acquired for the fork, so the handler may use the value.
    fn is_held_for_fork_by(&self, me: u32) -> bool {
        self.state.load(Ordering::Relaxed) & !WAITED_FOR == me | FORKING
    }

    fn changed(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// # Safety
    ///
    /// The calling thread, or in a forked child the thread it is a copy of, acquired the lock, and
    /// got this number.
    #[inline]
    unsafe fn release(&self, holder: u32) {
        let released = (Ordering::Release, Ordering::Relaxed);
        if self.state.compare_exchange(holder, FREE, released.0, released.1).is_err() {
            self.release_contended();
        }
    }

    #[cold]
    fn release_contended(&self) {
        // A lock that is held for a fork is released by `after_fork` alone.
        if self.state.load(Ordering::Relaxed) & FORKING == 0 {
            self.set_free();
        }
    }

    fn set_free(&self) {
        if self.state.swap(FREE, Ordering::Release) & WAITED_FOR != 0 {
            futex_wake_one(&self.state);
        }
    }

    /// The value, for a fork handler.
    ///
    /// # Safety
    ///
    /// The caller is between [`Mutex::before_fork`] and [`Mutex::after_fork`].
    pub(crate) unsafe fn value(&self) -> &T {
        // SAFETY: the lock is held by this thread, so no one else has a `&mut T`. In a signal
        // handler that interrupted the holder, the value is only read.
        unsafe { &*self.value.get() }
    }

    /// The value, for a handler in the child; `None` when a signal handler is forking that
    /// interrupted this thread while it held the lock. It may be used until the lock is released.
    pub(crate) fn value_for_fork(&self) -> Option<NonNull<T>> {
        let is_forking = self.state.load(Ordering::Relaxed) & FORKING != 0;
        if is_forking { NonNull::new(self.value.get()) } else { None }
    }

    /// Acquires the lock for a fork, unless this very thread holds it: then a signal handler that
    /// interrupted it is forking, and the child's copy of the thread will release it itself.
    pub(crate) fn before_fork(&self) {
        let holder = self.state.load(Ordering::Relaxed) & !(WAITED_FOR | FORKING);
        if holder != this_thread() {
            self.acquire();
            self.state.fetch_or(FORKING, Ordering::Relaxed);
        }
    }

    /// Ends what [`Mutex::before_fork`] began, in the parent and in the child.
    ///
    /// # Safety
    ///
    /// Follows it, in the same thread or its copy.
    pub(crate) unsafe fn after_fork(&self) {
        let (state, me) = (self.state.load(Ordering::Relaxed), this_thread());
        if state & FORKING != 0 {
            self.set_free();
        } else if state & !WAITED_FOR != me {
            // This thread, a child's, will release the lock itself. Its number has changed.
            self.state.store(state & WAITED_FOR | me, Ordering::Relaxed);
        }
    }
}

/// The right to use the value of a [`Mutex`].
pub(crate) struct Guard<'a, T> {
    mutex: &'a Mutex<T>,
    holder: u32,
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
        // SAFETY: a guard stands for an acquired lock.
        unsafe { self.mutex.release(self.holder) };
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

    #[test]
    fn a_lock_held_for_a_fork_is_open_to_its_thread_alone() {
        let total = Mutex::new(1);
        total.before_fork();
        *total.lock() += 1;
        std::thread::scope(|scope| {
            let other = scope.spawn(|| *total.lock());
            *total.lock() += 1;
            let value = total.value_for_fork().expect("the lock is held for a fork");
            // SAFETY: the lock is held, and there is no guard.
            unsafe { *value.as_ptr() += 1 };
            // SAFETY: follows `before_fork`.
            unsafe { total.after_fork() };
            assert_eq!(other.join().unwrap(), 4);
        });
    }

    #[test]
    fn a_fork_leaves_a_lock_that_its_thread_holds_alone() {
        let total = Mutex::new(1);
        let guard = total.lock();
        total.before_fork();
        assert!(total.value_for_fork().is_none());
        // SAFETY: follows `before_fork`.
        unsafe { total.after_fork() };
        drop(guard);
        assert_eq!(*total.lock(), 1);
    }
}
