//! Which addresses lie in a superslab: one bit for each superslab-sized piece of the address space.
//!
//! The map is memory that is zero and untouched until a superslab is noted in it. It is filled only
//! once some allocator with checks asked for that: the pool of superslabs knows it by a function
//! pointer, so that a program without checks has no map.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::superslab::{self, SUPERSLAB_BYTES, Watcher};

/// Bits of an address: the system gives a program no more unless it asks for them.
const ADDRESS_BITS: u32 = 47;
const WORDS: usize = (1 << ADDRESS_BITS) / SUPERSLAB_BYTES / WORD_BITS;
const WORD_BITS: usize = u64::BITS as usize;

static MAP: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Notes all superslabs there are, and from now on each new one before anything in it is handed
/// out.
pub(crate) fn watch() {
    superslab::watch(Watcher::AddressMap, note);
}

fn note(superslab: NonNull<u8>) {
    let number = superslab.addr().get() / SUPERSLAB_BYTES;
    if let Some(word) = MAP.get(number / WORD_BITS) {
        word.fetch_or(1 << (number % WORD_BITS), Ordering::Relaxed);
    }
}

/// Whether an address, of whatever kind, lies in a superslab that was noted. Who got a block from
/// another thread has seen its superslab noted, by whatever way the block came.
#[inline]
pub(crate) fn contains(address: usize) -> bool {
    let number = address / SUPERSLAB_BYTES;
    let is_set = |word: &AtomicU64| word.load(Ordering::Relaxed) >> (number % WORD_BITS) & 1 != 0;
    MAP.get(number / WORD_BITS).is_some_and(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::superslab::{Superslab, alloc_run, free_run};

    #[test]
    fn superslabs_from_before_and_after_are_noted_and_nothing_else() {
        let account = Account::for_test();
        let before = alloc_run(31, account).unwrap();
        watch();
        let after = alloc_run(31, account).unwrap();
        for run in [before, after] {
            let base = Superslab::of(run.start()).addr().get();
            assert!(contains(base) && contains(base + SUPERSLAB_BYTES - 1));
            // SAFETY: the run was handed out above, and is not used.
            assert!(unsafe { free_run(run.superslab, run.first, 31, account) });
        }
        let local = 0u8;
        let addresses = [0, 1, 1 << ADDRESS_BITS, usize::MAX, (&raw const local).addr()];
        assert!(addresses.iter().all(|&address| !contains(address)));
    }
}
