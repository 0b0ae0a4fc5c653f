//! A slab: blocks of one class and one free bit for each.
//!
//! # Rules
//!
//! 1. A set bit is a free block. Whoever clears it owns the block; whoever owns it may set it.
//! 2. Anyone may give back, without a lock. Taking needs the class lock, so while it is held no
//!    bit is cleared by others.
//! 3. `free_count` lags behind the bits, and may be negative for a moment. Who lifts it from 0 or
//!    less to 1 or more lists the slab; who lifts it to all tries to retire it. Seen under the
//!    class lock it never exceeds the number of set bits, so "all" means there that every block
//!    is free and that no giver is between its steps.
//! 4. After its `fetch_add` a giver looks at the slab again only under the class lock, and checks
//!    all of it anew: it may have been retired and reused. Headers are never unmapped.
//! 5. The summary has a bit for each word that may have free bits. A taker clears it before it
//!    empties the word; a giver that finds the word empty sets it after. So a free bit that was
//!    counted always has its summary bit, or is about to.
//! 6. `owner` is set and cleared under the owner's lock. Who holds a class's lock and sees that
//!    class as owner may rely on it.
//!
//! # Orderings
//!
//! `give_back` releases and `take` acquires: whoever gets a block sees all that was written to it.

use core::ptr::{self, NonNull};

use crate::account::Account;
use crate::size_class::{Depth, SizeClass, WORDS_MAX};
use crate::superslab::{META_BYTES, Run, Superslab, UNIT_BYTES};
use crate::sync::{AtomicI32, AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// What a slab knows its class by: an address.
pub(crate) type Owner = *const ();

/// Which allocator's blocks a slab has, and of which class, in whatever shard: the account's
/// address and the class's number.
pub(crate) type Kind = u64;

/// Set in the kind of a slab that was retired: what had been a slab's kind is no one's.
const RETIRED: Kind = 1 << 63;
/// Bits of a kind that hold the class's number. An address has 47.
const NUMBER_BITS: u32 = 16;

/// The kind of the slabs of an account's class.
#[inline]
pub(crate) fn kind_of(account: &Account, number: usize) -> Kind {
    (ptr::from_ref(account).addr() as Kind) << NUMBER_BITS | number as Kind
}

/// A slab's metadata, in the slot of its first unit.
#[repr(C, align(64))]
pub(crate) struct Slab {
    /// The class it belongs to; null while it is retired.
    owner: AtomicPtr<()>,
    free_count: AtomicI32,
    summary: AtomicU64,
    /// Whose blocks it has. Who holds one of them may rely on it; a slot that holds no slab has
    /// the kind of none.
    kind: AtomicU64,
    list: UnsafeCell<Links>,
    free_bits: [AtomicU64; WORDS_MAX as usize],
}

/// Where the slab stands in its class's list of slabs with room; the class lock protects it.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    pub(crate) next: *mut Slab,
    pub(crate) previous: *mut Slab,
    pub(crate) listed: bool,
    /// Whether its end is guarded.
    pub(crate) guarded: bool,
}

const _: () = assert!(size_of::<Slab>() <= META_BYTES);

/// What a give-back leaves to its giver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Duty {
    /// Nothing.
    None,
    /// To look, under the lock of the slab's class, whether the slab is to be listed, since it has
    /// room again, or retired, since all its blocks are free.
    Settle,
}

/// Blocks were given back that are free already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DoubleFree {
    /// Which ones, in their word.
    pub(crate) bits: u64,
}

/// A block's slab, and its place there.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) slab: NonNull<Slab>,
    pub(crate) index: u32,
    depth: Depth,
}

impl Place {
    pub(crate) fn word(self) -> u32 {
        self.index / 64
    }

    /// The block's bit in its word.
    pub(crate) fn bit(self) -> u64 {
        1 << (self.index % 64)
    }

    /// Whether a block of a class starts there, if one is there at all.
    #[inline]
    pub(crate) fn is_start(self, size: &SizeClass) -> bool {
        size.is_first(self.depth)
    }

    /// Whether it is the place of a block of a class, and not at the end of a slab.
    #[inline]
    pub(crate) fn is_within(self, size: &SizeClass) -> bool {
        self.index < size.blocks
    }
}

