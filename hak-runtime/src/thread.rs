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
//! 2. Stages go `Fresh` → `Live` → `Gone`, or `Fresh` → `Gone` when the system has no key left, or
//!    the thread is ending: it then works without a cache, since no one would empty it.
//! 3. `charged` is what this thread's magazines add to the account's `cached`.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;

use crate::account::Account;
use crate::local;
use crate::os::{self, ThreadKey};
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
    /// The account that is charged for this thread's magazines, and how many bytes.
    account: Cell<Option<&'static Account>>,
    charged: Cell<usize>,
    /// Which of the copies of each class this thread uses.
    pub(crate) shard: Cell<usize>,
    /// For the use of `retire`: the heap, the bins, and their spares.
    pub(crate) heap: Cell<*const c_void>,
    pub(crate) bins: Cell<*const c_void>,
    pub(crate) spares: Cell<*const c_void>,
}

impl Thread {
    pub(crate) const fn new() -> Self {
        Thread {
            stage: Cell::new(Stage::Fresh),
            next: Cell::new(ptr::null()),
            retire: Cell::new(None),
            account: Cell::new(None),
            charged: Cell::new(0),
            shard: Cell::new(0),
            heap: Cell::new(ptr::null()),
            bins: Cell::new(ptr::null()),
            spares: Cell::new(ptr::null()),
        }
    }

    /// Whether this thread may cache blocks; `None` if it has not entered yet.
    pub(crate) fn may_cache(&self) -> Option<bool> {
        match self.stage.get() {
            Stage::Live => Some(true),
            Stage::Gone => Some(false),
            Stage::Fresh => None,
        }
    }

    /// Calls `begin`, then enters the record in the thread's list; false when that cannot be. If it
    /// is true, `retire` will be called with this record when the thread ends.
    pub(crate) fn enter(&self, begin: impl FnOnce(), retire: unsafe fn(*const Thread)) -> bool {
        // Were the C library to allocate below, it would find a thread that may not cache: one that
        // entered there would enter twice, and have its list end in itself.
        self.stage.set(Stage::Gone);
        begin();
        self.enter_by(key(), retire)
    }

    /// Charges a magazine; false, and nothing is charged, beyond the account's limit.
    pub(crate) fn charge(&self, account: &'static Account, bytes: usize) -> bool {
        let is_charged = account.charge_cache(bytes);
        if is_charged {
            self.account.set(Some(account));
            self.charged.set(self.charged.get() + bytes);
        }
        is_charged
    }

    /// Takes the charge of a magazine back.
    pub(crate) fn refund(&self, account: &Account, bytes: usize) {
        self.charged.set(self.charged.get().saturating_sub(bytes));
        account.refund_cache(bytes);
    }

    /// Ends what [`Thread::enter`] began: nothing is cached from here on.
    pub(crate) fn end(&self) {
        self.stage.set(Stage::Gone);
        if let Some(retire) = self.retire.take() {
            // SAFETY: the record was entered with this function, and is retired once.
            unsafe { retire(self) };
        }
    }

    /// Enters the record of a thread that has nothing of its own yet, and so is not ending; false
    /// when that cannot be. Nothing is called for it when the thread ends, but the thread's end is
    /// noticed.
    #[cfg(feature = "c")]
    pub(crate) fn enter_first(&self) -> bool {
        let Some(key) = key() else { return false };
        self.stage.set(Stage::Gone);
        self.next.set(os::thread_pointer(key).cast());
        // SAFETY: the destructor takes a list of records, and this one lives until the thread's
        // list has been gone through.
        unsafe { os::set_thread_pointer(key, ptr::from_ref(self).cast()) }
    }

    fn enter_by(&self, key: Option<ThreadKey>, retire: unsafe fn(*const Thread)) -> bool {
        let Some(key) = key.filter(|_| !local::is_ending()) else { return false };
        self.retire.set(Some(retire));
        self.next.set(os::thread_pointer(key).cast());
        // SAFETY: the destructor takes a list of records, and this one lives as long as the thread.
        let is_entered = unsafe { os::set_thread_pointer(key, ptr::from_ref(self).cast()) };
        if is_entered {
            self.stage.set(Stage::Live);
        }
        is_entered
    }
}

#[derive(Clone, Copy)]
enum Key {
    NotMade,
    Made(ThreadKey),
    Refused,
}

static KEY: Mutex<Key> = Mutex::new(Key::NotMade);

/// Takes the key's lock for a fork.
pub(crate) fn before_fork() {
    KEY.before_fork();
}

