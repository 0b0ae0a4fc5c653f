//! Bins with spare magazines behind them: whole magazines change places, at the same cost however
//! many blocks are in them.

use core::ptr::{self, NonNull};

use super::{Front, Slow};
use crate::bin::Bin;
use crate::depot::{Depots, Given};
use crate::large::Larges;
use crate::magazine::Magazine;
use crate::parcel::FullMagazine;
use crate::spares::{Bound, MagazineSpares, Magazines, OneSpare};

macro_rules! bin_with_spares {
    ($spares:ty, $($bound:tt)*) => {
        impl$($bound)* Front for Bin<$spares> {
            type Spares = $spares;
            type Parcel = FullMagazine;

            const NEW: Self = Bin::new();
            const NO_SPARES: $spares = MagazineSpares::NONE;

            fn alloc<D: Depots<Parcel = FullMagazine>, L: Larges>(
                slow: &Slow<'_, Self, D, L>,
            ) -> *mut u8 {
                alloc(slow)
            }

            unsafe fn dealloc<D: Depots<Parcel = FullMagazine>, L: Larges>(
                slow: &Slow<'_, Self, D, L>,
                block: NonNull<u8>,
            ) {
                // SAFETY: by this function's contract.
                unsafe { dealloc(slow, block) };
            }

            fn unload<D: Depots<Parcel = FullMagazine>, L: Larges>(slow: &Slow<'_, Self, D, L>) {
                unload(slow);
            }

            fn release<D: Depots<Parcel = FullMagazine>, L: Larges>(
                slow: &Slow<'_, Self, D, L>,
            ) -> Option<NonNull<u8>> {
                let full = slow.spares.pop_full()?;
                slow.refund_magazine();
                Some(full.cast())
            }

            fn bound(spares: &$spares) -> (&impl Bound, u8) {
                (spares.bound(), spares.held())
            }
        }
    };
}

bin_with_spares!(OneSpare,);
bin_with_spares!(Magazines<B>, <B: Bound>);