/// Finds the place of a block.
///
/// # Safety
///
/// `block` is a block of `size`'s class that the caller owns. If it is but an address in a
/// superslab, the place is one in a metadata slot, which may hold no slab, or one of another class.
#[inline]
pub(crate) unsafe fn place_of(size: &SizeClass, block: NonNull<u8>) -> Place {
    let superslab = Superslab::of(block);
    let unit = Superslab::unit_of(block);
    let first = match size.units {
        1 => unit,
        // SAFETY: the caller holds a block of the run.
        _ => unsafe { Superslab::head(superslab, unit) },
    };
    let start = superslab.addr().get() + first as usize * UNIT_BYTES;
    let offset = block.addr().get().wrapping_sub(start);
    let (index, depth) = size.index_at(offset);
    Place { slab: Superslab::meta(superslab, first).cast(), index, depth }
}

impl Slab {
    /// Makes a slab of a fresh run: all its blocks are free, and it is in no list.
    ///
    /// # Safety
    ///
    /// 1. The run has room for `blocks` of the class, and the caller holds it.
    /// 2. The caller holds the lock of the class `owner`.
    pub(crate) unsafe fn new(run: Run, blocks: u32, owner: Owner, kind: Kind) -> NonNull<Slab> {
        let this: NonNull<Slab> = Superslab::meta(run.superslab, run.first).cast();
        // SAFETY: headers are never unmapped; before the owner is set, late givers of the slot's
        // earlier lives only read `owner` (rules 4 and 6). All-zero bytes are a valid `Slab`.
        let slab = unsafe { this.as_ref() };
        let words = blocks.div_ceil(64);
        for (word, bits) in slab.free_bits[..words as usize].iter().enumerate() {
            let left = blocks - u32::try_from(word).unwrap_or(0) * 64;
            bits.store(u64::MAX >> (64 - left.min(64)), Ordering::Relaxed);
        }
        slab.summary.store(u64::MAX >> (64 - words), Ordering::Relaxed);
        slab.free_count.store(blocks.cast_signed(), Ordering::Relaxed);
        let (next, previous) = (ptr::null_mut(), ptr::null_mut());
        let unlisted = Links { next, previous, listed: false, guarded: false };
        // SAFETY: the class lock is held.
        unsafe { slab.list.get().write(unlisted) };
        slab.kind.store(kind, Ordering::Relaxed);
        slab.owner.store(owner.cast_mut(), Ordering::Release);
        this
    }

    /// Marks blocks of one word free, and says what is left to do. `bits` are `given` blocks; the
    /// slab has `blocks`.
    ///
    /// # Errors
    ///
    /// If one of them is free already; then the slab may be inconsistent.
    ///
    /// # Safety
    ///
    /// 1. The blocks of `bits` in `word` came from this slab and have not been given back since.
    /// 2. No one uses their memory after this call.
    pub(crate) unsafe fn give_back(
        this: NonNull<Slab>,
        word: u32,
        bits: u64,
        given: i32,
        blocks: u32,
    ) -> Result<Duty, DoubleFree> {
        // SAFETY: headers are never unmapped. By (1) the slab holds a live block, so it is ours
        // until the count is raised below.
        let slab = unsafe { this.as_ref() };
        // SAFETY: a slab has at most as many blocks as it has bits.
        let free_bits = unsafe { slab.free_bits.get_unchecked(word as usize) };
        let before = free_bits.fetch_or(bits, Ordering::Release);
        if before & bits != 0 {
            return Err(DoubleFree { bits: before & bits });
        }
        if before == 0 {
            slab.summary.fetch_or(1 << word, Ordering::Release);
        }
        let count = slab.free_count.fetch_add(given, Ordering::AcqRel);
        let has_room_again = count <= 0 && count + given > 0;
        let is_whole = count + given == blocks.cast_signed();
        Ok(if has_room_again || is_whole { Duty::Settle } else { Duty::None })
    }

