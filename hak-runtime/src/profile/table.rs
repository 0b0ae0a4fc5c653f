//! The blocks that were sampled and not freed yet: a hash table of fixed size, by address.
//!
//! Collisions go to the next slots; a removal moves what comes after it up, so no slot is lost to
//! a mark of removal.

#[cfg(all(test, not(loom)))]
mod tests;

/// Slots of the table, and how many of them are used at most.
const SLOTS: usize = 4096;
const USED_MAX: usize = SLOTS / 4 * 3;

const HASH_BITS: u32 = 14;
/// Different hashes of addresses.
pub(super) const HASHES: usize = 1 << HASH_BITS;

/// A hash of an address: the high bits of its low half, multiplied by the golden ratio.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half spreads well enough")]
pub(super) fn hash(address: usize) -> usize {
    ((address as u32).wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)) as usize
}

/// One sampled block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Where it is; 0 in a slot that is not used.
    pub(super) address: usize,
    /// When it was allocated, in ticks.
    pub(super) begun: u64,
    /// Its class, in the heap's order; as many as there are classes for one above all of them.
    pub(super) class: u32,
    /// The number of the thread that allocated it.
    pub(super) thread: u32,
}

impl Sample {
    const NONE: Sample = Sample { address: 0, begun: 0, class: 0, thread: 0 };
}

/// The table. It starts as all zeros.
pub(super) struct Table {
    slots: [Sample; SLOTS],
    used: usize,
}

impl Table {
    #[expect(clippy::large_stack_arrays, reason = "it is made in a static")]
    pub(super) const fn new() -> Self {
        Table { slots: [Sample::NONE; SLOTS], used: 0 }
    }

    fn home(address: usize) -> usize {
        hash(address) / (HASHES / SLOTS)
    }

    /// The slot of an address, or the one where it would stand.
    fn find(&self, address: usize) -> usize {
        let mut slot = Self::home(address);
        while self.slots[slot].address != address && self.slots[slot].address != 0 {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    /// Enters a sample; false when there is no room. Its address is in no slot.
    pub(super) fn insert(&mut self, sample: Sample) -> bool {
        if self.used == USED_MAX {
            return false;
        }
        let slot = self.find(sample.address);
        self.slots[slot] = sample;
        self.used += 1;
        true
    }

    /// Takes the sample of an address out.
    pub(super) fn remove(&mut self, address: usize) -> Option<Sample> {
        let mut hole = self.find(address);
        let found = self.slots[hole];
        if found.address == 0 {
            return None;
        }
        self.used -= 1;
        let mut next = hole;
        loop {
            next = (next + 1) % SLOTS;
            let sample = self.slots[next];
            if sample.address == 0 {
                break;
            }
            // It may move up to the hole unless its home lies behind that.
            let from_home = next.wrapping_sub(Self::home(sample.address)) % SLOTS;
            if from_home >= next.wrapping_sub(hole) % SLOTS {
                self.slots[hole] = sample;
                hole = next;
            }
        }
        self.slots[hole] = Sample::NONE;
        Some(found)
    }

    /// All samples.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.slots.iter().filter(|sample| sample.address != 0)
    }
}