fn alloc<S: MagazineSpares, D, L: Larges>(slow: &Slow<'_, Bin<S>, D, L>) -> *mut u8
where
    Bin<S>: Front<Spares = S, Parcel = FullMagazine>,
    D: Depots<Parcel = FullMagazine>,
{
    if let Some(loaded) = slow.front.loaded()
        && let Some(full) = slow.spares.pop_full()
    {
        slow.front.load(full, slow.slots(), slow.slots() as usize);
        if let Some(too_many) = slow.spares.put_empty(loaded) {
            slow.drop_magazine(too_many);
        }
    } else if !slow.open() {
        let first_use = slow.front.loaded().is_none();
        let Some(loaded) = slow.front.loaded().or_else(|| slow.equip()) else {
            return slow.class.take_one();
        };
        slow.fill(loaded, first_use);
        if slow.front.is_empty() {
            return ptr::null_mut();
        }
    }
    // SAFETY: not empty: a full magazine was loaded, something was filled in, or was there before.
    unsafe { slow.front.pop() }
}

/// # Safety
///
/// As for [`Front::dealloc`].
unsafe fn dealloc<S: MagazineSpares, D, L: Larges>(
    slow: &Slow<'_, Bin<S>, D, L>,
    block: NonNull<u8>,
) where
    Bin<S>: Front<Spares = S, Parcel = FullMagazine>,
    D: Depots<Parcel = FullMagazine>,
{
    // SAFETY: the block is ours.
    if unsafe { slow.keep_apart(block) } {
        return;
    }
    if slow.make_room() {
        // SAFETY: there is room now, and the block is ours.
        unsafe { slow.front.push(block.as_ptr()) };
    } else {
        // SAFETY: the block is ours.
        unsafe { slow.class.give_back(&[block.as_ptr()]) };
    }
}

fn unload<S: MagazineSpares, D, L: Larges>(slow: &Slow<'_, Bin<S>, D, L>)
where
    Bin<S>: Front<Spares = S, Parcel = FullMagazine>,
    D: Depots<Parcel = FullMagazine>,
{
    slow.unload_array();
    if let Some(empty) = slow.spares.take_empty() {
        slow.drop_magazine(empty);
    }
    while let Some(full) = slow.spares.pop_full() {
        // SAFETY: the bin has forgotten the magazine, which is full.
        unsafe { slow.class.give_back_magazine(full) };
        slow.refund_magazine();
    }
}

impl<S: MagazineSpares, D, L: Larges> Slow<'_, Bin<S>, D, L>
where
    Bin<S>: Front<Spares = S, Parcel = FullMagazine>,
    D: Depots<Parcel = FullMagazine>,
{
    /// Fills an empty bin from a depot, or from slabs; it stays empty without memory.
    fn fill(&self, loaded: NonNull<Magazine>, first_use: bool) {
        // SAFETY: if a full magazine comes, it is loaded in place of the empty one.
        if let Some(full) = unsafe { self.take_parcel(Some(loaded.cast())) } {
            return self.front.load(full.cast(), self.slots(), self.slots() as usize);
        }
        self.fill_from_slabs(loaded, first_use);
    }

    /// Makes a full bin one that has room; false when this thread may not cache, or there is no
    /// memory for a magazine.
    fn make_room(&self) -> bool {
        let Some(loaded) = self.front.loaded() else {
            return self.equip().is_some();
        };
        let empty = self.spares.take_empty().or_else(|| self.other_magazine());
        if let Some(empty) = empty {
            self.spares.push_full(loaded);
            self.front.load(empty, self.slots(), 0);
        } else {
            // There is no second magazine to be had: work with one.
            // SAFETY: the loaded magazine is full, and empty afterwards.
            unsafe { self.give_back_full(loaded) };
            self.front.load(loaded, self.slots(), 0);
        }
        true
    }

    /// An empty magazine: one more, or one in exchange for a full spare.
    fn other_magazine(&self) -> Option<NonNull<Magazine>> {
        if self.spares.held() < self.spares.bound().most()
            && let Some(more) = self.new_magazine()
        {
            return Some(more);
        }
        self.exchange(self.spares.pop_full()?)
    }

    /// An empty magazine for a full spare: from the depot, or the same with its blocks given back.
    fn exchange(&self, full: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        // SAFETY: the spares have forgotten the magazine, and it is not used if it is taken.
        if let Given::Taken(empty) = unsafe { self.give_parcel(full.cast()) } {
            if empty.is_none() {
                self.refund_magazine();
            }
            return empty.map(NonNull::cast).or_else(|| self.new_magazine());
        }
        // SAFETY: the magazine is full, and the bin's.
        unsafe { self.give_back_full(full) };
        Some(full)
    }

    /// Gives the blocks of a full magazine back; it is empty then.
    ///
    /// # Safety
    ///
    /// The magazine is full and the caller's.
    unsafe fn give_back_full(&self, full: NonNull<Magazine>) {
        let slots = Magazine::slots(full);
        // SAFETY: a full magazine holds a block in each slot.
        let blocks = unsafe { core::slice::from_raw_parts(slots, self.slots() as usize) };
        // SAFETY: the blocks are the magazine's, which is ours.
        unsafe { self.class.give_back(blocks) };
    }
}

/// What all bins do with their own magazine, whatever stands behind them.
impl<S, D: Depots, L: Larges> Slow<'_, Bin<S>, D, L>
where
    Bin<S>: Front<Parcel = D::Parcel>,
{
    /// Fills an empty bin's magazine from slabs.
    pub(super) fn fill_from_slabs(&self, loaded: NonNull<Magazine>, first_use: bool) {
        let (wanted, slots) = (self.wanted(first_use), Magazine::slots(loaded));
        // SAFETY: a magazine has room for a refill or a prewarm (checked by `SizeClass::new`).
        let count = unsafe { self.class.take(wanted, slots) };
        self.front.load(loaded, self.slots(), count);
    }

    /// Loads an empty magazine into a bin that has none; `None` when this thread may not cache,
    /// or there is no memory for one.
    #[cold]
    pub(super) fn equip(&self) -> Option<NonNull<Magazine>> {
        if !self.may_cache() {
            return None;
        }
        let magazine = self.new_magazine()?;
        self.front.load(magazine, self.slots(), 0);
        Some(magazine)
    }

    /// An empty magazine, charged to the allocator; `None` at the limit of what threads may cache,
    /// or without memory.
    fn new_magazine(&self) -> Option<NonNull<Magazine>> {
        if !self.charge(self.slots() as usize) {
            return None;
        }
        let magazine = Magazine::new(self.slots() as usize);
        if magazine.is_none() {
            self.refund_magazine();
        }
        magazine
    }

    /// The thread has a magazine less.
    fn refund_magazine(&self) {
        self.refund(self.slots() as usize);
    }

    /// Returns an empty magazine's memory, for which the thread is charged.
    fn drop_magazine(&self, empty: NonNull<Magazine>) {
        // SAFETY: callers have forgotten the magazine, which came from `new_magazine`.
        unsafe { Magazine::drop(empty, self.slots() as usize) };
        self.refund_magazine();
    }

    /// Gives the blocks of the loaded magazine back, and returns the magazine.
    pub(super) fn unload_array(&self) {
        let Some(loaded) = self.front.loaded() else { return };
        // SAFETY: the bin has a magazine, and is not used before the next line is done.
        let blocks = unsafe { self.front.blocks() };
        // SAFETY: the blocks are the bin's, which forgets them below.
        unsafe { self.class.give_back(blocks) };
        self.front.forget();
        self.drop_magazine(loaded);
    }
}
