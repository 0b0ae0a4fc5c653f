//! A class of one allocator: its size, and its slabs with room.
//!
//! # Rules
//!
//! 1. Slabs are taken from, listed, unlisted and retired under the class lock.
//! 2. A slab is listed while it has room. A slab may stay listed for a moment with no block to
//!    take: its giver is between two steps. A taker then goes on to the next.
//! 3. The last listed slab is kept when it becomes whole, so that a program which allocates and
//!    frees one block does not make and retire a slab each time.

#[cfg(all(test, loom))]
mod models;

use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::account::Account;
use crate::magazine::Magazine;
use crate::size_class::SizeClass;
use crate::slab::{self, DoubleFree, Duty, Slab};
use crate::superslab::{self, Superslab};
use crate::sync::Mutex;

/// The classes of an allocator, of one shard.
#[must_use]
pub const fn classes<const N: usize>(
    account: &'static Account,
    sizes: [SizeClass; N],
) -> [Class; N] {
    let mut classes = [const { MaybeUninit::uninit() }; N];
    let mut class = 0;
    while class < N {
        classes[class] = MaybeUninit::new(Class::new(account, sizes[class]));
        class += 1;
    }
    // SAFETY: all of them were written, and an array of `MaybeUninit` is one of what is in it.
    unsafe { ptr::from_ref(&classes).cast::<[Class; N]>().read() }
}

/// The process-wide part of a class.
#[repr(align(64))]
pub struct Class {
    pub(crate) size: SizeClass,
    account: &'static Account,
    slabs: Mutex<Slabs>,
}

/// What the class lock protects.
struct Slabs {
    /// First slab with room.
    first: *mut Slab,
    /// Blocks that left slabs, and how often some did.
    supplied: u64,
    refills: u64,
    /// Give-backs that had to look under the lock.
    settled: u64,
}

// SAFETY: slabs belong to no thread; the list is used only under the lock.
unsafe impl Send for Slabs {}

/// What a class knows about itself.
pub(crate) struct Census {
    pub(crate) supplied: u64,
    pub(crate) refills: u64,
    pub(crate) settled: u64,
}

impl Class {
    /// A class that holds nothing yet.
    const fn new(account: &'static Account, size: SizeClass) -> Self {
        let slabs = Slabs { first: ptr::null_mut(), supplied: 0, refills: 0, settled: 0 };
        Class { size, account, slabs: Mutex::new(slabs) }
    }

    /// Takes up to `wanted` blocks from slabs into the `wanted` places from `places` on, so that
    /// the last place gets the lowest block; says how many there are. Fewer, then in the first
    /// places, only when the system has no memory.
    ///
    /// # Safety
    ///
    /// There are `wanted` writable places from `places` on.
    pub(crate) unsafe fn take(&self, wanted: usize, places: *mut *mut u8) -> usize {
        let mut slabs = self.slabs.lock();
        // SAFETY: by this function's contract.
        let taken = unsafe { slabs.take(self, wanted, places) };
        slabs.supplied += taken as u64;
        slabs.refills += 1;
        drop(slabs);
        if taken < wanted {
            // SAFETY: the blocks stand in the last `taken` of the places.
            let from = unsafe { places.add(wanted - taken) };
            // SAFETY: both ranges lie within the places.
            unsafe { ptr::copy(from, places, taken) };
        }
        taken
    }

    /// What this class's slabs know it by.
    fn owner(&self) -> slab::Owner {
        ptr::from_ref(self).cast()
    }

    /// Takes one block; null when the system has no memory.
    pub(crate) fn take_one(&self) -> *mut u8 {
        let mut block = ptr::null_mut();
        // SAFETY: one place for one block.
        unsafe { self.take(1, &raw mut block) };
        block
    }

    /// Gives blocks back to their slabs, whichever thread they came from.
    ///
    /// # Safety
    ///
    /// The blocks are of this class, owned by the caller, and no one uses them after this call.
    pub(crate) unsafe fn give_back(&self, blocks: &[*mut u8]) {
        let mut rest = blocks.iter().filter_map(|&block| NonNull::new(block)).peekable();
        while let Some(block) = rest.next() {
            // SAFETY: by this function's contract.
            let place = unsafe { slab::place_of(&self.size, block) };
            let mut bits = 1u64 << place.bit;
            // Neighbours in one word go back with one atomic operation.
            while let Some(&next) = rest.peek() {
                // SAFETY: by this function's contract.
                let neighbour = unsafe { slab::place_of(&self.size, next) };
                let bit = 1u64 << neighbour.bit;
                if neighbour.slab != place.slab || neighbour.word != place.word || bits & bit != 0 {
                    break;
                }
                bits |= bit;
                rest.next();
            }
            // SAFETY: by this function's contract.
            match unsafe { Slab::give_back(place.slab, place.word, bits, self.size.blocks) } {
                Ok(Duty::None) => {}
                Ok(Duty::Settle) => settle(place.slab),
                Err(DoubleFree) => self.double_free(block),
            }
        }
    }

