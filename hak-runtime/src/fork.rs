//! Forks: no lock is held by a thread that the child does not have.
//!
//! Every heap that is used becomes a member. Before a fork the forking thread takes every lock
//! there is, in the order that holds everywhere (see the crate's head); after it both sides release
//! them. What other threads cached is lost to the child, which has no such threads: it is no longer
//! charged. Units that they had claimed for a purge are free again.

use core::cell::UnsafeCell;
use core::ptr;

use crate::account::{Account, Terms};
use crate::sync::{self, AtomicBool, AtomicU32, Mutex, Ordering};
use crate::{arena, os, superslab, thread};

/// How to take and release the locks of one heap.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    pub(crate) heap: *const (),
    pub(crate) account: &'static Account,
    pub(crate) lock_classes: unsafe fn(*const ()),
    pub(crate) lock_huge: unsafe fn(*const ()),
    pub(crate) unlock_classes: unsafe fn(*const ()),
    pub(crate) unlock_huge: unsafe fn(*const ()),
    pub(crate) drain_idle: unsafe fn(*const ()),
}

/// A heap's place in the list of members. Written once, under the lock of the list.
pub(crate) struct Member(UnsafeCell<Option<(Hooks, *const Member)>>);

// SAFETY: written and read under the lock of the list only.
unsafe impl Sync for Member {}

struct Members {
    newest: *const Member,
    has_handlers: bool,
}

// SAFETY: members are statics.
unsafe impl Send for Members {}

static MEMBERS: Mutex<Members> = Mutex::new(Members { newest: ptr::null(), has_handlers: false });

impl Member {
    pub(crate) const fn new() -> Self {
        Member(UnsafeCell::new(None))
    }

    /// Enters a heap in the list, once; the first one installs the handlers. `begin` is called
    /// before anyone sees that it is entered.
    #[cold]
    pub(crate) fn enter(&'static self, is_entered: &AtomicBool, begin: Option<fn()>, hooks: Hooks) {
        let mut members = MEMBERS.lock();
        if is_entered.load(Ordering::Relaxed) {
            return;
        }
        // First: who finds the heap registered goes on without waiting.
        if let Some(begin) = begin {
            begin();
        }
        // SAFETY: the lock is held.
        unsafe { *self.0.get() = Some((hooks, members.newest)) };
        members.newest = self;
        let is_first = !core::mem::replace(&mut members.has_handlers, true);
        is_entered.store(true, Ordering::Release);
        // The C library may allocate for its handlers, and so enter another heap here.
        drop(members);
        if is_first {
            os::call_at_fork(before, in_parent, in_child);
        }
    }
}

/// A lock beside the heaps, such as that of an allocator's counters: a member of its own.
pub(crate) struct Beside {
    member: Member,
    is_entered: AtomicBool,
}

/// The account of what holds nothing.
static NOBODY: Account = Account::new("", Terms::DEFAULT);

impl Beside {
    pub(crate) const fn new() -> Self {
        Beside { member: Member::new(), is_entered: AtomicBool::new(false) }
    }

    /// Has a fork call `lock` with `owner` before it, and `unlock` on both sides, as heaps' locks
    /// are taken: see [`Hooks`]. To be called before the lock is used; only the first call counts.
    #[inline]
    pub(crate) fn enter(
        &'static self,
        owner: *const (),
        lock: unsafe fn(*const ()),
        unlock: unsafe fn(*const ()),
    ) {
        if self.is_entered.load(Ordering::Relaxed) {
            return;
        }
        let hooks = Hooks {
            heap: owner,
            account: &NOBODY,
            lock_classes: lock,
            lock_huge: nothing,
            unlock_classes: unlock,
            unlock_huge: nothing,
            drain_idle: nothing,
        };
        self.member.enter(&self.is_entered, None, hooks);
    }
}

/// A hook of what has no such lock.
///
/// # Safety
///
/// There is nothing to keep to.
unsafe fn nothing(_: *const ()) {}

/// How often this process is a fork's child of one that used hak.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A number that is another one in a forked child.
pub(crate) fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Calls `visit` with the account of each heap, and a way to empty its idle depots.
pub(crate) fn each_member(visit: impl Fn(&'static Account, &dyn Fn())) {
    let members = MEMBERS.lock();
    each_from(members.newest, |hooks| {
        // SAFETY: hooks are of heaps, which are statics.
        visit(hooks.account, &|| unsafe { (hooks.drain_idle)(hooks.heap) });
    });
}

/// Calls `visit` for each member. The caller holds the lock of the list.
fn each(visit: impl Fn(Hooks)) {
    // SAFETY: the lock of the list is held by this thread, or was at the fork by its original.
    each_from(unsafe { MEMBERS.value() }.newest, visit);
}

/// The same, from one member on.
fn each_from(newest: *const Member, visit: impl Fn(Hooks)) {
    let mut next = newest;
    // SAFETY: members are statics.
    while let Some(member) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        let Some((hooks, older)) = (unsafe { *member.0.get() }) else { break };
        visit(hooks);
        next = older;
    }
}

/// Takes all locks.
unsafe extern "C" fn before() {
    MEMBERS.before_fork();
    thread::before_fork();
    // SAFETY: hooks are of heaps, which are statics.
    each(|hooks| unsafe { (hooks.lock_classes)(hooks.heap) });
    superslab::before_fork();
    // SAFETY: as above.
    each(|hooks| unsafe { (hooks.lock_huge)(hooks.heap) });
    arena::before_fork();
}

/// Releases all locks.
unsafe extern "C" fn in_parent() {
    // SAFETY: follows `before`.
    unsafe { arena::after_fork() };
    // SAFETY: as above.
    each(|hooks| unsafe { (hooks.unlock_huge)(hooks.heap) });
    // SAFETY: as above.
    unsafe { superslab::after_fork() };
    // SAFETY: as above.
    each(|hooks| unsafe { (hooks.unlock_classes)(hooks.heap) });
    // SAFETY: as above.
    unsafe { thread::after_fork() };
    // SAFETY: as above.
    unsafe { MEMBERS.after_fork() };
}

/// The same in the child, which has one thread with a new number, and no helper.
unsafe extern "C" fn in_child() {
    sync::forked();
    // SAFETY: follows `before`, in the copy of its thread.
    unsafe { superslab::unclaim() };
    each(|hooks| hooks.account.forget_caches());
    // SAFETY: as above.
    unsafe { thread::charge_again() };
    // SAFETY: as above.
    unsafe { in_parent() };
    FORKS.fetch_add(1, Ordering::Relaxed);
}
