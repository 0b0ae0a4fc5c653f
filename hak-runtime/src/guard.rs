//! Guards: OS pages that no one may touch, behind a superslab's header, at the end of slabs, and
//! around large blocks.
//!
//! Each guard splits a mapping, and a process may have only so many mappings: at its limit the
//! system refuses memory of any kind. So guards are counted, and what would be one too many is left
//! out; so is what the system refuses.

use core::ptr::NonNull;

use crate::account::SlabGuard;
use crate::os;
use crate::superslab::{self, HEADER_BYTES, UNIT_BYTES, Watcher};
use crate::sync::{AtomicUsize, Ordering};

/// Most guards of a process: with their neighbours about half the mappings that Linux allows.
const GUARDS_MAX: usize = 16 << 10;

static GUARDS: AtomicUsize = AtomicUsize::new(0);

/// How slabs are guarded.
pub(crate) const SLAB_GUARD: SlabGuard = SlabGuard { set, lift };

/// Guards the headers of all superslabs there are and will be.
pub(crate) fn watch() {
    superslab::watch(Watcher::Guard, |header| {
        set(header, HEADER_BYTES, UNIT_BYTES);
    });
}

/// Guards the whole OS pages between `used` bytes and the end of a region; false when there are
/// none, or the system refuses.
fn set(start: NonNull<u8>, used: usize, bytes: usize) -> bool {
    let Some((tail, length)) = tail(start, used, bytes) else { return false };
    // SAFETY: the region is ours, and no one uses what is beyond `used`.
    let is_set = is_one_more(&GUARDS, GUARDS_MAX) && unsafe { os::forbid(tail, length) };
    if !is_set {
        GUARDS.fetch_sub(1, Ordering::Relaxed);
    }
    is_set
}

/// Guards around a large block.
const AROUND: usize = 2;

/// Counts a large block; false if it is to do without guards, since they are too many. It is
/// counted all the same, so that no one has to know which blocks have some.
pub(crate) fn count_block() -> bool {
    GUARDS.fetch_add(AROUND, Ordering::Relaxed) + AROUND <= GUARDS_MAX
}

/// Ends what [`count_block`] began.
pub(crate) fn forget_block() {
    GUARDS.fetch_sub(AROUND, Ordering::Relaxed);
}

/// Counts a guard; false if it is one too many.
fn is_one_more(guards: &AtomicUsize, most: usize) -> bool {
    guards.fetch_add(1, Ordering::Relaxed) < most
}

/// Ends what [`set`] began; false when the system refuses: then the pages stay as they are.
fn lift(start: NonNull<u8>, used: usize, bytes: usize) -> bool {
    let Some((tail, length)) = tail(start, used, bytes) else { return true };
    // SAFETY: the region is ours.
    let is_lifted = unsafe { os::allow(tail, length) };
    if is_lifted {
        GUARDS.fetch_sub(1, Ordering::Relaxed);
    }
    is_lifted
}

/// The whole OS pages behind the used part of a region, if there are any.
fn tail(start: NonNull<u8>, used: usize, bytes: usize) -> Option<(NonNull<u8>, usize)> {
    let from = os::whole_pages(used)?;
    if from >= bytes {
        return None;
    }
    // SAFETY: it lies within the region.
    Some((unsafe { start.add(from) }, bytes - from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fake::{self, Habits};

    /// Memory like that of a slab, 64 KiB long.
    fn region() -> NonNull<u8> {
        os::map_aligned(UNIT_BYTES, UNIT_BYTES).unwrap()
    }

    #[test]
    fn a_guard_starts_at_the_first_whole_page_behind_what_is_used() {
        let start = region();
        let at = |used| tail(start, used, UNIT_BYTES).map(|(tail, n)| (tail.addr().get(), n));
        let end = start.addr().get() + UNIT_BYTES;
        assert_eq!(at(UNIT_BYTES - 4096), Some((end - 4096, 4096)));
        assert_eq!(at(UNIT_BYTES - 9000), Some((end - 8192, 8192)));
        assert_eq!(at(UNIT_BYTES - 4095), None);
        fake::behave(Habits { page_bytes: UNIT_BYTES, ..Habits::USUAL });
        assert_eq!(at(UNIT_BYTES - 4096), None, "an OS page is as long as the slab");
        fake::behave(Habits::USUAL);
    }

    #[test]
    fn a_guard_can_be_lifted_and_leaves_contents_alone() {
        let start = region();
        // SAFETY: the region is that long, and ours.
        unsafe { start.write_bytes(7, UNIT_BYTES) };
        assert!(set(start, UNIT_BYTES - 4096, UNIT_BYTES));
        assert_eq!(access(start, UNIT_BYTES - 4096), "---p");
        assert!(lift(start, UNIT_BYTES - 4096, UNIT_BYTES));
        assert_eq!(access(start, UNIT_BYTES - 4096), "rw-p");
        // SAFETY: as above, and readable again.
        let bytes = unsafe { core::slice::from_raw_parts(start.as_ptr(), UNIT_BYTES) };
        assert!(bytes.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn guards_are_counted() {
        let guards = AtomicUsize::new(0);
        let counted = [(); 3].map(|()| is_one_more(&guards, 2));
        assert_eq!(counted, [true, true, false]);
    }

    #[test]
    fn what_the_system_refuses_is_left_out() {
        let start = region();
        fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
        assert!(!set(start, 4096, UNIT_BYTES));
        fake::behave(Habits::USUAL);
        assert_eq!(access(start, 4096), "rw-p");
        assert!(set(start, 4096, UNIT_BYTES));
        fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
        assert!(!lift(start, 4096, UNIT_BYTES));
        fake::behave(Habits::USUAL);
        assert_eq!(access(start, 4096), "---p");
    }

    /// What the system says may be done with a byte of a region.
    fn access(start: NonNull<u8>, offset: usize) -> String {
        let address = start.addr().get() + offset;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let holds = |line: &&str| {
            let range = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [range.0, range.1].map(|n| usize::from_str_radix(n, 16).unwrap());
            (from..to).contains(&address)
        };
        maps.lines().find(holds).unwrap().split(' ').nth(1).unwrap().to_owned()
    }
}
