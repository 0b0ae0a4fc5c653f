//! Poison: a freed block is filled, so that a later write to it is seen when it is handed out.
//!
//! # Rules
//!
//! 1. A block in a slab, or in any cache, is filled from end to end: with the pattern, or, as it
//!    came from the system, with zeros.
//! 2. A slab's memory that is not known to be zero is filled when the slab is made. Whoever had it
//!    before left it in some state, and the system may have taken some of its OS pages back.

use core::ptr::NonNull;

use crate::account::Account;
use crate::fault::Fault;

/// The pattern's byte: as an address it is in no program's half of the address space, as a length
/// it is absurd.
const BYTE: u8 = 0xde;
/// A word of the pattern.
pub(crate) const PATTERN: u64 = u64::from_ne_bytes([BYTE; 8]);

const WORD_BYTES: usize = size_of::<Word>();

/// A word of a block. Blocks are aligned to words, unless a misuse that no check is for hands in
/// something else.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Word(u64);

/// How freed blocks are filled: with zeros, or with the pattern.
pub struct Poison<const ZERO: bool>;

impl<const ZERO: bool> Poison<ZERO> {
    /// Fills a block that is freed.
    ///
    /// # Safety
    ///
    /// `block` has `bytes`, and no one else uses them.
    #[inline]
    pub unsafe fn fill(block: *mut u8, bytes: usize) {
        // SAFETY: by this function's contract.
        unsafe { block.write_bytes(if ZERO { 0 } else { BYTE }, bytes) };
    }

    /// Ends the process if a block that is about to be handed out was written to since it was
    /// filled.
    ///
    /// # Safety
    ///
    /// `block` has `bytes`, all initialised, and no one else uses them. They are whole words.
    #[inline]
    pub unsafe fn verify(account: &Account, block: *mut u8, bytes: usize) {
        // SAFETY: by this function's contract.
        let words = unsafe { words(block, bytes) };
        if !Self::is_filled(words) {
            changed::<ZERO>(account, block, words);
        }
    }

    /// Whether all words are equal, and what they may be (rule 1).
    #[inline]
    fn is_filled(words: &[Word]) -> bool {
        let Some(&Word(first)) = words.first() else { return true };
        let difference = words.iter().fold(0, |sum, word| sum | (word.0 ^ first));
        difference == 0 && (first == 0 || !ZERO && first == PATTERN)
    }

    /// Makes a new slab's blocks filled ones (rule 2).
    pub(crate) fn fill_slab(start: NonNull<u8>, bytes: usize, is_zero: bool) {
        if !is_zero {
            // SAFETY: who makes a slab holds its memory, and has handed out none of it.
            unsafe { Self::fill(start.as_ptr(), bytes) };
        }
    }
}

/// # Safety
///
/// As for [`Poison::verify`].
#[inline]
unsafe fn words<'a>(block: *mut u8, bytes: usize) -> &'a [Word] {
    let first = block.cast_const().cast::<Word>();
    // SAFETY: by this function's contract.
    unsafe { core::slice::from_raw_parts(first, bytes / WORD_BYTES) }
}

#[cold]
#[inline(never)]
fn changed<const ZERO: bool>(account: &Account, block: *mut u8, words: &[Word]) -> ! {
    let bytes = words.len() * WORD_BYTES;
    let offset = first_change::<ZERO>(words);
    account.die_of(Fault::AfterFree { block: block.addr(), bytes, offset })
}

/// The first byte that is not as it was filled. With two fillings to choose from it was the one
/// that more words have.
fn first_change<const ZERO: bool>(words: &[Word]) -> usize {
    let count = |filling| words.iter().filter(|&&Word(word)| word == filling).count();
    let filling = if ZERO || count(0) > count(PATTERN) { 0 } else { PATTERN };
    let changed = words.iter().zip(0..).find(|&(&Word(word), _)| word != filling);
    let Some((&Word(word), index)) = changed else { return 0 };
    let as_bytes = (word ^ filling).to_ne_bytes();
    index * WORD_BYTES + as_bytes.iter().position(|&byte| byte != 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of 64 bytes.
    fn block() -> [u64; 8] {
        [0x5555; 8]
    }

    fn of(block: &[u64; 8]) -> &[Word] {
        // SAFETY: the block has that many bytes, and words need no alignment.
        unsafe { words(block.as_ptr().cast_mut().cast(), size_of_val(block)) }
    }

    fn fill<const ZERO: bool>(block: &mut [u64; 8]) {
        // SAFETY: the block has that many bytes.
        unsafe { Poison::<ZERO>::fill(block.as_mut_ptr().cast(), size_of_val(block)) };
    }

    fn write(block: &mut [u64; 8], offset: usize, byte: u8) {
        let place = block.as_mut_ptr().cast::<u8>().wrapping_add(offset);
        // SAFETY: the offset lies in the block.
        unsafe { place.write(byte) };
    }

    #[test]
    fn a_filled_block_is_filled_and_a_fresh_one_too() {
        let mut block = block();
        assert!(!Poison::<false>::is_filled(of(&block)));
        fill::<false>(&mut block);
        assert!(Poison::<false>::is_filled(of(&block)));
        assert!(!Poison::<true>::is_filled(of(&block)));
        fill::<true>(&mut block);
        assert!(Poison::<false>::is_filled(of(&block)) && Poison::<true>::is_filled(of(&block)));
        Poison::<false>::fill_slab(NonNull::from(&mut block).cast(), 64, true);
        assert_eq!(block, [0; 8], "it is known to be zero");
        Poison::<false>::fill_slab(NonNull::from(&mut block).cast(), 64, false);
        assert_eq!(block, [PATTERN; 8]);
    }

    #[test]
    fn a_change_of_any_byte_is_found_where_it_is() {
        for offset in 0..64 {
            let mut block = block();
            fill::<false>(&mut block);
            write(&mut block, offset, 0);
            assert!(!Poison::<false>::is_filled(of(&block)));
            assert_eq!(first_change::<false>(of(&block)), offset);
            fill::<true>(&mut block);
            write(&mut block, offset, 0xde);
            assert!(
                !Poison::<true>::is_filled(of(&block)) && !Poison::<false>::is_filled(of(&block))
            );
            assert_eq!(first_change::<true>(of(&block)), offset);
            assert_eq!(first_change::<false>(of(&block)), offset, "a fresh block");
        }
    }

    /// A block that was taken back in part by the system is half zero, half pattern.
    #[test]
    fn a_block_of_two_fillings_is_not_filled() {
        let mut block = [PATTERN; 8];
        block[4..].fill(0);
        assert!(!Poison::<false>::is_filled(of(&block)));
    }
}
