//! Canaries: a word behind a block's last byte that only the runtime knows, looked at when the
//! block is freed.
//!
//! The word depends on a secret of the process, the block's address and the requested size. Its
//! first byte is never 0, so that a string's end written one byte too far is always seen; any other
//! single byte is missed when it happens to be the right one. It is no secret from a program that
//! reads past its blocks.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::account::Account;
use crate::checks::CANARY_BYTES;
use crate::fault::Fault;
use crate::os;
use crate::poison::PATTERN;
use crate::random::mix;

const _: () = assert!(CANARY_BYTES == size_of::<u64>(), "a canary is a word");

/// Chosen once, before there is a block with a canary; 0 until then.
static SECRET: AtomicU64 = AtomicU64::new(0);

/// Chooses the secret, if that was not done.
pub(crate) fn choose_secret() {
    // Without the system's help the place of the stack and the time must do.
    let local = 0u8;
    let guess = || mix((&raw const local).addr() as u64 ^ os::now_ms().rotate_left(40));
    let secret = os::random().unwrap_or_else(guess) | 1;
    let relaxed = Ordering::Relaxed;
    let _ = SECRET.compare_exchange(0, secret, relaxed, relaxed);
}

/// The word behind a block.
pub struct Canary;

impl Canary {
    /// Writes the word behind the `size` bytes that were asked for.
    ///
    /// # Safety
    ///
    /// `block` has `size` and eight more bytes, which are the caller's.
    #[inline]
    pub unsafe fn write(block: *mut u8, size: usize) {
        // SAFETY: by this function's contract.
        unsafe { put(block, size, value(block, size)) };
    }

    /// Ends the process if the word was changed, or says that the block is free.
    ///
    /// `bytes` is what a message calls the block: its class's, or the size of a large one. `ZERO`
    /// says that freed blocks are filled with zeros.
    ///
    /// # Safety
    ///
    /// As for [`Canary::write`].
    #[inline]
    pub unsafe fn check<const ZERO: bool>(
        account: &Account,
        block: *mut u8,
        size: usize,
        bytes: usize,
    ) {
        // SAFETY: by this function's contract.
        let found = unsafe { get(block, size) };
        if found != value(block, size) {
            // SAFETY: as above.
            unsafe { changed::<ZERO>(account, block, size, bytes) };
        }
    }

    /// Makes the word one that says that the block is free. A block that is filled needs no other
    /// mark than that.
    ///
    /// # Safety
    ///
    /// As for [`Canary::write`].
    #[inline]
    pub unsafe fn retire(block: *mut u8, size: usize) {
        // SAFETY: by this function's contract.
        unsafe { put(block, size, value(block, size) ^ FREED) };
    }
}

/// The word: odd, so the first byte in memory is not 0.
#[inline]
fn value(block: *mut u8, size: usize) -> u64 {
    /// Odd, with its bits well spread.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let own = block.addr() as u64 ^ (size as u64).rotate_left(47);
    // The product's high bits depend on all others.
    (own ^ SECRET.load(Ordering::Relaxed)).wrapping_mul(FACTOR).swap_bytes() | FIRST_BYTE_ODD
}

/// What makes a block's word the one of a freed block: no simple fault of a program does.
const FREED: u64 = 0x6c62_272e_07bb_0142;

/// The lowest bit of a word's first byte in memory.
const FIRST_BYTE_ODD: u64 = u64::from_ne_bytes([1, 0, 0, 0, 0, 0, 0, 0]);

/// # Safety
///
/// As for [`Canary::write`].
#[inline]
unsafe fn put(block: *mut u8, size: usize, word: u64) {
    // SAFETY: by this function's contract.
    let place = unsafe { block.add(size) };
    // SAFETY: as above.
    unsafe { place.cast::<u64>().write_unaligned(word) };
}

/// # Safety
///
/// As for [`Canary::write`].
#[inline]
unsafe fn get(block: *mut u8, size: usize) -> u64 {
    // SAFETY: by this function's contract.
    let place = unsafe { block.add(size) };
    // SAFETY: as above.
    unsafe { place.cast::<u64>().read_unaligned() }
}

