//! Memory for the runtime's own objects: carved from mappings in steps of a cache line, recycled
//! by size, and never unmapped, so that a stale pointer to an object is a pointer to its like.

use core::ptr::{self, NonNull};

use crate::os;
use crate::sync::Mutex;

/// Objects are multiples of a cache line, so that no two threads' objects share one.
const STEP_BYTES: usize = 64;
/// Largest object.
pub(crate) const OBJECT_BYTES_MAX: usize = 16 << 10;
/// Bytes asked from the system at a time; untouched ones cost nothing.
const CHUNK_BYTES: usize = 256 << 10;

const STEPS_MAX: usize = OBJECT_BYTES_MAX / STEP_BYTES;

/// A freed object, linked to the next of its size.
struct Freed {
    next: *mut Freed,
}

struct Arena {
    /// Freed objects of `n + 1` steps at index `n`.
    freed: [*mut Freed; STEPS_MAX],
    /// What is left of the newest mapping.
    rest: *mut u8,
    rest_bytes: usize,
}

// SAFETY: the arena's pointers are to memory of its own, used only under its lock.
unsafe impl Send for Arena {}

static ARENA: Mutex<Arena> =
    Mutex::new(Arena { freed: [ptr::null_mut(); STEPS_MAX], rest: ptr::null_mut(), rest_bytes: 0 });

/// An object of at least `bytes`, aligned to a cache line, contents undefined; `None` when the
/// system has no memory. `bytes` is 1 to [`OBJECT_BYTES_MAX`].
pub(crate) fn alloc(bytes: usize) -> Option<NonNull<u8>> {
    let steps = bytes.div_ceil(STEP_BYTES);
    let mut arena = ARENA.lock();
    if let Some(freed) = NonNull::new(arena.freed[steps - 1]) {
        // SAFETY: objects in the list are free, and `free` wrote their link.
        arena.freed[steps - 1] = unsafe { freed.read() }.next;
        return Some(freed.cast());
    }
    arena.carve(steps * STEP_BYTES)
}

/// Takes an object back.
///
/// # Safety
///
/// `object` came from [`alloc`] with the same `bytes`, and no one uses it after this call.
pub(crate) unsafe fn free(object: NonNull<u8>, bytes: usize) {
    let steps = bytes.div_ceil(STEP_BYTES);
    let freed = object.cast::<Freed>();
    let mut arena = ARENA.lock();
    // SAFETY: the object is ours now, and has room for a pointer.
    unsafe { freed.write(Freed { next: arena.freed[steps - 1] }) };
    arena.freed[steps - 1] = freed.as_ptr();
}

/// Takes the lock for a fork.
pub(crate) fn before_fork() {
    ARENA.before_fork();
}

/// Releases it again.
///
/// # Safety
///
/// Follows [`before_fork`] in the same thread, or its copy in the child.
pub(crate) unsafe fn after_fork() {
    // SAFETY: by this function's contract.
    unsafe { ARENA.after_fork() };
}

impl Arena {
    fn carve(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        if self.rest_bytes < bytes {
            // The old rest is lost: less than one object in sixteen.
            self.rest = os::map(CHUNK_BYTES)?.as_ptr();
            self.rest_bytes = CHUNK_BYTES;
        }
        let object = NonNull::new(self.rest);
        // SAFETY: at least `bytes` are left.
        self.rest = unsafe { self.rest.add(bytes) };
        self.rest_bytes -= bytes;
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_disjoint_aligned_and_recycled_by_size() {
        let objects: Vec<_> = (0..1000).map(|_| alloc(520).unwrap()).collect();
        let mut starts: Vec<_> = objects.iter().map(|object| object.addr().get()).collect();
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 520));
        assert!(starts.iter().all(|start| start.is_multiple_of(STEP_BYTES)));
        let last = *objects.last().unwrap();
        // SAFETY: each came from `alloc(520)`.
        objects.into_iter().for_each(|object| unsafe { free(object, 520) });
        assert_eq!(alloc(576), Some(last), "576 and 520 bytes are nine steps both");
    }
}
