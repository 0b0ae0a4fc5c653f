//! Chains that wait behind a list, or behind a magazine's array.

use core::cell::Cell;
use core::ptr::NonNull;

use super::{AtMost, Bound};
use crate::parcel::Stack;

/// As many full chains as the bound allows.
pub struct Chains<B = AtMost<1>> {
    full: Cell<Stack>,
    held: Cell<u8>,
    /// Chains that the thread is charged for: the most that ever waited.
    charged: Cell<u8>,
    bound: B,
}

impl<B: Bound> Chains<B> {
    #[expect(clippy::declare_interior_mutable_const, reason = "each use is a start of its own")]
    pub(crate) const NONE: Self = Chains {
        full: Cell::new(Stack::EMPTY),
        held: Cell::new(0),
        charged: Cell::new(0),
        bound: B::NEW,
    };

    pub(crate) fn bound(&self) -> &B {
        &self.bound
    }

    /// Chains that wait.
    pub(crate) fn held(&self) -> u8 {
        self.held.get()
    }

    pub(crate) fn pop(&self) -> Option<NonNull<u8>> {
        let mut full = self.full.take();
        let chain = full.pop();
        self.full.set(full);
        let chain = chain?;
        self.held.set(self.held.get() - 1);
        Some(chain)
    }

    /// Takes a full chain, if there is room for it and `charge`, called when it is one more than
    /// ever before, allows.
    ///
    /// # Safety
    ///
    /// Unless it is refused, the chain belongs to the spares from here on.
    pub(crate) unsafe fn push(&self, chain: NonNull<u8>, charge: impl FnOnce() -> bool) -> bool {
        let held = self.held.get();
        if held >= self.bound.most() {
            return false;
        }
        if held == self.charged.get() {
            if !charge() {
                return false;
            }
            self.charged.set(held + 1);
        }
        let mut full = self.full.take();
        // SAFETY: by this function's contract; blocks stay mapped while they are free.
        unsafe { full.push(chain) };
        self.full.set(full);
        self.held.set(held + 1);
        true
    }

    /// Gives up the charges of chains that are not there; says how many.
    pub(crate) fn discharge(&self) -> u8 {
        let held = self.held.get();
        self.charged.replace(held) - held
    }
}
