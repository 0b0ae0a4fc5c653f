//! Magazines that wait beside the loaded one: a stack of full ones, and an empty one.

use core::cell::Cell;
use core::ptr::NonNull;

use super::Bound;
use crate::magazine::Magazine;
use crate::parcel::Stack;

/// Spare magazines: full ones, or an empty one, which is there only while it has just been emptied.
pub trait MagazineSpares: 'static {
    /// How many full ones may wait.
    type Bound: Bound;

    /// No spare magazine.
    const NONE: Self;

    #[doc(hidden)]
    fn bound(&self) -> &Self::Bound;

    #[doc(hidden)]
    /// Full magazines that wait.
    fn held(&self) -> u8;

    #[doc(hidden)]
    fn pop_full(&self) -> Option<NonNull<Magazine>>;

    #[doc(hidden)]
    /// Takes a full magazine. There are fewer than the bound, and no empty one.
    fn push_full(&self, magazine: NonNull<Magazine>);

    #[doc(hidden)]
    fn take_empty(&self) -> Option<NonNull<Magazine>>;

    #[doc(hidden)]
    /// Takes an empty magazine, or returns it if there is no place for it.
    fn put_empty(&self, magazine: NonNull<Magazine>) -> Option<NonNull<Magazine>>;
}

/// As many full magazines as the bound allows, and an empty one.
pub struct Magazines<B> {
    full: Cell<Stack>,
    empty: Cell<Option<NonNull<Magazine>>>,
    held: Cell<u8>,
    bound: B,
}

impl<B: Bound> MagazineSpares for Magazines<B> {
    type Bound = B;

    const NONE: Self = Magazines {
        full: Cell::new(Stack::EMPTY),
        empty: Cell::new(None),
        held: Cell::new(0),
        bound: B::NEW,
    };

    fn bound(&self) -> &B {
        &self.bound
    }

    fn held(&self) -> u8 {
        self.held.get()
    }

    fn pop_full(&self) -> Option<NonNull<Magazine>> {
        let mut full = self.full.take();
        let magazine = full.pop();
        self.full.set(full);
        let magazine = magazine?;
        self.held.set(self.held.get() - 1);
        Some(magazine.cast())
    }

    fn push_full(&self, magazine: NonNull<Magazine>) {
        let mut full = self.full.take();
        // SAFETY: spare magazines are the bin's, and magazines stay mapped.
        unsafe { full.push(magazine.cast()) };
        self.full.set(full);
        self.held.set(self.held.get() + 1);
    }

    fn take_empty(&self) -> Option<NonNull<Magazine>> {
        self.empty.take()
    }

    fn put_empty(&self, magazine: NonNull<Magazine>) -> Option<NonNull<Magazine>> {
        if self.empty.get().is_some() {
            return Some(magazine);
        }
        self.empty.set(Some(magazine));
        None
    }
}
