//! What a model's system does in its own way: memory is recycled, threads end when the model says
//! so, and there are no forks.

use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr::{self, NonNull};

use super::{ThreadKey, linux, map_at};

type Mappings = RefCell<Vec<(NonNull<u8>, usize)>>;

std::thread_local! {
    static UNUSED: Mappings = const { RefCell::new(Vec::new()) };
    static USED: Mappings = const { RefCell::new(Vec::new()) };
}

/// Ends an execution: the next one gets its mappings again, zeroed.
pub(crate) fn recycle() {
    UNUSED.with_borrow_mut(|unused| unused.append(&mut USED.take()));
}

/// Aligned to superslabs, so that none is mapped in vain.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    let fits = |unused: &Vec<(_, usize)>| unused.iter().position(|&(_, size)| size == bytes);
    let found = UNUSED.with_borrow_mut(|unused| Some(unused.remove(fits(unused)?)));
    let (memory, _) = match found {
        Some(mapping) => mapping,
        None => (map_at(crate::SUPERSLAB_BYTES, bytes)?, bytes),
    };
    // SAFETY: the mapping is ours, and the execution that used it is over.
    assert!(unsafe { linux::discard(memory, bytes, false) });
    USED.with_borrow_mut(|used| used.push((memory, bytes)));
    Some(memory)
}

/// # Safety
///
/// No one uses the memory any more.
pub(crate) unsafe fn unmap(_: NonNull<u8>, _: usize) -> bool {
    true
}

/// Moves the contents: a mapping of one execution is where it was in the next.
///
/// # Safety
///
/// The memory has `old_bytes`, fewer than `new_bytes`, and no one uses it any more.
pub(crate) unsafe fn remap(
    memory: NonNull<u8>,
    old_bytes: usize,
    new_bytes: usize,
    may_move: bool,
) -> Option<NonNull<u8>> {
    let moved = if may_move { map(new_bytes) } else { None }?;
    // SAFETY: both have that many bytes, and the new ones are nobody's yet.
    unsafe { moved.copy_from_nonoverlapping(memory, old_bytes) };
    Some(moved)
}

pub(crate) fn call_at_fork(
    _: unsafe extern "C" fn(),
    _: unsafe extern "C" fn(),
    _: unsafe extern "C" fn(),
) {
}

/// Models say themselves when a thread ends.
#[expect(clippy::unnecessary_wraps, reason = "as the real one")]
pub(crate) fn thread_key(_: unsafe extern "C" fn(*mut c_void)) -> Option<ThreadKey> {
    Some(0)
}

pub(crate) fn thread_pointer(_: ThreadKey) -> *mut c_void {
    ptr::null_mut()
}

/// # Safety
///
/// There is nothing to keep to.
pub(crate) unsafe fn set_thread_pointer(_: ThreadKey, _: *const c_void) -> bool {
    true
}
