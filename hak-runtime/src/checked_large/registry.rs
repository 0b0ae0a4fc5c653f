//! The record of large blocks: those in use, and those freed last.
//!
//! A hash table keyed by the blocks' starts, with linear probing, at most half full, in mappings
//! of its own. It grows when a place is reserved; what has a reserved place enters without fail.

#[cfg(all(test, not(loom)))]
mod tests;

use core::mem;
use core::ptr::{self, NonNull};

use crate::misuse::{Block, Found, Request};
use crate::os;

/// Freed blocks that are remembered.
const FREED_MAX: usize = 1024;
/// Places of the first table.
const PLACES_MIN: usize = 64;

/// A large block. All-zero bytes are a place without one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Null in a place without a block.
    start: *mut u8,
    pub(super) request: Request,
    /// Bytes that the account is charged for it.
    pub(super) charged: usize,
    state: State,
}

// SAFETY: a start is a key here, and read by no one through the table.
unsafe impl Send for Entry {}

/// Whether a block is in use, or which of the freed ones it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State(usize);

impl State {
    const LIVE: State = State(0);
    /// Freed, but the system refused to take its mapping, which is kept until it does.
    const REFUSED: State = State(usize::MAX);

    /// The block that is freed as number `number`.
    const fn freed(number: usize) -> State {
        State(number + 1)
    }
}

impl Entry {
    const NONE: Entry = Entry {
        start: ptr::null_mut(),
        request: Request { bytes: 0, align: 0 },
        charged: 0,
        state: State::LIVE,
    };

    pub(super) fn new(start: NonNull<u8>, request: Request, charged: usize) -> Self {
        Entry { start: start.as_ptr(), request, charged, state: State::LIVE }
    }

    pub(super) fn start(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.start)
    }
}

pub(super) struct Registry {
    /// A power of two of places, or none.
    places: &'static mut [Entry],
    /// Blocks in the table, and those that are to enter it.
    len: usize,
    reserved: usize,
    /// Starts of the blocks freed last, each at its number modulo the length.
    freed: [*mut u8; FREED_MAX],
    freed_count: usize,
    refused_count: usize,
}

// SAFETY: as for `Entry`.
unsafe impl Send for Registry {}

impl Registry {
    pub(super) const fn new() -> Self {
        Registry {
            places: &mut [],
            len: 0,
            reserved: 0,
            freed: [ptr::null_mut(); FREED_MAX],
            freed_count: 0,
            refused_count: 0,
        }
    }

    /// Reserves a place; false when the system has no memory.
    pub(super) fn reserve(&mut self) -> bool {
        let is_roomy = 2 * (self.len + self.reserved + 1) <= self.places.len() || self.grow();
        self.reserved += usize::from(is_roomy);
        is_roomy
    }

    /// Gives a reserved place up.
    pub(super) fn cancel(&mut self) {
        self.reserved -= 1;
    }

    /// Enters a block that is in use, in place of one that was freed there, if any. Needs a
    /// reserved place.
    pub(super) fn enter(&mut self, entry: Entry) {
        self.reserved -= 1;
        let at = self.probe(entry.start);
        self.len += usize::from(self.places[at].start.is_null());
        self.places[at] = entry;
    }

    /// The block in use that starts at an address.
    pub(super) fn live(&mut self, start: NonNull<u8>) -> Option<&mut Entry> {
        let at = self.position(start.as_ptr())?;
        let entry = &mut self.places[at];
        (entry.state == State::LIVE).then_some(entry)
    }

    /// Marks a block in use freed, and forgets the one freed longest ago.
    pub(super) fn free(&mut self, start: NonNull<u8>) {
        let Some(at) = self.position(start.as_ptr()) else { return };
        let number = self.freed_count;
        self.places[at].state = State::freed(number);
        self.freed_count += 1;
        let oldest = mem::replace(&mut self.freed[number % FREED_MAX], start.as_ptr());
        let Some(before) = number.checked_sub(FREED_MAX) else { return };
        if let Some(at) = self.position(oldest)
            && self.places[at].state == State::freed(before)
        {
            self.remove(at);
        }
    }

    /// Keeps a freed block whose mapping the system refused to take. It is lost if it has been
    /// forgotten meanwhile, and the table cannot grow.
    pub(super) fn refuse(&mut self, entry: Entry) {
        if self.position(entry.start).is_some() {
            self.reserved += 1;
        } else if !self.reserve() {
            return;
        }
        self.enter(Entry { state: State::REFUSED, ..entry });
        self.refused_count += 1;
    }

    /// How many mappings the system refused to take.
    pub(super) fn refused_count(&self) -> usize {
        self.refused_count
    }

