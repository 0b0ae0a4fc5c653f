//! `mallinfo` and its like: what the heap holds, and what may be set, which is nothing.

use core::ffi::c_int;
use core::fmt::{self, Write};

use super::Library;
use crate::class;
use crate::depot::Depot;
use crate::depot::Depots;
use crate::os;
use crate::parcel::Parcel;
use crate::superslab;

/// Bytes of a heap, as `mallinfo2` divides them.
struct Figures {
    /// From superslabs, and in mappings of their own.
    superslabs: usize,
    mapped: usize,
    /// Held by the program or by threads' caches, and free.
    used: usize,
    free: usize,
}

/// Looks at every slab once.
fn figures<A: Library>() -> Figures {
    let heap = A::heap();
    let (mut slabs, mut free) = (0, 0);
    class::each_slab(heap.classes, |place, blocks| {
        let size = &heap.classes[place].size;
        slabs += size.units as usize * superslab::UNIT_BYTES;
        free += blocks * size.bytes as usize;
    });
    for place in 0..heap.classes.len() {
        let (class, depot) = heap.at(place);
        let parcels = depot.map_or(0, |depot| Depot::census(depot).0);
        let blocks = parcels * <A::Depots as Depots>::Parcel::blocks(&class.size);
        free += blocks * class.size.bytes as usize;
    }
    let (held, superslabs) = (heap.account.held(), superslab::mapped_bytes());
    Figures {
        superslabs,
        mapped: held.saturating_sub(slabs),
        used: held.saturating_sub(free),
        free: free + superslabs.saturating_sub(slabs),
    }
}

/// `mallinfo2`: in `arena` the superslabs' bytes, in `hblkhd` what no class serves, spans included,
/// in `uordblks` what is in use or in threads' caches, and in `fordblks` what is free.
pub fn mallinfo2<A: Library>() -> libc::mallinfo2 {
    let Figures { superslabs, mapped, used, free } = figures::<A>();
    // SAFETY: it is made of numbers.
    let mut info: libc::mallinfo2 = unsafe { core::mem::zeroed() };
    (info.arena, info.hblkhd) = (superslabs, mapped);
    (info.uordblks, info.fordblks) = (used, free);
    info
}

/// `mallinfo`: the same, of which what does not fit is the largest number that does.
pub fn mallinfo<A: Library>() -> libc::mallinfo {
    let fit = |bytes: usize| c_int::try_from(bytes).unwrap_or(c_int::MAX);
    let Figures { superslabs, mapped, used, free } = figures::<A>();
    // SAFETY: it is made of numbers.
    let mut info: libc::mallinfo = unsafe { core::mem::zeroed() };
    (info.arena, info.hblkhd) = (fit(superslabs), fit(mapped));
    (info.uordblks, info.fordblks) = (fit(used), fit(free));
    info
}

/// A short text on the stack.
struct Line {
    text: [u8; 256],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = &mut self.text[self.len..];
        let fits = part.len().min(room.len());
        room[..fits].copy_from_slice(&part.as_bytes()[..fits]);
        self.len += fits;
        Ok(())
    }
}

/// `malloc_stats`: the figures, on the error stream.
pub fn malloc_stats<A: Library>() {
    let Figures { superslabs, mapped, used, free } = figures::<A>();
    let mut line = Line { text: [0; 256], len: 0 };
    let name = A::heap().account.name();
    // `write_str` above never fails.
    let _ = writeln!(
        line,
        "hak: {name}: {superslabs} bytes in superslabs, {mapped} above all classes, {used} in use \
         or cached by threads, {free} free"
    );
    os::write_error(&line.text[..line.len]);
}

/// `malloc_trim`: what this thread and the depots keep, and all free memory goes back; says whether
/// there was any.
pub fn malloc_trim<A: Library>(_: usize) -> c_int {
    let before = crate::purge::purged_bytes() + superslab_bytes_held::<A>();
    A::flush();
    A::heap().purge();
    let after = crate::purge::purged_bytes();
    c_int::from(after + superslab_bytes_held::<A>() != before)
}

fn superslab_bytes_held<A: Library>() -> usize {
    A::heap().account.held()
}

/// `mallopt`: whatever it is, it is accepted, and nothing changes: the spec has said it all.
pub fn mallopt<A: Library>(_: c_int, _: c_int) -> c_int {
    1
}