/// # Safety
///
/// As for [`Canary::write`].
#[cold]
#[inline(never)]
unsafe fn changed<const ZERO: bool>(
    account: &Account,
    block: *mut u8,
    size: usize,
    bytes: usize,
) -> ! {
    // SAFETY: by this function's contract.
    let is_free = unsafe { says_free::<ZERO>(block, size) };
    let block = block.addr();
    let (free, overwritten) = (Fault::DoubleFree { block, bytes }, Fault::PastEnd { block, size });
    account.die_of(if is_free { free } else { overwritten })
}

/// Whether a block whose word was changed is a free one: the word says so, or is what freed blocks
/// are filled with. A word that is zero says it only if the whole block is: programs write zeros.
///
/// # Safety
///
/// As for [`Canary::write`].
unsafe fn says_free<const ZERO: bool>(block: *mut u8, size: usize) -> bool {
    // SAFETY: by this function's contract.
    let found = unsafe { get(block, size) };
    let is_zero = || {
        // SAFETY: as above.
        let bytes = unsafe { core::slice::from_raw_parts(block, size) };
        bytes.iter().all(|&byte| byte == 0)
    };
    found == value(block, size) ^ FREED || found == PATTERN || ZERO && found == 0 && is_zero()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 64;

    /// A block with a canary behind `size` bytes.
    fn block_of(size: usize) -> [u8; BYTES] {
        choose_secret();
        [0x55; BYTES].map(|byte| byte ^ u8::try_from(size).unwrap())
    }

    fn is_whole(block: &mut [u8; BYTES], size: usize) -> bool {
        let block = block.as_mut_ptr();
        // SAFETY: the block has room for a word behind `size`.
        unsafe { get(block, size) == value(block, size) }
    }

    fn is_free(block: &mut [u8; BYTES], size: usize) -> bool {
        // SAFETY: as above.
        unsafe { says_free::<true>(block.as_mut_ptr(), size) }
    }

    #[test]
    fn a_change_of_any_byte_behind_the_block_is_seen() {
        for size in 0..=BYTES - CANARY_BYTES {
            let mut block = block_of(size);
            // SAFETY: the block has room for a word behind `size`.
            unsafe { Canary::write(block.as_mut_ptr(), size) };
            block[..size].fill(7);
            assert!(is_whole(&mut block, size));
            for behind in size..size + CANARY_BYTES {
                block[behind] ^= 0x10;
                assert!(!is_whole(&mut block, size) && !is_free(&mut block, size));
                block[behind] ^= 0x10;
            }
            block[size] = 0;
            assert!(!is_whole(&mut block, size), "a string's end, one byte too far");
            // SAFETY: as above.
            unsafe { Canary::write(block.as_mut_ptr(), size) };
            block[size..size + CANARY_BYTES].iter_mut().for_each(|byte| *byte = !*byte);
            assert!(!is_whole(&mut block, size) && !is_free(&mut block, size));
        }
    }

    #[test]
    fn a_freed_block_is_told_from_an_overwritten_one() {
        let (mut block, size) = (block_of(41), 41);
        // SAFETY: the block has room for a word behind `size`.
        unsafe { Canary::write(block.as_mut_ptr(), size) };
        // SAFETY: as above.
        unsafe { Canary::retire(block.as_mut_ptr(), size) };
        assert!(!is_whole(&mut block, size) && is_free(&mut block, size));
        for filling in [0xde, 0] {
            block.fill(filling);
            assert!(!is_whole(&mut block, size) && is_free(&mut block, size));
        }
        block[0] = 1;
        assert!(!is_free(&mut block, size), "zeros behind a block in use");
    }

    #[test]
    fn words_differ_by_address_and_size() {
        choose_secret();
        let block = |place: usize| core::ptr::without_provenance_mut(0x7f00_0000_0000 + 16 * place);
        let mut words: Vec<_> =
            (0..4096).flat_map(|place| [1, 16, 33].map(|size| value(block(place), size))).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 3 * 4096);
    }
}
