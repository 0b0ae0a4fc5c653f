//! A slab: blocks of one class and one free bit for each.
//!
//! # Rules
//!
//! 1. A set bit is a free block. Whoever clears it owns the block; whoever owns it may set it.
//! 2. Anyone may give back, without a lock. Taking needs the class lock, so while it is held no
//!    bit is cleared by others.
//! 3. `filled` has a bit for each word with free bits: a taker clears it before it empties the
//!    word; a giver that finds the word empty sets it after. Who sets the first one lists the slab.
//!    So a slab with a free bit is listed, or has a giver who is about to set that bit or to list
//!    it.
//! 4. `whole` has a bit for each word all of whose blocks are free: a taker clears it before it
//!    takes from the word; a giver that completes the word sets it after. Who sets the last one
//!    tries to retire the slab.
//! 5. Both are hints: a word that is said to be filled may be empty, and one that is said to be
//!    whole may have lost a block, since a giver is late. The words are asked, under the class
//!    lock.
//! 6. After its bit is set a giver holds no block, so the slab may be retired, and the slot reused
//!    for a slab of whatever class, before the giver's next step. Of such a slab it sets a bit of
//!    the hints, no more, and does under the lock of that slab's class what its bit asks for.
//!    Headers are never unmapped.
//! 7. `owner` is set and cleared under the owner's lock. Who holds a class's lock and sees that
//!    class as owner may rely on it.
//!
//! # Orderings
//!
//! `give_back` releases and `take` acquires: whoever gets a block sees all that was written to it.
//! Both do both, so that the order of two threads at a word is also that of what they do to the
//! hints before and after.

use core::ptr::{self, NonNull};

use crate::account::Account;
use crate::size_class::{Depth, SizeClass, WORDS_MAX};
use crate::superslab::{META_BYTES, Run, Superslab, UNIT_BYTES};
use crate::sync::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

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
    filled: AtomicU64,
    whole: AtomicU64,
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

/// One bit for each word of a slab of `blocks`.
#[inline]
fn all_words(blocks: u32) -> u64 {
    u64::MAX >> (u64::BITS - blocks.div_ceil(u64::BITS))
}

/// The bits of all blocks in one word of a slab of `blocks`, which has that word.
#[inline]
fn word_of(blocks: u32, word: u32) -> u64 {
    u64::MAX >> (u64::BITS - (blocks - word * u64::BITS).min(u64::BITS))
}

/// The words of a slab of `blocks` when all of them are free.
fn words_of(blocks: u32) -> impl Iterator<Item = u64> {
    (0..blocks.div_ceil(u64::BITS)).map(move |word| word_of(blocks, word))
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
        // SAFETY: headers are never unmapped; late givers of the slot's earlier lives only read
        // `owner` and set hints (rule 6). All-zero bytes are a valid `Slab`.
        let slab = unsafe { this.as_ref() };
        for (bits, all) in slab.free_bits.iter().zip(words_of(blocks)) {
            bits.store(all, Ordering::Relaxed);
        }
        // Late givers may be at these: swapped, they stand in one order with what those do.
        slab.filled.swap(all_words(blocks), Ordering::AcqRel);
        slab.whole.swap(all_words(blocks), Ordering::AcqRel);
        let (next, previous) = (ptr::null_mut(), ptr::null_mut());
        let unlisted = Links { next, previous, listed: false, guarded: false };
        // SAFETY: the class lock is held.
        unsafe { slab.list.get().write(unlisted) };
        slab.kind.store(kind, Ordering::Relaxed);
        slab.owner.store(owner.cast_mut(), Ordering::Release);
        this
    }

    /// Marks blocks of one word free, and says what is left to do. The slab has `blocks`.
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
        blocks: u32,
    ) -> Result<Duty, DoubleFree> {
        // SAFETY: headers are never unmapped. By (1) the slab holds a live block, so it is ours
        // until the block's bit is set below.
        let slab = unsafe { this.as_ref() };
        // SAFETY: a slab has at most as many blocks as it has bits.
        let free_bits = unsafe { slab.free_bits.get_unchecked(word as usize) };
        // None of them is set, so a sum sets them; a processor adds in one step what it would have
        // to try again and again for a union. After a double free the sum is wrong, and told.
        let before = free_bits.fetch_add(bits, Ordering::AcqRel);
        if before & bits != 0 {
            return Err(DoubleFree { bits: before & bits });
        }
        let mut duty = Duty::None;
        if before == 0 && slab.filled.fetch_or(1 << word, Ordering::AcqRel) == 0 {
            duty = Duty::Settle;
        }
        if before | bits == word_of(blocks, word) {
            let whole = slab.whole.fetch_or(1 << word, Ordering::AcqRel) | 1 << word;
            // A late giver may have set more (rule 6).
            if whole & all_words(blocks) == all_words(blocks) {
                duty = Duty::Settle;
            }
        }
        Ok(duty)
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
            let filled = slab.filled.load(Ordering::Acquire);
            if filled == 0 {
                break;
            }
            let word = filled.trailing_zeros();
            if all_words(size.blocks) & 1 << word == 0 {
                // A late giver of a longer slab set it (rule 6): there is no such word.
                slab.filled.fetch_and(!(1 << word), Ordering::AcqRel);
                continue;
            }
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
        taken
    }

    /// Clears up to `wanted` bits of a word, at least one if it has any, lowest first, and returns
    /// them (rules 3 and 4).
    fn claim(&self, word: u32, wanted: usize) -> u64 {
        let free_bits = &self.free_bits[word as usize % WORDS_MAX as usize];
        let seen = free_bits.load(Ordering::Acquire);
        if self.whole.load(Ordering::Relaxed) & 1 << word != 0 {
            self.whole.fetch_and(!(1 << word), Ordering::AcqRel);
        }
        if seen.count_ones() as usize > wanted {
            // The word keeps some bits: no one else clears them (rule 2), so it stays filled.
            let rest = (0..wanted).fold(seen, |bits, _| bits & (bits - 1));
            free_bits.fetch_and(!(seen & !rest), Ordering::AcqRel);
            return seen & !rest;
        }
        self.filled.fetch_and(!(1 << word), Ordering::AcqRel);
        let found = free_bits.swap(0, Ordering::AcqRel);
        if found.count_ones() as usize <= wanted {
            return found;
        }
        // More came in between: put back what is too many.
        let rest = (0..wanted).fold(found, |bits, _| bits & (bits - 1));
        free_bits.fetch_or(rest, Ordering::AcqRel);
        self.filled.fetch_or(1 << word, Ordering::AcqRel);
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

    /// Whether the slab belongs to a class; reliable while that class's lock is held (rule 7).
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

    /// Whether it has room, as far as its hint knows (rule 5): if not, then a giver will list it
    /// before it has.
    pub(crate) fn may_have_room(&self) -> bool {
        self.filled.load(Ordering::Acquire) != 0
    }

    /// Whether all its `blocks` are free. They stay so while the class lock is held (rule 2).
    pub(crate) fn is_whole(&self, blocks: u32) -> bool {
        let mut words = self.free_bits.iter().zip(words_of(blocks));
        words.all(|(bits, all)| bits.load(Ordering::Acquire) == all)
    }

    /// How many of its `blocks` are free.
    pub(crate) fn free_blocks(&self, blocks: u32) -> usize {
        let words = self.free_bits.iter().zip(words_of(blocks));
        words.map(|(bits, all)| (bits.load(Ordering::Relaxed) & all).count_ones() as usize).sum()
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
