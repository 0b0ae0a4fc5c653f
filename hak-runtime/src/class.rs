//! A class of one allocator: its size, and its slabs with room.
//!
//! # Rules
//!
//! 1. Slabs are taken from, listed, unlisted and retired under the class lock.
//! 2. A slab is listed while it has room. A slab may stay listed for a moment with no block to
//!    take: its giver is between two steps. A taker then goes on to the next.
//! 3. The last listed slab is kept when it becomes whole, so that a program which allocates and
//!    frees one block does not make and retire a slab each time.

mod find;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::account::{Account, Prefault};
use crate::fault::Fault;
use crate::magazine::Magazine;
use crate::os;
use crate::size_class::SizeClass;
use crate::slab::{self, DoubleFree, Duty, Place, Slab};
use crate::superslab::{self, Run, Superslab, UNIT_BYTES};
use crate::sync::Mutex;

pub(crate) use find::{Found, find, was_of};

/// The classes of an allocator, of one shard.
#[must_use]
pub const fn classes<const N: usize>(
    account: &'static Account,
    sizes: [SizeClass; N],
) -> [Class; N] {
    let mut classes = [const { MaybeUninit::uninit() }; N];
    let mut class = 0;
    while class < N {
        let numbered = Class { number: class, ..Class::new(account, sizes[class]) };
        classes[class] = MaybeUninit::new(numbered);
        class += 1;
    }
    // SAFETY: all of them were written, and an array of `MaybeUninit` is one of what is in it.
    unsafe { ptr::from_ref(&classes).cast::<[Class; N]>().read() }
}

/// The process-wide part of a class.
#[repr(align(64))]
pub struct Class {
    pub(crate) size: SizeClass,
    pub(crate) account: &'static Account,
    /// Which class of the account it is.
    pub(crate) number: usize,
    slabs: Mutex<Slabs>,
}

/// What the class lock protects.
struct Slabs {
    /// First slab with room.
    first: *mut Slab,
    /// How many slabs there are.
    count: usize,
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
        let slabs = Slabs { first: ptr::null_mut(), count: 0, supplied: 0, refills: 0, settled: 0 };
        Class { size, account, number: 0, slabs: Mutex::new(slabs) }
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
        let (taken, ahead) = unsafe { slabs.take(self, wanted, places) };
        slabs.supplied += taken as u64;
        slabs.refills += 1;
        drop(slabs);
        if let Some(run) = ahead {
            // SAFETY: superslabs are never unmapped, and what is in the run stays.
            unsafe { os::populate(run.start(), self.slab_bytes().0) };
        }
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

    /// The kind of this class's slabs, in whatever shard.
    fn kind(&self) -> slab::Kind {
        slab::kind_of(self.account, self.number)
    }

    /// Takes one block; null when the system has no memory.
    pub(crate) fn take_one(&self) -> *mut u8 {
        let mut block = ptr::null_mut();
        // SAFETY: one place for one block.
        unsafe { self.take(1, &raw mut block) };
        block
    }

    /// Gives blocks back to their slabs, whichever thread they came from. Ends the process when it
    /// sees one that is none of this class's, or is free.
    ///
    /// # Safety
    ///
    /// The blocks are of this class, owned by the caller, and no one uses them after this call.
    pub(crate) unsafe fn give_back(&self, blocks: &[*mut u8]) {
        let mut rest = blocks.iter().filter_map(|&block| NonNull::new(block)).map(|block| {
            // SAFETY: by this function's contract.
            (block, unsafe { slab::place_of(&self.size, block) })
        });
        let mut next = rest.next();
        while let Some((block, place)) = next {
            if !self.is_one(place) {
                self.refuse(block);
            }
            let mut bits = place.bit();
            // Neighbours in one word go back with one atomic operation.
            next = rest.find(|&(_, other)| {
                let is_in_word = other.slab == place.slab && other.word() == place.word();
                let is_block = other.is_start(&self.size) && other.is_within(&self.size);
                let joins = is_in_word && is_block && bits & other.bit() == 0;
                if joins {
                    bits |= other.bit();
                }
                !joins
            });
            let (word, blocks) = (place.word(), self.size.blocks);
            // SAFETY: by this function's contract.
            match unsafe { Slab::give_back(place.slab, word, bits, blocks) } {
                Ok(Duty::None) => {}
                Ok(Duty::Settle) => settle(place.slab),
                Err(DoubleFree { bits }) => self.double_free(place, bits),
            }
        }
    }

