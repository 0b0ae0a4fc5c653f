//! Lists with spare chains behind them: a full list becomes a chain as it is, and a chain a list.

use core::ptr::{self, NonNull};

use super::{Front, Slow};
use crate::chain;
use crate::depot::{Depots, Given};
use crate::large::Larges;
use crate::list::List;
use crate::parcel::{Chain, Parcel};
use crate::spares::{Bound, Chains};

impl<B: Bound> Front for List<Chains<B>> {
    type Spares = Chains<B>;
    type Parcel = Chain;

    const NEW: Self = List::new();
    const NO_SPARES: Chains<B> = Chains::NONE;

    fn alloc<D: Depots<Parcel = Chain>, L: Larges>(slow: &Slow<'_, Self, D, L>) -> *mut u8 {
        let first_use = slow.front.is_unused();
        if first_use && !slow.equip() {
            return slow.class.take_one();
        }
        slow.fill(first_use);
        if slow.front.is_empty() {
            return ptr::null_mut();
        }
        // SAFETY: it is not empty.
        unsafe { slow.front.pop() }
    }

    unsafe fn dealloc<D: Depots<Parcel = Chain>, L: Larges>(
        slow: &Slow<'_, Self, D, L>,
        block: NonNull<u8>,
    ) {
        let full = slow.front.chain();
        slow.front.load(None, 0);
        if let Some(full) = full {
            // SAFETY: a list without room is a full chain, and the list has forgotten it.
            unsafe { slow.put_aside(full) };
            slow.front.load(None, slow.slots() as usize);
        } else if !slow.equip() {
            // SAFETY: the block is ours.
            return unsafe { slow.class.give_back(&[block.as_ptr()]) };
        }
        slow.front.count_in();
        // SAFETY: it is counted in, and ours.
        unsafe { slow.front.push(block.as_ptr()) };
    }

    fn unload<D: Depots<Parcel = Chain>, L: Larges>(slow: &Slow<'_, Self, D, L>) {
        if slow.front.is_unused() {
            return;
        }
        let chain = slow.front.chain();
        slow.front.load(None, 0);
        // SAFETY: the list has forgotten its blocks.
        unsafe { chain::give_back(chain, slow.class) };
        slow.refund(slow.slots() as usize);
        slow.unload_chains();
    }

    fn release<D: Depots<Parcel = Chain>, L: Larges>(
        slow: &Slow<'_, Self, D, L>,
    ) -> Option<NonNull<u8>> {
        slow.release_chain()
    }

    fn bound(spares: &Chains<B>) -> (&impl Bound, u8) {
        (spares.bound(), spares.held())
    }
}

impl<B: Bound, D: Depots<Parcel = Chain>, L: Larges> Slow<'_, List<Chains<B>>, D, L> {
    /// Gives an unused list its room; false when this thread may not cache.
    #[cold]
    fn equip(&self) -> bool {
        let may = self.may_cache() && self.charge(self.slots() as usize);
        if may {
            self.front.load(None, self.slots() as usize);
        }
        may
    }

    /// Fills an empty list from what waits, a depot, or slabs; it stays empty without memory.
    fn fill(&self, first_use: bool) {
        // SAFETY: nothing is given for it.
        if let Some(full) = self.spares.pop().or_else(|| unsafe { self.take_parcel(None) }) {
            return self.front.load(Some(full), 0);
        }
        let (chain, count) = chain::take(self.class, self.wanted(first_use));
        self.front.load(chain, self.slots() as usize - count);
    }
}

/// What all fronts do with the chains behind them.
impl<F, B: Bound, D: Depots<Parcel = F::Parcel>, L: Larges> Slow<'_, F, D, L>
where
    F: Front<Spares = Chains<B>>,
{
    fn parcel_blocks(&self) -> usize {
        F::Parcel::blocks(&self.class.size)
    }

    /// Lets a full chain wait. If it is one too many, the last one that came goes to the depot, or
    /// its blocks to their slabs.
    ///
    /// # Safety
    ///
    /// The chain is full and the caller's, who has forgotten it.
    pub(super) unsafe fn put_aside(&self, full: NonNull<u8>) {
        let charge = || self.charge(self.parcel_blocks());
        // SAFETY: by this function's contract.
        if unsafe { self.spares.push(full, charge) } {
            return;
        }
        let out = self.spares.pop().unwrap_or(full);
        // SAFETY: the spares have forgotten it, or else it is the caller's.
        if let Given::Refused = unsafe { self.give_parcel(out) } {
            // SAFETY: as above, and the depot does not want it.
            unsafe { F::Parcel::give_back(out, self.class) };
        }
        // SAFETY: if another one left there is room for this one, which is charged for already.
        if out != full && !unsafe { self.spares.push(full, || true) } {
            // SAFETY: by this function's contract.
            unsafe { F::Parcel::give_back(full, self.class) };
        }
    }

    /// See [`Front::release`].
    pub(super) fn release_chain(&self) -> Option<NonNull<u8>> {
        let chain = self.spares.pop();
        self.refund(usize::from(self.spares.discharge()) * self.parcel_blocks());
        chain
    }

    /// Gives back the blocks of all chains that wait.
    pub(super) fn unload_chains(&self) {
        while let Some(full) = self.release_chain() {
            // SAFETY: the spares have forgotten the chain.
            unsafe { F::Parcel::give_back(full, self.class) };
        }
    }
}