    /// Takes a refused block out, to offer its mapping again: it is a freed one from now on.
    pub(super) fn take_refused(&mut self) -> Option<Entry> {
        let entry = *self.places.iter().find(|entry| entry.state == State::REFUSED)?;
        self.refused_count -= 1;
        self.free(entry.start()?);
        Some(entry)
    }

    /// Bytes of the table's mapping.
    #[cfg(all(test, not(loom)))]
    pub(super) fn table_bytes(&self) -> usize {
        os::whole_pages(size_of_val(self.places)).unwrap()
    }

    /// Whether no place is reserved, and nothing refused.
    #[cfg(all(test, not(loom)))]
    pub(super) fn is_settled(&self) -> bool {
        (self.reserved, self.refused_count) == (0, 0)
    }

    /// What is known of an address, where blocks start.
    pub(super) fn find_start(&self, address: NonNull<u8>) -> Found {
        let Some(at) = self.position(address.as_ptr()) else { return Found::Nowhere };
        let Entry { request, state, .. } = self.places[at];
        if state == State::LIVE { Found::Start(request) } else { Found::Freed(request) }
    }

    /// The block in use that an address lies in, behind its start. Looks at all of them.
    pub(super) fn find_inside(&self, address: NonNull<u8>) -> Option<Block> {
        let offset = |entry: &Entry| address.addr().get().wrapping_sub(entry.start.addr());
        let is_in = |entry: &&Entry| (1..entry.request.bytes).contains(&offset(entry));
        let mut live = self.places.iter().filter(|entry| entry.state == State::LIVE);
        let entry = live.find(is_in)?;
        Some(Block { start: entry.start()?, bytes: entry.request.bytes })
    }

    /// Where the search for a start begins.
    fn home(&self, start: *mut u8) -> usize {
        /// 2^64 divided by the golden ratio: neighbours go far apart, in the upper bits.
        const SPREAD: usize = 0x9E37_79B9_7F4A_7C15;
        let spread = start.addr().wrapping_mul(SPREAD) >> 32;
        spread & (self.places.len() - 1)
    }

    /// The place of a start, or the vacant one where it belongs. There is a table.
    fn probe(&self, start: *mut u8) -> usize {
        let mut at = self.home(start);
        while !self.places[at].start.is_null() && self.places[at].start != start {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    /// The place of a start, if it is in the table.
    fn position(&self, start: *mut u8) -> Option<usize> {
        if self.places.is_empty() || start.is_null() {
            return None;
        }
        let at = self.probe(start);
        (!self.places[at].start.is_null()).then_some(at)
    }

    /// Empties a place, and moves up those behind it that would no longer be found.
    fn remove(&mut self, mut at: usize) {
        let mask = self.places.len() - 1;
        let mut next = at;
        loop {
            next = (next + 1) & mask;
            let entry = self.places[next];
            if entry.start.is_null() {
                break;
            }
            // It may stand anywhere from its home on.
            let way = next.wrapping_sub(self.home(entry.start)) & mask;
            if way >= next.wrapping_sub(at) & mask {
                self.places[at] = entry;
                at = next;
            }
        }
        self.places[at] = Entry::NONE;
        self.len -= 1;
    }

    /// Moves to a table of twice the places; false when the system has no memory.
    #[cold]
    fn grow(&mut self) -> bool {
        let places = (2 * self.places.len()).max(PLACES_MIN);
        let Some(table) = map_table(places) else { return false };
        let old = mem::replace(&mut self.places, table);
        for entry in old.iter().filter(|entry| !entry.start.is_null()) {
            let at = self.probe(entry.start);
            self.places[at] = *entry;
        }
        unmap_table(old);
        true
    }
}

fn map_table(places: usize) -> Option<&'static mut [Entry]> {
    let bytes = os::whole_pages(places.checked_mul(size_of::<Entry>())?)?;
    let table = NonNull::slice_from_raw_parts(os::map(bytes)?.cast(), places);
    // SAFETY: just mapped with at least this size, for us alone; zeros are valid entries.
    Some(unsafe { &mut *table.as_ptr() })
}

fn unmap_table(table: &'static mut [Entry]) {
    let Some(bytes) = os::whole_pages(size_of_val(table)).filter(|&bytes| bytes > 0) else {
        return;
    };
    let start = NonNull::from(table).cast();
    // SAFETY: the table was mapped with this size, and is not used any more.
    if !unsafe { os::unmap(start, bytes) } {
        // SAFETY: as above. All refused tables together are shorter than the one in use.
        unsafe { os::discard(start, bytes, false) };
    }
}
