//! The quarantine of large blocks: freed ones wait here, the oldest leaves first.

use core::mem;

use super::registry::Entry;

/// Most blocks that wait.
const BLOCKS_MAX: usize = 32;
/// Most bytes of them together.
pub(super) const BYTES_MAX: usize = 64 << 20;

pub(super) struct Quarantine {
    /// The first `len`, oldest first, and the bytes of memory or addresses that each keeps.
    waiting: [Option<(Entry, usize)>; BLOCKS_MAX],
    len: usize,
    /// The sum of those bytes, and of what the account is charged.
    bytes: usize,
    charged: usize,
    /// Something came since somebody last asked.
    was_used: bool,
}

impl Quarantine {
    pub(super) const fn new() -> Self {
        Quarantine { waiting: [None; BLOCKS_MAX], len: 0, bytes: 0, charged: 0, was_used: false }
    }

    /// Lets a block of so many bytes, at most [`BYTES_MAX`], wait and returns nothing, or returns
    /// the oldest that is in its way.
    pub(super) fn evict_for(&mut self, entry: Entry, bytes: usize) -> Option<Entry> {
        if self.len == BLOCKS_MAX || self.bytes + bytes > BYTES_MAX {
            return self.pop_oldest();
        }
        self.waiting[self.len] = Some((entry, bytes));
        self.len += 1;
        self.bytes += bytes;
        self.charged += entry.charged;
        self.was_used = true;
        None
    }

    pub(super) fn pop_oldest(&mut self) -> Option<Entry> {
        let (entry, bytes) = self.waiting[0].take()?;
        self.waiting[..self.len].rotate_left(1);
        self.len -= 1;
        self.bytes -= bytes;
        self.charged -= entry.charged;
        Some(entry)
    }

    /// Bytes that the account is charged for what waits.
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    /// Whether nothing came since the last call.
    pub(super) fn is_idle(&mut self) -> bool {
        !mem::replace(&mut self.was_used, false)
    }
}

#[cfg(test)]
mod tests {
    use core::ptr::NonNull;

    use super::*;
    use crate::misuse::Request;

    fn entry(charged: usize) -> Entry {
        Entry::new(NonNull::dangling(), Request { bytes: charged, align: 1 }, charged)
    }

    #[test]
    fn the_oldest_leave_first_by_number_and_by_bytes() {
        let mut quarantine = Quarantine::new();
        for number in 0..BLOCKS_MAX {
            assert!(quarantine.evict_for(entry(number), 1).is_none());
        }
        assert_eq!(quarantine.evict_for(entry(99), 1).unwrap().charged, 0);
        assert!(quarantine.evict_for(entry(99), 1).is_none());
        let left = core::iter::from_fn(|| quarantine.evict_for(entry(100), BYTES_MAX));
        assert_eq!(left.last().unwrap().charged, 99);
        assert_eq!((quarantine.len, quarantine.bytes), (1, BYTES_MAX));
        assert_eq!(quarantine.charged(), 100);
        assert_eq!([quarantine.is_idle(), quarantine.is_idle()], [false, true]);
        assert_eq!(quarantine.pop_oldest().unwrap().charged, 100);
        assert!(quarantine.pop_oldest().is_none());
        assert_eq!((quarantine.bytes, quarantine.charged()), (0, 0));
    }
}