/// Releases it again.
///
/// # Safety
///
/// Follows [`before_fork`] in the same thread, or its copy in the child.
pub(crate) unsafe fn after_fork() {
    // SAFETY: by this function's contract.
    unsafe { KEY.after_fork() };
}

/// Charges the accounts, which hold no charges, for the caches of this thread alone: a forked child
/// has no other.
///
/// # Safety
///
/// The caller is between [`before_fork`] and [`after_fork`].
pub(crate) unsafe fn charge_again() {
    // SAFETY: by this function's contract.
    let Key::Made(key) = *(unsafe { KEY.value() }) else { return };
    let mut record = os::thread_pointer(key).cast_const().cast::<Thread>();
    // SAFETY: records in the list lie in the thread's own storage.
    while let Some(thread) = unsafe { record.as_ref() } {
        if let Some(account) = thread.account.get() {
            account.charge_cache(thread.charged.get());
        }
        record = thread.next.get();
    }
}

/// The key, made at the first call; `None` when the system has none left.
fn key() -> Option<ThreadKey> {
    let mut slot = KEY.lock();
    if let Key::NotMade = *slot {
        *slot = os::thread_key(thread_ends).map_or(Key::Refused, Key::Made);
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
    local::begin_ending();
    let mut record = list.cast_const().cast::<Thread>();
    // SAFETY: a record lies in the thread's own storage, which outlives the key's destructors.
    while let Some(thread) = unsafe { record.as_ref() } {
        record = thread.next.get();
        thread.end();
    }
    #[cfg(feature = "c")]
    local::leave();
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::account::Terms;

    static RETIRED: AtomicUsize = AtomicUsize::new(0);

    unsafe fn count(record: *const Thread) {
        // SAFETY: the record lives.
        let record = unsafe { &*record };
        assert_eq!(record.may_cache(), Some(false), "nothing is cached from here on");
        RETIRED.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn without_a_key_a_thread_may_not_cache() {
        let thread = Thread::new();
        assert_eq!(thread.may_cache(), None);
        thread.stage.set(Stage::Gone);
        assert!(!thread.enter_by(None, count));
        assert_eq!(thread.may_cache(), Some(false));
    }

    #[test]
    fn without_memory_for_its_value_a_thread_may_not_cache() {
        let thread = Thread::new();
        thread.stage.set(Stage::Gone);
        // The system knows no such key, and refuses the value.
        assert!(!thread.enter_by(Some(ThreadKey::MAX), count));
        assert_eq!(thread.may_cache(), Some(false));
    }

    /// A record that is entered twice would end the list in itself; one that is retired twice
    /// would count twice.
    #[test]
    fn all_records_of_an_ending_thread_are_retired_once() {
        std::thread::spawn(|| {
            for _ in 0..3 {
                let thread: &Thread = Box::leak(Box::new(Thread::new()));
                let refused = || assert_eq!(thread.may_cache(), Some(false), "it is entering");
                assert!(thread.enter(refused, count));
                assert_eq!(thread.may_cache(), Some(true));
            }
            let ended: &Thread = Box::leak(Box::new(Thread::new()));
            assert!(ended.enter(|| (), count));
            ended.end();
        })
        .join()
        .unwrap();
        assert_eq!(RETIRED.load(Ordering::Relaxed), 4);
    }

    /// It may be the destructors' last round, after which no one would empty a cache.
    #[test]
    fn a_thread_that_is_ending_does_not_begin_to_cache() {
        unsafe fn enter_another(_: *const Thread) {
            let another: &Thread = Box::leak(Box::new(Thread::new()));
            assert!(!another.enter(|| (), enter_another));
            assert_eq!(another.may_cache(), Some(false));
            TRIED.fetch_add(1, Ordering::Relaxed);
        }
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        std::thread::spawn(|| {
            let thread: &Thread = Box::leak(Box::new(Thread::new()));
            assert!(thread.enter(|| (), enter_another));
        })
        .join()
        .unwrap();
        assert_eq!(TRIED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_child_is_charged_for_the_forking_thread_alone() {
        let account: &Account = Box::leak(Box::new(Account::new("Test", Terms::DEFAULT)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mine: &Thread = Box::leak(Box::new(Thread::new()));
                assert!(mine.enter(|| (), |_| ()) && mine.charge(account, 300));
                mine.refund(account, 100);
                assert!(account.charge_cache(5000), "what other threads cache");
                before_fork();
                account.forget_caches();
                // SAFETY: between the two, as a child would do it.
                unsafe { charge_again() };
                // SAFETY: follows `before_fork`.
                unsafe { after_fork() };
                assert_eq!(account.cached(), 200);
            });
        });
    }
}
