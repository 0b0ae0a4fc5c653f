//! Parcels: what changes hands between a thread and a depot as a whole, however many blocks are in
//! it.

use core::ptr::NonNull;

use crate::chain;
use crate::class::Class;
use crate::magazine::Magazine;
use crate::size_class::SizeClass;

/// What every parcel begins with.
#[repr(C)]
struct Head {
    /// The next one where parcels are stacked; meaningless elsewhere.
    next: Option<NonNull<Head>>,
}

/// A kind of parcel.
pub trait Parcel: 'static {
    /// Blocks of a full one.
    fn blocks(size: &SizeClass) -> usize;

    #[doc(hidden)]
    /// Gives the blocks of a full parcel back to their slabs, and what else it consists of.
    ///
    /// # Safety
    ///
    /// The parcel is full, of this kind and class, and the caller's; it is gone after this call.
    unsafe fn give_back(full: NonNull<u8>, class: &Class);

    #[doc(hidden)]
    /// Returns the memory of an empty magazine; chains have none.
    ///
    /// # Safety
    ///
    /// The magazine is of this class and the caller's; it is gone after this call.
    unsafe fn drop_empty(_empty: NonNull<u8>, _class: &Class) {}
}

/// A full magazine.
pub struct FullMagazine;

/// A chain of as many blocks as the class has slots.
pub struct Chain;

/// A chain of half as many: what fits a magazine that is half empty.
pub struct HalfChain;

impl Parcel for FullMagazine {
    fn blocks(size: &SizeClass) -> usize {
        size.slots as usize
    }

    unsafe fn give_back(full: NonNull<u8>, class: &Class) {
        // SAFETY: by this function's contract.
        unsafe { class.give_back_magazine(full.cast::<Magazine>()) };
    }

    unsafe fn drop_empty(empty: NonNull<u8>, class: &Class) {
        // SAFETY: by this function's contract.
        unsafe { Magazine::drop(empty.cast(), class.size.slots as usize) };
    }
}

impl Parcel for Chain {
    fn blocks(size: &SizeClass) -> usize {
        size.slots as usize
    }

    unsafe fn give_back(full: NonNull<u8>, class: &Class) {
        // SAFETY: by this function's contract.
        unsafe { chain::give_back(Some(full), class) };
    }
}

impl Parcel for HalfChain {
    fn blocks(size: &SizeClass) -> usize {
        (size.slots as usize).div_ceil(2)
    }

    unsafe fn give_back(full: NonNull<u8>, class: &Class) {
        // SAFETY: by this function's contract.
        unsafe { chain::give_back(Some(full), class) };
    }
}

/// A stack of parcels, linked through their heads.
#[derive(Default)]
pub(crate) struct Stack(Option<NonNull<Head>>);

// SAFETY: stacked parcels belong to the stack, not to a thread.
unsafe impl Send for Stack {}

impl Stack {
    pub(crate) const EMPTY: Stack = Stack(None);

    /// # Safety
    ///
    /// The caller owns `parcel`, whose memory stays mapped.
    pub(crate) unsafe fn push(&mut self, parcel: NonNull<u8>) {
        let head = parcel.cast::<Head>();
        // SAFETY: by this function's contract; a parcel's first word is its head.
        unsafe { head.write(Head { next: self.0 }) };
        self.0 = Some(head);
    }

    pub(crate) fn pop(&mut self) -> Option<NonNull<u8>> {
        let head = self.0?;
        // SAFETY: stacked parcels stay mapped, and `push` wrote their heads.
        self.0 = unsafe { head.read() }.next;
        Some(head.cast())
    }
}