    /// Takes up to `wanted` blocks, lowest first, and writes them downwards from `end`; says how
    /// many. The caller unlists the slab when it has no more room.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the class whose slab this is.
    /// 2. There are `wanted` writable places below `end`.
    pub(crate) unsafe fn take(
        this: NonNull<Slab>,
        size: &SizeClass,
        wanted: usize,
        end: *mut *mut u8,
    ) -> usize {
        // SAFETY: headers are never unmapped.
        let slab = unsafe { this.as_ref() };
        let start = Self::start(this);
        let mut taken = 0;
        while taken < wanted {
            let summary = slab.summary.load(Ordering::Acquire);
            if summary == 0 {
                break;
            }
            let word = summary.trailing_zeros();
            let mut bits = slab.claim(word, wanted - taken);
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                taken += 1;
                // SAFETY: the block lies within the slab.
                let block = unsafe { start.add(index as usize * size.bytes as usize) };
                // SAFETY: `claim` gives at most as many as are wanted, so by (2).
                let place = unsafe { end.sub(taken) };
                // SAFETY: as above.
                unsafe { place.write(block.as_ptr()) };
            }
        }
        let count = i32::try_from(taken).unwrap_or(0);
        slab.free_count.fetch_sub(count, Ordering::AcqRel);
        taken
    }

    /// Clears up to `wanted` bits of a word, lowest first, and returns them (rule 5).
    fn claim(&self, word: u32, wanted: usize) -> u64 {
        let free_bits = &self.free_bits[word as usize % WORDS_MAX as usize];
        let seen = free_bits.load(Ordering::Acquire);
        if seen.count_ones() as usize > wanted {
            // The word keeps some bits: no one else clears them (rule 2), so it stays in the
            // summary.
            let rest = (0..wanted).fold(seen, |bits, _| bits & (bits - 1));
            free_bits.fetch_and(!(seen & !rest), Ordering::Acquire);
            return seen & !rest;
        }
        self.summary.fetch_and(!(1 << word), Ordering::AcqRel);
        let found = free_bits.swap(0, Ordering::AcqRel);
        if found.count_ones() as usize <= wanted {
            return found;
        }
        // More came in between: put back what is too many.
        let rest = (0..wanted).fold(found, |bits, _| bits & (bits - 1));
        free_bits.fetch_or(rest, Ordering::Release);
        self.summary.fetch_or(1 << word, Ordering::Release);
        found & !rest
    }

    /// The first block.
    pub(crate) fn start(this: NonNull<Slab>) -> NonNull<u8> {
        let superslab = Superslab::of(this.cast());
        Run { superslab, first: Self::unit(this), clean: false }.start()
    }

    /// The slab's first unit.
    pub(crate) fn unit(this: NonNull<Slab>) -> u32 {
        let first_slot = Superslab::meta(Superslab::of(this.cast()), 0).addr().get();
        u32::try_from((this.addr().get() - first_slot) / META_BYTES).unwrap_or(0)
    }

    /// The class that the slab belongs to; null when it is retired.
    pub(crate) fn owner(&self) -> Owner {
        self.owner.load(Ordering::Acquire)
    }

    /// Whether the slab belongs to a class; reliable while that class's lock is held (rule 6).
    pub(crate) fn is_owned_by(&self, owner: Owner) -> bool {
        ptr::eq(self.owner(), owner)
    }

    /// Lets go of the slab, under the owner's lock.
    pub(crate) fn disown(&self) {
        self.owner.store(ptr::null_mut(), Ordering::Release);
        self.kind.fetch_or(RETIRED, Ordering::Relaxed);
    }

    /// Whose blocks the slab has.
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.kind.load(Ordering::Relaxed)
    }

    /// Whether the slot's last slab was of a kind, and was retired.
    pub(crate) fn was_of(&self, kind: Kind) -> bool {
        self.kind() == kind | RETIRED
    }

    /// Whether the block at a place is free here; not so while it is cached.
    ///
    /// # Safety
    ///
    /// The place is the start of a block of this slab's class.
    #[inline]
    pub(crate) unsafe fn is_free(&self, place: Place) -> bool {
        // SAFETY: a slab has at most as many blocks as it has bits.
        let free_bits = unsafe { self.free_bits.get_unchecked(place.word() as usize) };
        free_bits.load(Ordering::Relaxed) & place.bit() != 0
    }

    /// Free blocks that were counted; see rule 3.
    pub(crate) fn free_count(&self) -> i32 {
        self.free_count.load(Ordering::Acquire)
    }

    /// The slab's place in its class's list.
    ///
    /// # Safety
    ///
    /// The caller holds the owner's lock, and no other reference from this function.
    pub(crate) unsafe fn links<'a>(this: NonNull<Slab>) -> &'a mut Links {
        // SAFETY: headers are never unmapped.
        let slab = unsafe { this.as_ref() };
        // SAFETY: by this function's contract it is the only reference.
        unsafe { &mut *slab.list.get() }
    }
}