    /// Gives back the blocks of a full magazine, and the magazine.
    ///
    /// # Safety
    ///
    /// The magazine is one of this class, full, and the caller's; it is gone after this call.
    pub(crate) unsafe fn give_back_magazine(&self, full: NonNull<Magazine>) {
        let slots = self.size.slots as usize;
        // SAFETY: a full magazine holds a block in each slot.
        let blocks = unsafe { core::slice::from_raw_parts(Magazine::slots(full), slots) };
        // SAFETY: the blocks are the magazine's, which is the caller's.
        unsafe { self.give_back(blocks) };
        // SAFETY: it came from `Magazine::new` with as many slots as the class says.
        unsafe { Magazine::drop(full, slots) };
    }

    /// Lists or retires a slab, if that is still to be done (slab rule 4).
    fn settle(&self, slab: NonNull<Slab>) {
        let mut slabs = self.slabs.lock();
        slabs.settled += 1;
        // SAFETY: headers are never unmapped.
        let seen = unsafe { slab.as_ref() };
        if !seen.is_owned_by(self.owner()) {
            return;
        }
        if seen.free_count() > 0 {
            slabs.list(slab);
        }
        if seen.free_count() == self.size.blocks.cast_signed() && !Slabs::is_only_one(slab) {
            slabs.retire(slab, self);
        }
    }

    /// Returns the units of all slabs that are whole.
    pub(crate) fn trim(&self) {
        let mut slabs = self.slabs.lock();
        let mut next = NonNull::new(slabs.first);
        while let Some(slab) = next {
            // SAFETY: the lock is held.
            next = NonNull::new(unsafe { Slab::links(slab) }.next);
            // SAFETY: headers are never unmapped.
            if unsafe { slab.as_ref() }.free_count() == self.size.blocks.cast_signed() {
                slabs.retire(slab, self);
            }
        }
    }

    /// Takes the lock for a fork.
    pub(crate) fn before_fork(&self) {
        self.slabs.before_fork();
    }

    /// Releases it again.
    ///
    /// # Safety
    ///
    /// Follows [`Class::before_fork`] in the same thread, or its copy in the child.
    pub(crate) unsafe fn after_fork(&self) {
        // SAFETY: by this function's contract.
        unsafe { self.slabs.after_fork() };
    }

    #[cold]
    fn double_free(&self, block: NonNull<u8>) -> ! {
        let bytes = self.size.bytes;
        self.account.die(format_args!("double free of {bytes}-byte block {block:p}"))
    }

    /// What the class counted under its lock.
    pub(crate) fn census(&self) -> Census {
        let slabs = self.slabs.lock();
        let Slabs { supplied, refills, settled, .. } = *slabs;
        Census { supplied, refills, settled }
    }
}

/// Calls `visit` with the place among `classes` and the free blocks of each slab that belongs to
/// one of them. Looks at every slab there is, once, without a lock.
pub(crate) fn each_slab(classes: &[Class], mut visit: impl FnMut(usize, usize)) {
    let metas = superslab::all()
        .flat_map(|superslab| (1..u32::BITS).map(move |unit| Superslab::meta(superslab, unit)));
    for meta in metas {
        // SAFETY: headers are never unmapped, and a slot that never held a slab is zero, which is
        // a slab without an owner.
        let slab = unsafe { meta.cast::<Slab>().as_ref() };
        let offset = slab.owner().addr().wrapping_sub(classes.as_ptr().addr());
        if offset < size_of_val(classes) {
            let free = slab.free_count().max(0).cast_unsigned() as usize;
            visit(offset / size_of::<Class>(), free);
        }
    }
}

/// Does what a give-back left to do, for whichever class the slab belongs to now.
#[cold]
fn settle(slab: NonNull<Slab>) {
    // SAFETY: headers are never unmapped.
    let owner = unsafe { slab.as_ref() }.owner().cast::<Class>();
    // SAFETY: slabs' owners are classes of heaps, which are never dropped.
    if let Some(class) = unsafe { owner.as_ref() } {
        class.settle(slab);
    }
}

impl Slabs {
    /// # Safety
    ///
    /// As for [`Class::take`], except that blocks stand in the last places.
    unsafe fn take(&mut self, class: &Class, wanted: usize, places: *mut *mut u8) -> usize {
        let mut taken = 0;
        let mut next = NonNull::new(self.first);
        while taken < wanted {
            let Some(slab) = next.or_else(|| self.grow(class)) else { break };
            // SAFETY: `taken` places from the end are used.
            let end = unsafe { places.add(wanted - taken) };
            // SAFETY: the lock is held, and that many places are left below `end`.
            taken += unsafe { Slab::take(slab, &class.size, wanted - taken, end) };
            // SAFETY: headers are never unmapped.
            let seen = unsafe { slab.as_ref() };
            // SAFETY: the lock is held.
            next = NonNull::new(unsafe { Slab::links(slab) }.next);
            if seen.free_count() <= 0 {
                self.unlist(slab);
            }
        }
        taken
    }

    /// A new slab, listed; `None` when the system has no memory.
    #[cold]
    fn grow(&mut self, class: &Class) -> Option<NonNull<Slab>> {
        let run = superslab::alloc_run(class.size.units, class.account)?;
        // SAFETY: the run was just handed out, and the lock is held.
        let slab = unsafe { Slab::new(run, class.size.blocks, class.owner()) };
        self.list(slab);
        Some(slab)
    }

