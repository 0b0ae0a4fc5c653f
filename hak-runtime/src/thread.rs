//! Threads that end: each allocator's cache on a thread is emptied once, late.
//!
//! One key of the thread library serves all allocators. Its value is the list of the thread's
//! caches, and its destructor runs after every language-level thread-local destructor. What a
//! thread allocates or frees after that, in destructors of other keys, goes to the slabs directly
//! and leaves nothing behind.
//!
//! # Rules
//!
//! 1. A record is touched only by its own thread.
//! 2. Stages go `Fresh` → `Live` → `Gone`, or `Fresh` → `Gone` when the system has no key left:
//!    such a thread works without a cache, since no one would empty it.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;

use crate::sync::Mutex;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The thread has not come by.
    Fresh,
    /// Entered in the thread's list; the cache may hold blocks.
    Live,
    /// Nothing may be cached any more.
    Gone,
}

/// A thread's record for one allocator, beside its bins.
pub(crate) struct Thread {
    stage: Cell<Stage>,
    /// The next record of the same thread.
    next: Cell<*const Thread>,
    /// Empties the cache: called once, with this record, when the thread ends.
    retire: Cell<Option<unsafe fn(*const Thread)>>,
    /// For the use of `retire`: the heap and the bins.
    pub(crate) heap: Cell<*const c_void>,
    pub(crate) bins: Cell<*const c_void>,
}

impl Thread {
    pub(crate) const fn new() -> Self {
        Thread {
            stage: Cell::new(Stage::Fresh),
            next: Cell::new(ptr::null()),
            retire: Cell::new(None),
            heap: Cell::new(ptr::null()),
            bins: Cell::new(ptr::null()),
        }
    }

    /// Whether this thread may cache blocks; enters it in the list at the first call. After that
    /// call `retire` will be called with this record.
    #[inline]
    pub(crate) fn may_cache(&self, retire: unsafe fn(*const Thread)) -> bool {
        match self.stage.get() {
            Stage::Live => true,
            Stage::Gone => false,
            Stage::Fresh => self.enter(retire),
        }
    }

    #[cold]
    fn enter(&self, retire: unsafe fn(*const Thread)) -> bool {
        // Were the thread library to allocate below, it would find a thread that may not cache.
        self.stage.set(Stage::Gone);
        let Some(key) = key() else { return false };
        self.retire.set(Some(retire));
        // SAFETY: the key exists.
        self.next.set(unsafe { libc::pthread_getspecific(key) }.cast());
        // SAFETY: the key exists.
        if unsafe { libc::pthread_setspecific(key, ptr::from_ref(self).cast()) } != 0 {
            return false;
        }
        self.stage.set(Stage::Live);
        true
    }
}

#[derive(Clone, Copy)]
enum Key {
    NotMade,
    Made(libc::pthread_key_t),
    Refused,
}

/// The key, made at the first call; `None` when the system has none left.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: Mutex<Key> = Mutex::new(Key::NotMade);
    let mut slot = KEY.lock();
    if let Key::NotMade = *slot {
        let mut key = 0;
        // SAFETY: `key` is writable, and the destructor takes what `enter` sets.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0;
        *slot = if made { Key::Made(key) } else { Key::Refused };
    }
    match *slot {
        Key::Made(key) => Some(key),
        _ => None,
    }
}

/// Empties all caches of the ending thread.
///
/// # Safety
///
/// `list` is null or what `enter` set in this thread.
unsafe extern "C" fn thread_ends(list: *mut c_void) {
    let mut record = list.cast_const().cast::<Thread>();
    // SAFETY: a record lies in the thread's own storage, which outlives the key's destructors.
    while let Some(thread) = unsafe { record.as_ref() } {
        let next = thread.next.get();
        thread.stage.set(Stage::Gone);
        if let Some(retire) = thread.retire.get() {
            // SAFETY: the record was entered with this function, and is retired once.
            unsafe { retire(record) };
        }
        record = next;
    }
}