    /// Whether a place is that of a block of this class, in whatever shard.
    #[inline]
    fn is_one(&self, place: Place) -> bool {
        // SAFETY: headers are never unmapped. If it is in none, this is where the process ends.
        let slab = unsafe { place.slab.as_ref() };
        place.is_start(&self.size)
            && place.is_within(&self.size)
            && (slab.is_owned_by(self.owner()) || slab.kind() == self.kind())
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

    /// Lists or retires a slab, if that is still to be done (slab rules 5 and 6).
    fn settle(&self, slab: NonNull<Slab>) {
        let mut slabs = self.slabs.lock();
        slabs.settled += 1;
        // SAFETY: headers are never unmapped.
        let seen = unsafe { slab.as_ref() };
        if !seen.is_owned_by(self.owner()) {
            return;
        }
        if seen.may_have_room() {
            slabs.list(slab);
        }
        if seen.is_whole(self.size.blocks) && !Slabs::is_only_one(slab) {
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
            if unsafe { slab.as_ref() }.is_whole(self.size.blocks) {
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

    /// Ends the process: blocks of the word of a place are free already.
    #[cold]
    fn double_free(&self, place: Place, bits: u64) -> ! {
        let (index, bytes) = (place.word() * 64 + bits.trailing_zeros(), self.size.bytes as usize);
        let block = Slab::start(place.slab).addr().get() + index as usize * bytes;
        self.account.die_of(Fault::DoubleFree { block, bytes })
    }

    /// Ends the process: a block is not one of this class's that is in use.
    #[cold]
    fn refuse(&self, block: NonNull<u8>) -> ! {
        self.account.die_of(self.fault_of(block))
    }

    /// Bytes of a slab's blocks, and of the slab.
    fn slab_bytes(&self) -> (usize, usize) {
        let SizeClass { bytes, blocks, units, .. } = self.size;
        (blocks as usize * bytes as usize, units as usize * UNIT_BYTES)
    }

    /// Makes a slab's end usable again, if it is guarded; false when the system refuses. Called
    /// under the class lock.
    fn lift_guard(&self, slab: NonNull<Slab>) -> bool {
        // SAFETY: the lock is held.
        let links = unsafe { Slab::links(slab) };
        let Some(guard) = self.account.terms.guard_slab.filter(|_| links.guarded) else {
            return true;
        };
        let (used, length) = self.slab_bytes();
        links.guarded = !(guard.lift)(Slab::start(slab), used, length);
        !links.guarded
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
            let place = offset / size_of::<Class>();
            visit(place, slab.free_blocks(classes[place].size.blocks));
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
    /// As for [`Class::take`], except that blocks stand in the last places. Also gives a run that
    /// is to be made resident, if there is one.
    unsafe fn take(
        &mut self,
        class: &Class,
        wanted: usize,
        places: *mut *mut u8,
    ) -> (usize, Option<Run>) {
        let (mut taken, mut ahead) = (0, None);
        let mut next = NonNull::new(self.first);
        while taken < wanted {
            let Some(slab) = next.or_else(|| self.grow(class, &mut ahead)) else { break };
            // SAFETY: `taken` places from the end are used.
            let end = unsafe { places.add(wanted - taken) };
            // SAFETY: the lock is held, and that many places are left below `end`.
            taken += unsafe { Slab::take(slab, &class.size, wanted - taken, end) };
            // SAFETY: headers are never unmapped.
            let seen = unsafe { slab.as_ref() };
            // SAFETY: the lock is held.
            next = NonNull::new(unsafe { Slab::links(slab) }.next);
            if !seen.may_have_room() {
                self.unlist(slab);
            }
        }
        (taken, ahead)
    }

    /// A new slab, listed; `None` when the system has no memory. `ahead` becomes its run if that is
    /// to be made resident.
    #[cold]
    fn grow(&mut self, class: &Class, ahead: &mut Option<Run>) -> Option<NonNull<Slab>> {
        /// From so many slabs on a class is taken to use the next one, too.
        const MANY: usize = 16;
        let run = superslab::alloc_run(class.size.units, class.account)?;
        // Of longer blocks the program may leave pages untouched.
        let every_page = class.size.bytes as usize <= os::page_bytes();
        let growing = class.account.terms.prefault == Prefault::Growing && self.count >= MANY;
        if run.clean && growing && every_page {
            *ahead = Some(run);
        }
        self.count += 1;
        let (used, length) = class.slab_bytes();
        let terms = &class.account.terms;
        if let Some(fill) = terms.fill_slab {
            fill(run.start(), used, run.clean);
        }
        // SAFETY: the run was just handed out, and the lock is held.
        let slab = unsafe { Slab::new(run, class.size.blocks, class.owner(), class.kind()) };
        if let Some(guard) = terms.guard_slab {
            // SAFETY: the lock is held.
            unsafe { Slab::links(slab) }.guarded = (guard.set)(run.start(), used, length);
        }
        if let Some(note) = terms.note_slab {
            note(run.start(), length, Some(class.number));
        }
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

    /// Returns a whole slab's units, unless the system leaves its end guarded.
    fn retire(&mut self, slab: NonNull<Slab>, class: &Class) {
        if !class.lift_guard(slab) {
            return;
        }
        self.unlist(slab);
        self.count -= 1;
        if let Some(note) = class.account.terms.note_slab {
            note(Slab::start(slab), class.slab_bytes().1, None);
        }
        // SAFETY: headers are never unmapped.
        unsafe { slab.as_ref() }.disown();
        let (superslab, first) = (Superslab::of(slab.cast()), Slab::unit(slab));
        // SAFETY: all blocks are free (slab rule 1), so the run is ours.
        unsafe { superslab::free_run(superslab, first, class.size.units, class.account) };
    }
}
