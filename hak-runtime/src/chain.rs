//! Chains: free blocks linked through their own memory.
//!
//! A block's first word links a whole chain to the next one where chains are stacked (see
//! `parcel`); its second word links the block to the next of its chain.

use core::ptr::NonNull;

use crate::class::Class;

/// Blocks that are linked or given back at a time.
const BATCH: usize = 64;

/// The block after this one; null at the chain's end.
///
/// # Safety
///
/// `block` is in a chain that the caller owns.
#[inline(always)]
pub(crate) unsafe fn next(block: NonNull<u8>) -> *mut u8 {
    // SAFETY: a block has two words.
    let place = unsafe { block.cast::<*mut u8>().add(1) };
    // SAFETY: the second one was written by `set_next`.
    unsafe { place.read() }
}

/// Links a block to the one after it.
///
/// # Safety
///
/// The caller owns `block`, and no one uses its memory.
#[inline(always)]
pub(crate) unsafe fn set_next(block: NonNull<u8>, next: *mut u8) {
    // SAFETY: a block has at least two words.
    let place = unsafe { block.cast::<*mut u8>().add(1) };
    // SAFETY: it is the caller's, and aligned to words.
    unsafe { place.write(next) };
}

/// Links blocks to a chain that goes on with `rest`, so that the last one comes first.
///
/// # Safety
///
/// The caller owns the blocks, and no one uses their memory.
pub(crate) unsafe fn link(blocks: &[*mut u8], rest: Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    let blocks = blocks.iter().filter_map(|&block| NonNull::new(block));
    blocks.fold(rest, |rest, block| {
        let next = rest.map_or(core::ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: by this function's contract.
        unsafe { set_next(block, next) };
        Some(block)
    })
}

/// Writes the blocks of a chain downwards from `end`, the first one last; says how many.
///
/// # Safety
///
/// 1. The caller owns the chain, which is none afterwards.
/// 2. There are as many writable places below `end` as the chain has blocks.
pub(crate) unsafe fn unlink(chain: NonNull<u8>, end: *mut *mut u8) -> usize {
    let (mut rest, mut count) = (Some(chain), 0);
    while let Some(block) = rest {
        count += 1;
        // SAFETY: by (2).
        let place = unsafe { end.sub(count) };
        // SAFETY: as above.
        unsafe { place.write(block.as_ptr()) };
        // SAFETY: by (1).
        rest = NonNull::new(unsafe { next(block) });
    }
    count
}

/// Takes up to `wanted` blocks from slabs, as a chain; says how many there are.
pub(crate) fn take(class: &Class, wanted: usize) -> (Option<NonNull<u8>>, usize) {
    let (mut chain, mut count) = (None, 0);
    while count < wanted {
        let mut batch = [core::ptr::null_mut(); BATCH];
        let asked = (wanted - count).min(BATCH);
        // SAFETY: the batch has that many places.
        let taken = unsafe { class.take(asked, batch.as_mut_ptr()) };
        // SAFETY: the blocks were just taken.
        chain = unsafe { link(&batch[..taken], chain) };
        count += taken;
        if taken < asked {
            break;
        }
    }
    (chain, count)
}

/// Gives all blocks of a chain back to their slabs.
///
/// # Safety
///
/// The blocks are of this class and the caller's; no one uses them after this call.
pub(crate) unsafe fn give_back(mut chain: Option<NonNull<u8>>, class: &Class) {
    while chain.is_some() {
        let mut batch = [core::ptr::null_mut(); BATCH];
        let mut count = 0;
        while let (Some(block), true) = (chain, count < BATCH) {
            batch[count] = block.as_ptr();
            count += 1;
            // SAFETY: by this function's contract.
            chain = NonNull::new(unsafe { next(block) });
        }
        // SAFETY: by this function's contract; the links were read before.
        unsafe { class.give_back(&batch[..count]) };
    }
}
