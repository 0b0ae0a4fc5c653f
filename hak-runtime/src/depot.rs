//! The depot of a class: a process-wide, bounded stack of full magazines.
//!
//! Threads exchange magazines with it, one for one, so an exchange costs the same however many
//! blocks change hands.
//!
//! # Rules
//!
//! 1. A magazine in the depot belongs to it alone. Full ones are stacked in `full`; the empty ones
//!    that came in exchange wait in `empty` for the next giver.
//! 2. There are at most `full_max` full magazines. A giver that is refused keeps its magazine.
//! 3. `full_count` changes under the lock only; without it, it is a hint.

use core::ptr::NonNull;

use crate::magazine::Magazine;
use crate::size_class::SizeClass;
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The layer between threads and slabs: a [`Depot`] for each class, or none.
pub trait Depots: Sync + 'static {
    /// The depot at a place: classes of the first shard come first.
    fn of(&self, place: usize) -> Option<&Depot>;
}

/// A spec without the layer `depot`.
pub struct NoDepot;

impl Depots for NoDepot {
    #[inline(always)]
    fn of(&self, _place: usize) -> Option<&Depot> {
        None
    }
}

/// For each shard, a depot for each class.
impl<const N: usize, const S: usize> Depots for [[Depot; N]; S] {
    #[inline(always)]
    fn of(&self, place: usize) -> Option<&Depot> {
        self.as_flattened().get(place)
    }
}

/// The depots of classes with these sizes, of one shard.
#[must_use]
pub const fn depots<const N: usize>(sizes: [SizeClass; N]) -> [Depot; N] {
    let mut depots = [const { Depot::new(0) }; N];
    let mut class = 0;
    while class < N {
        depots[class].full_max = sizes[class].depot;
        class += 1;
    }
    depots
}

/// The full magazines of one class.
#[repr(align(64))]
pub struct Depot {
    full_max: u32,
    /// Full magazines held, for a look without the lock.
    full_count: AtomicU32,
    stacks: Mutex<Stacks>,
}

struct Stacks {
    full: Option<NonNull<Magazine>>,
    empty: Option<NonNull<Magazine>>,
    /// Full magazines that were handed out, and taken in.
    taken: u64,
    given: u64,
    /// The sum of the two when somebody last looked whether the depot is idle.
    seen: u64,
}

// SAFETY: stacked magazines belong to no thread (rule 1).
unsafe impl Send for Stacks {}

/// What a giver gets for a full magazine.
pub(crate) enum Given {
    /// The depot took it. An empty one in exchange, if it had one.
    Taken(Option<NonNull<Magazine>>),
    /// The depot is at its bound.
    Refused,
}

impl Depot {
    /// An empty depot for at most `full_max` full magazines.
    const fn new(full_max: u32) -> Self {
        let stacks = Stacks { full: None, empty: None, taken: 0, given: 0, seen: 0 };
        Depot { full_max, full_count: AtomicU32::new(0), stacks: Mutex::new(stacks) }
    }

    /// Takes a full magazine, and gives an empty one for it.
    ///
    /// # Safety
    ///
    /// Unless it is refused, no one uses `magazine` after this call. It is full.
    pub(crate) unsafe fn give(&self, magazine: NonNull<Magazine>) -> Given {
        let mut stacks = self.stacks.lock();
        let count = self.full_count.load(Ordering::Relaxed);
        if count >= self.full_max {
            return Given::Refused;
        }
        // SAFETY: the magazine is ours now.
        unsafe { push(&mut stacks.full, magazine) };
        self.full_count.store(count + 1, Ordering::Relaxed);
        stacks.given += 1;
        // SAFETY: stacked magazines are ours (rule 1).
        Given::Taken(unsafe { pop(&mut stacks.empty) })
    }

    /// Exchanges an empty magazine for a full one, if there is one; else the empty one stays with
    /// the caller.
    ///
    /// # Safety
    ///
    /// If there is one, no one uses `empty` after this call.
    pub(crate) unsafe fn take(&self, empty: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        let mut stacks = self.stacks.lock();
        let full = self.pop_full(&mut stacks)?;
        // SAFETY: the empty magazine is ours now.
        unsafe { push(&mut stacks.empty, empty) };
        Some(full)
    }

    /// Whether nothing was given or taken since the last call.
    pub(crate) fn is_idle(&self) -> bool {
        let mut stacks = self.stacks.lock();
        let sum = stacks.taken + stacks.given;
        core::mem::replace(&mut stacks.seen, sum) == sum
    }

    /// Takes a full magazine for nothing.
    pub(crate) fn drain_one(&self) -> Option<NonNull<Magazine>> {
        self.pop_full(&mut self.stacks.lock())
    }

    fn pop_full(&self, stacks: &mut Stacks) -> Option<NonNull<Magazine>> {
        // SAFETY: stacked magazines are ours (rule 1).
        let full = unsafe { pop(&mut stacks.full) }?;
        let count = self.full_count.load(Ordering::Relaxed);
        self.full_count.store(count - 1, Ordering::Relaxed);
        stacks.taken += 1;
        Some(full)
    }

    /// Whether a full magazine is likely to be had.
    #[inline]
    pub(crate) fn has_full(&self) -> bool {
        self.full_count.load(Ordering::Relaxed) > 0
    }

    /// Full magazines held, and how many were ever handed out and taken in.
    pub(crate) fn census(&self) -> (usize, [u64; 2]) {
        let stacks = self.stacks.lock();
        (self.full_count.load(Ordering::Relaxed) as usize, [stacks.taken, stacks.given])
    }

    /// Takes the lock for a fork.
    pub(crate) fn before_fork(&self) {
        self.stacks.before_fork();
    }

    /// Releases it again.
    ///
    /// # Safety
    ///
    /// Follows [`Depot::before_fork`] in the same thread, or its copy in the child.
    pub(crate) unsafe fn after_fork(&self) {
        // SAFETY: by this function's contract.
        unsafe { self.stacks.after_fork() };
    }
}

/// # Safety
///
/// The caller owns `magazine` and the stack.
unsafe fn push(stack: &mut Option<NonNull<Magazine>>, mut magazine: NonNull<Magazine>) {
    // SAFETY: magazines stay mapped, and this one is the caller's.
    unsafe { magazine.as_mut() }.next = stack.replace(magazine);
}

/// # Safety
///
/// The caller owns the stack.
unsafe fn pop(stack: &mut Option<NonNull<Magazine>>) -> Option<NonNull<Magazine>> {
    let magazine = (*stack)?;
    // SAFETY: magazines stay mapped, and stacked ones are the caller's.
    *stack = unsafe { magazine.as_ref() }.next;
    Some(magazine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magazines_are_exchanged_up_to_the_bound() {
        let depot = Depot::new(2);
        let [a, b, c] = [(); 3].map(|()| Magazine::new(4).unwrap());
        // SAFETY: the magazines are ours, and each is given away once at a time.
        let give = |magazine| unsafe { depot.give(magazine) };
        // SAFETY: as above.
        let take = |empty| unsafe { depot.take(empty) };
        assert!(take(c).is_none());
        assert!(matches!(give(a), Given::Taken(None)));
        assert!(matches!(give(b), Given::Taken(None)));
        assert!(matches!(give(c), Given::Refused));
        assert_eq!(take(c), Some(b));
        assert!(matches!(give(b), Given::Taken(Some(empty)) if empty == c));
        assert_eq!(depot.census(), (2, [1, 3]));
    }
}
