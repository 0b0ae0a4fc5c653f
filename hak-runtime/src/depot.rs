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

use core::ptr::NonNull;

use crate::magazine::Magazine;
use crate::sync::Mutex;

/// The layer between threads and slabs: a [`Depot`] for each class, or none.
pub trait Depots: Sync + 'static {
    /// The depot of a class.
    fn of(&self, class: usize) -> Option<&Depot>;
}

/// A spec without the layer `depot`.
pub struct NoDepot;

impl Depots for NoDepot {
    #[inline(always)]
    fn of(&self, _class: usize) -> Option<&Depot> {
        None
    }
}

impl<const N: usize> Depots for [Depot; N] {
    #[inline(always)]
    fn of(&self, class: usize) -> Option<&Depot> {
        self.get(class)
    }
}

/// The full magazines of one class.
#[repr(align(64))]
pub struct Depot {
    full_max: u32,
    stacks: Mutex<Stacks>,
}

struct Stacks {
    full: Option<NonNull<Magazine>>,
    full_count: u32,
    empty: Option<NonNull<Magazine>>,
    /// Full magazines that were handed out.
    exchanges: u64,
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
    #[must_use]
    pub const fn new(full_max: u32) -> Self {
        let stacks = Stacks { full: None, full_count: 0, empty: None, exchanges: 0 };
        Depot { full_max, stacks: Mutex::new(stacks) }
    }

    /// Takes a full magazine, and gives an empty one for it.
    ///
    /// # Safety
    ///
    /// Unless it is refused, no one uses `magazine` after this call. It is full.
    pub(crate) unsafe fn give(&self, magazine: NonNull<Magazine>) -> Given {
        let mut stacks = self.stacks.lock();
        if stacks.full_count >= self.full_max {
            return Given::Refused;
        }
        // SAFETY: the magazine is ours now.
        unsafe { push(&mut stacks.full, magazine) };
        stacks.full_count += 1;
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
        // SAFETY: stacked magazines are ours (rule 1).
        let full = unsafe { pop(&mut stacks.full) }?;
        stacks.full_count -= 1;
        stacks.exchanges += 1;
        // SAFETY: the empty magazine is ours now.
        unsafe { push(&mut stacks.empty, empty) };
        Some(full)
    }

    /// Takes a full magazine for nothing.
    pub(crate) fn drain_one(&self) -> Option<NonNull<Magazine>> {
        let mut stacks = self.stacks.lock();
        // SAFETY: stacked magazines are ours (rule 1).
        let full = unsafe { pop(&mut stacks.full) }?;
        stacks.full_count -= 1;
        Some(full)
    }

    /// Full magazines held, and how many were ever handed out.
    pub(crate) fn census(&self) -> (u32, u64) {
        let stacks = self.stacks.lock();
        (stacks.full_count, stacks.exchanges)
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
        assert_eq!(depot.census(), (2, 1));
    }
}
