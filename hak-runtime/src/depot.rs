//! The depot of a class: a process-wide, bounded stack of full parcels.
//!
//! Threads exchange parcels with it, one for one, so an exchange costs the same however many
//! blocks change hands.
//!
//! # Rules
//!
//! 1. A parcel in the depot belongs to it alone. Full ones are stacked in `full`; the empty
//!    magazines that came in exchange wait in `empty` for the next giver. (An empty chain is
//!    nothing.)
//! 2. There are at most `full_max` full parcels. A giver that is refused keeps its own.
//! 3. `full_count` changes under the lock only; without it, it is a hint.

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::parcel::{FullMagazine, Parcel, Stack};
use crate::size_class::SizeClass;
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The layer between threads and slabs: a [`Depot`] for each class, or none.
pub trait Depots: Sync + 'static {
    /// What is exchanged.
    type Parcel: Parcel;

    /// The depot at a place: classes of the first shard come first.
    fn of(&self, place: usize) -> Option<&Depot<Self::Parcel>>;
}

/// A spec without the layer `depot`.
pub struct NoDepot<P = FullMagazine>(PhantomData<fn() -> P>);

impl<P> NoDepot<P> {
    /// No depot for any class.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        NoDepot(PhantomData)
    }
}

impl<P: Parcel> Depots for NoDepot<P> {
    type Parcel = P;

    #[inline(always)]
    fn of(&self, _place: usize) -> Option<&Depot<P>> {
        None
    }
}

/// For each shard, a depot for each class.
impl<P: Parcel, const N: usize, const S: usize> Depots for [[Depot<P>; N]; S] {
    type Parcel = P;

    #[inline(always)]
    fn of(&self, place: usize) -> Option<&Depot<P>> {
        self.as_flattened().get(place)
    }
}

/// The depots of classes with these sizes, of one shard.
#[must_use]
pub const fn depots<P: Parcel, const N: usize>(sizes: [SizeClass; N]) -> [Depot<P>; N] {
    let mut depots = [const { Depot::new(0) }; N];
    let mut class = 0;
    while class < N {
        depots[class].full_max = sizes[class].depot;
        class += 1;
    }
    depots
}

/// The full parcels of one class.
#[repr(align(64))]
pub struct Depot<P = FullMagazine> {
    full_max: u32,
    /// Full parcels held, for a look without the lock.
    full_count: AtomicU32,
    stacks: Mutex<Stacks>,
    parcel: PhantomData<fn() -> P>,
}

struct Stacks {
    full: Stack,
    empty: Stack,
    /// Full parcels that were handed out, and taken in.
    taken: u64,
    given: u64,
    /// The sum of the two when somebody last looked whether the depot is idle.
    seen: u64,
}

/// What a giver gets for a full parcel.
pub(crate) enum Given {
    /// The depot took it. An empty magazine in exchange, if it had one.
    Taken(Option<NonNull<u8>>),
    /// The depot is at its bound.
    Refused,
}

impl<P: Parcel> Depot<P> {
    /// An empty depot for at most `full_max` full parcels.
    const fn new(full_max: u32) -> Self {
        let stacks =
            Stacks { full: Stack::EMPTY, empty: Stack::EMPTY, taken: 0, given: 0, seen: 0 };
        let (full_count, stacks) = (AtomicU32::new(0), Mutex::new(stacks));
        Depot { full_max, full_count, stacks, parcel: PhantomData }
    }

    /// Takes a full parcel, and gives an empty magazine for it.
    ///
    /// # Safety
    ///
    /// Unless it is refused, no one uses `parcel` after this call. It is full, of the depot's kind
    /// and class.
    pub(crate) unsafe fn give(&self, parcel: NonNull<u8>) -> Given {
        let mut stacks = self.stacks.lock();
        let count = self.full_count.load(Ordering::Relaxed);
        if count >= self.full_max {
            return Given::Refused;
        }
        // SAFETY: the parcel is ours now.
        unsafe { stacks.full.push(parcel) };
        self.full_count.store(count + 1, Ordering::Relaxed);
        stacks.given += 1;
        Given::Taken(stacks.empty.pop())
    }

    /// Exchanges an empty magazine, or nothing, for a full parcel, if there is one; else the empty
    /// one stays with the caller.
    ///
    /// # Safety
    ///
    /// If there is one, no one uses `empty` after this call.
    pub(crate) unsafe fn take(&self, empty: Option<NonNull<u8>>) -> Option<NonNull<u8>> {
        let mut stacks = self.stacks.lock();
        let full = self.pop_full(&mut stacks)?;
        if let Some(empty) = empty {
            // SAFETY: the empty magazine is ours now.
            unsafe { stacks.empty.push(empty) };
        }
        Some(full)
    }

    /// Whether nothing was given or taken since the last call.
    pub(crate) fn is_idle(&self) -> bool {
        let mut stacks = self.stacks.lock();
        let sum = stacks.taken + stacks.given;
        core::mem::replace(&mut stacks.seen, sum) == sum
    }

    /// Takes a full parcel for nothing.
    pub(crate) fn drain_one(&self) -> Option<NonNull<u8>> {
        self.pop_full(&mut self.stacks.lock())
    }

    fn pop_full(&self, stacks: &mut Stacks) -> Option<NonNull<u8>> {
        let full = stacks.full.pop()?;
        let count = self.full_count.load(Ordering::Relaxed);
        self.full_count.store(count - 1, Ordering::Relaxed);
        stacks.taken += 1;
        Some(full)
    }

    /// Whether a full parcel is likely to be had.
    #[inline]
    pub(crate) fn has_full(&self) -> bool {
        self.full_count.load(Ordering::Relaxed) > 0
    }

    /// Full parcels held, and how many were ever handed out and taken in.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::magazine::Magazine;

    #[test]
    fn magazines_are_exchanged_up_to_the_bound() {
        let depot = Depot::<FullMagazine>::new(2);
        let [a, b, c] = [(); 3].map(|()| Magazine::new(4).unwrap().cast());
        // SAFETY: the magazines are ours, and each is given away once at a time.
        let give = |magazine| unsafe { depot.give(magazine) };
        // SAFETY: as above.
        let take = |empty| unsafe { depot.take(Some(empty)) };
        assert!(take(c).is_none());
        assert!(matches!(give(a), Given::Taken(None)));
        assert!(matches!(give(b), Given::Taken(None)));
        assert!(matches!(give(c), Given::Refused));
        assert_eq!(take(c), Some(b));
        assert!(matches!(give(b), Given::Taken(Some(empty)) if empty == c));
        assert_eq!(depot.census(), (2, [1, 3]));
    }
}