    /// Lists a slab, if it is not listed.
    fn list(&mut self, slab: NonNull<Slab>) {
        // SAFETY: the lock is held.
        let links = unsafe { Slab::links(slab) };
        if links.listed {
            return;
        }
        (links.next, links.previous, links.listed) = (self.first, ptr::null_mut(), true);
        if let Some(next) = NonNull::new(self.first) {
            // SAFETY: the lock is held, and listed slabs are owned by this class.
            unsafe { Slab::links(next) }.previous = slab.as_ptr();
        }
        self.first = slab.as_ptr();
    }

    /// Takes a slab out of the list, if it is listed.
    fn unlist(&mut self, slab: NonNull<Slab>) {
        // SAFETY: the lock is held.
        let links = *unsafe { Slab::links(slab) };
        if !links.listed {
            return;
        }
        if let Some(next) = NonNull::new(links.next) {
            // SAFETY: the lock is held, and listed slabs are owned by this class.
            unsafe { Slab::links(next) }.previous = links.previous;
        }
        match NonNull::new(links.previous) {
            // SAFETY: as above.
            Some(previous) => unsafe { Slab::links(previous) }.next = links.next,
            None => self.first = links.next,
        }
        // SAFETY: the lock is held.
        unsafe { Slab::links(slab) }.listed = false;
    }

    /// Whether a slab is the only one with room (rule 3).
    fn is_only_one(slab: NonNull<Slab>) -> bool {
        // SAFETY: the lock is held.
        let links = *unsafe { Slab::links(slab) };
        links.listed && links.next.is_null() && links.previous.is_null()
    }

    /// Returns a whole slab's units.
    fn retire(&mut self, slab: NonNull<Slab>, class: &Class) {
        self.unlist(slab);
        // SAFETY: headers are never unmapped.
        unsafe { slab.as_ref() }.disown();
        let (superslab, first) = (Superslab::of(slab.cast()), Slab::unit(slab));
        // SAFETY: all blocks are free and no giver is under way (slab rule 3), so the run is ours.
        unsafe { superslab::free_run(superslab, first, class.size.units, class.account) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size_class::BLOCKS_MAX;
    use crate::superslab::UNIT_BYTES;

    fn class_of(bytes: u32, units: u32) -> &'static Class {
        let whole = units * u32::try_from(UNIT_BYTES).unwrap();
        let blocks = (whole / bytes).min(BLOCKS_MAX);
        let size = SizeClass::new([bytes, 64, 16, 16, 0], [units, blocks]);
        Box::leak(Box::new(Class::new(Account::for_test(), size)))
    }

    /// Slabs that the class holds, and free blocks in them.
    fn holds(class: &Class) -> (usize, usize) {
        let mut sum = (0, 0);
        each_slab(core::slice::from_ref(class), |_, free| sum = (sum.0 + 1, sum.1 + free));
        sum
    }

    #[test]
    fn blocks_come_in_address_order_from_the_last_place() {
        let class = class_of(48, 1);
        let mut places = [ptr::null_mut(); 100];
        // SAFETY: there are that many places.
        assert_eq!(unsafe { class.take(100, places.as_mut_ptr()) }, 100);
        assert!(places.windows(2).all(|pair| pair[0].addr() == pair[1].addr() + 48));
        // SAFETY: taken above.
        unsafe { class.give_back(&places) };
        assert_eq!(holds(class).1, class.size.blocks as usize);
    }

    #[test]
    fn whole_slabs_are_retired_but_for_one() {
        let class = class_of(4096, 1);
        let mut places = [ptr::null_mut(); 160];
        // SAFETY: there are that many places.
        unsafe { class.take(160, places.as_mut_ptr()) };
        assert_eq!(holds(class).0, 10);
        // SAFETY: taken above.
        unsafe { class.give_back(&places) };
        assert_eq!(holds(class).0, 1);
        class.trim();
        assert_eq!(holds(class).0, 0);
        assert_eq!(class.account.held(), 0);
    }

    #[test]
    fn blocks_of_many_threads_are_disjoint_and_return() {
        let class = class_of(1024, 1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2000 {
                        let mut places = [ptr::null_mut(); 37];
                        let wanted = round % places.len() + 1;
                        // SAFETY: there are that many places.
                        unsafe { class.take(wanted, places.as_mut_ptr()) };
                        for (mark, place) in places[..wanted].iter().enumerate() {
                            let word = place.cast::<u64>();
                            // SAFETY: the block is ours.
                            unsafe { word.write(mark as u64) };
                        }
                        for (mark, place) in places[..wanted].iter().enumerate() {
                            // SAFETY: the block is ours.
                            assert_eq!(unsafe { place.cast::<u64>().read() }, mark as u64);
                        }
                        // SAFETY: taken above.
                        unsafe { class.give_back(&places[..wanted]) };
                    }
                });
            }
        });
        let (slabs, free) = holds(class);
        assert_eq!(free, slabs * class.size.blocks as usize);
    }
}
