//! What one allocator holds from the system, and under which terms.
//!
//! Units and mappings are charged to the allocator that took them. Magazines are charged, too, with
//! the bytes of the blocks they may hold, so that what many threads cache is bounded.

#[cfg(all(test, loom))]
mod models;

use core::fmt;
use core::ptr::NonNull;

use crate::fatal;
use crate::fault::Fault;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The terms that a spec sets.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Bytes of units and mappings at most.
    pub limit: usize,
    /// Bytes that the magazines of all threads may hold at most.
    pub cache_limit: usize,
    /// When and how free units go back to the system.
    pub purge: Purge,
    /// Whether the kernel is asked to back superslabs and mappings with huge pages.
    pub huge_pages: bool,
    /// What is made resident ahead of its use.
    pub prefault: Prefault,
    /// Whether threads use no more shards than there are processors.
    pub shards_by_processors: bool,
    /// Called once, before the allocator hands out its first block.
    pub on_register: Option<fn()>,
    /// Called with each new slab's blocks, and whether they are zero.
    pub fill_slab: Option<fn(NonNull<u8>, usize, bool)>,
    /// How the unused ends of slabs are guarded.
    pub guard_slab: Option<SlabGuard>,
    /// How slabs are noted.
    pub note_slab: Option<NoteSlab>,
}

/// Called with each new slab's start, its bytes and the number of its class, before a block of it
/// is handed out; and with no number when it is retired.
pub(crate) type NoteSlab = fn(NonNull<u8>, usize, Option<usize>);

/// How the unused ends of slabs are guarded. Both functions get a slab's start, the bytes of its
/// blocks, and its length, and say whether it was done.
#[derive(Debug, Clone, Copy)]
pub struct SlabGuard {
    pub(crate) set: fn(NonNull<u8>, usize, usize) -> bool,
    pub(crate) lift: fn(NonNull<u8>, usize, usize) -> bool,
}

impl Terms {
    /// No limits; nothing is returned, asked for, or touched ahead.
    pub const DEFAULT: Terms = Terms {
        limit: usize::MAX,
        cache_limit: usize::MAX,
        purge: Purge::Never,
        huge_pages: false,
        prefault: Prefault::None,
        shards_by_processors: false,
        on_register: None,
        fill_slab: None,
        guard_slab: None,
        note_slab: None,
    };
}

/// What is made resident ahead of its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefault {
    /// Nothing: a page is resident from its first use.
    None,
    /// The further slabs of a class that has many.
    Growing,
    /// Superslabs and mappings when they are mapped.
    All,
}

/// When and how free units go back to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    /// Only when the program asks.
    Never,
    /// After a delay.
    After {
        /// Milliseconds that a unit must have been free.
        milliseconds: u64,
        /// By which call.
        how: PurgeHow,
        /// Whether a thread of the runtime's own does it when no other comes by.
        helper: bool,
    },
}

/// By which call OS pages are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeHow {
    /// `MADV_DONTNEED`: at once; the pages are zero when they are used again.
    DontNeed,
    /// `MADV_FREE`: when the system is short of memory; cheaper if they are used again before.
    Free,
}

/// One allocator's account.
pub struct Account {
    name: &'static str,
    pub(crate) terms: Terms,
    held: AtomicUsize,
    cached: AtomicUsize,
    /// When idle depots are to be emptied next: milliseconds of the system's clock.
    next_drain_ms: AtomicU64,
    /// Threads that entered so far: the next one's shard follows from it.
    threads: AtomicUsize,
    /// Whether the process knows this allocator (its fork handlers do).
    pub(crate) is_registered: AtomicBool,
}

impl Account {
    /// The account of an allocator that holds nothing.
    #[must_use]
    pub const fn new(name: &'static str, terms: Terms) -> Self {
        Account {
            name,
            terms,
            held: AtomicUsize::new(0),
            cached: AtomicUsize::new(0),
            next_drain_ms: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            is_registered: AtomicBool::new(false),
        }
    }

    /// How the allocator is called.
    #[cfg(feature = "c")]
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Bytes of units and mappings held now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Bytes that the threads' magazines may hold now.
    pub(crate) fn cached(&self) -> usize {
        self.cached.load(Ordering::Relaxed)
    }

    /// Charges bytes from the system; false, and nothing is charged, beyond the limit.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        add_up_to(&self.held, bytes, self.terms.limit)
    }

    /// Takes a charge back.
    pub(crate) fn refund(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Charges a thread's magazine; false, and nothing is charged, beyond the limit.
    pub(crate) fn charge_cache(&self, bytes: usize) -> bool {
        add_up_to(&self.cached, bytes, self.terms.cache_limit)
    }

    /// Takes the charge of a magazine back. Not below 0: in the child of a signal handler that
    /// forked in the middle of an exchange the two sides of it may be counted differently.
    pub(crate) fn refund_cache(&self, bytes: usize) {
        let less = |cached: usize| Some(cached.saturating_sub(bytes));
        let _ = self.cached.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// In a forked child: forgets the charges of all threads' magazines.
    pub(crate) fn forget_caches(&self) {
        self.cached.store(0, Ordering::Relaxed);
    }

    /// Whether a delay has passed since idle depots were last looked at; true for one caller.
    pub(crate) fn is_drain_due(&self, now_ms: u64) -> bool {
        let Purge::After { milliseconds, .. } = self.terms.purge else { return false };
        let due = self.next_drain_ms.load(Ordering::Relaxed);
        let next = now_ms.saturating_add(milliseconds.max(1));
        let relaxed = Ordering::Relaxed;
        now_ms >= due && self.next_drain_ms.compare_exchange(due, next, relaxed, relaxed).is_ok()
    }

    /// A number for a thread that enters: 0, 1, 2, …
    pub(crate) fn next_thread(&self) -> usize {
        self.threads.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes what is wrong and ends the process.
    #[cold]
    pub(crate) fn die(&self, what: fmt::Arguments<'_>) -> ! {
        fatal::die(self.name, what)
    }

    /// The same for a fault of the program.
    #[cold]
    pub(crate) fn die_of(&self, fault: Fault) -> ! {
        self.die(format_args!("{fault}"))
    }
}

fn add_up_to(sum: &AtomicUsize, more: usize, limit: usize) -> bool {
    let grown = |sum: usize| sum.checked_add(more).filter(|&after| after <= limit);
    sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
}

#[cfg(test)]
impl Account {
    /// An account without limits that lives for the rest of the test.
    pub(crate) fn for_test() -> &'static Account {
        Box::leak(Box::new(Account::new("Test", Terms::DEFAULT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_charged_than_the_limit() {
        let account = Account::new("Test", Terms { limit: 100, ..Terms::DEFAULT });
        assert!(account.charge(60));
        assert!(!account.charge(41));
        assert!(account.charge(40));
        account.refund(60);
        assert_eq!(account.held(), 40);
        assert!(!account.charge(usize::MAX));
        assert_eq!(account.held(), 40);
    }
}
