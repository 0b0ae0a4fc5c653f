//! Quarantine: a freed block is held back for a while before it can be handed out again.
//!
//! # Rules
//!
//! 1. A quarantine is used by its own thread only, and the blocks in it belong to it alone.
//! 2. Each class has a ring. A block that comes takes the place of the one that came longest ago,
//!    which leaves.
//! 3. A ring holds so many blocks of its class as fit the bytes that the spec says, and at least
//!    one. They are charged like magazines. Where there may be no ring, blocks pass through.

#[cfg(all(test, not(loom)))]
mod tests;

use core::cell::Cell;
use core::ptr::{self, NonNull};

use crate::arena;
use crate::depot::Depots;
use crate::heap::Heap;
use crate::large::Larges;
use crate::thread::Thread;

/// Most blocks of a ring.
const LENGTH_MAX: usize = 1024;

const _: () = assert!(bytes_of(LENGTH_MAX) <= arena::OBJECT_BYTES_MAX);

/// Bytes of a ring's places.
const fn bytes_of(length: usize) -> usize {
    length * size_of::<*mut u8>()
}

/// The blocks of one class that wait. All zeros is a ring that was not made.
struct Ring {
    places: Cell<*mut *mut u8>,
    length: Cell<u32>,
    /// The place of the block that came longest ago, and of the next to come.
    next: Cell<u32>,
}

/// What one thread holds back, of `N` classes. Lives in thread-local storage, and has no
/// destructor.
pub struct Quarantine<const N: usize> {
    rings: [Ring; N],
    thread: Thread,
    /// Bytes of one class that are held back.
    bytes: usize,
}

impl<const N: usize> Quarantine<N> {
    /// A quarantine that holds nothing yet, and will hold so many bytes of each class.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Quarantine { rings: [const { Ring::new() }; N], thread: Thread::new(), bytes }
    }

    /// Holds a block back, and gives the one that leaves for it, if one does: a block of the same
    /// class that is free from now on.
    ///
    /// # Safety
    ///
    /// 1. The quarantine is in this thread's storage, and used with this heap only, which has `N`
    ///    classes; `number` is below that.
    /// 2. `block` is of that class, owned by the caller, and not used after this call.
    #[inline]
    pub unsafe fn hold<D: Depots, L: Larges>(
        &self,
        heap: &'static Heap<D, L>,
        number: usize,
        block: *mut u8,
    ) -> Option<NonNull<u8>> {
        // SAFETY: by (1).
        let ring = unsafe { self.rings.get_unchecked(number) };
        if ring.places.get().is_null() && !self.make_ring(heap, number) {
            return NonNull::new(block);
        }
        // SAFETY: the ring was made.
        NonNull::new(unsafe { ring.exchange(block) })
    }

    /// Gives all blocks that this thread holds back to their slabs; false if it has no ring.
    ///
    /// # Safety
    ///
    /// As for [`Quarantine::hold`], number 1.
    pub unsafe fn flush<D: Depots, L: Larges>(&self, heap: &'static Heap<D, L>) -> bool {
        let has_any = self.rings.iter().any(|ring| !ring.places.get().is_null());
        if has_any {
            Rings { rings: &self.rings, thread: &self.thread }.release(heap);
        }
        has_any
    }

    /// Empties the quarantine, for good: its thread is gone.
    #[cfg(feature = "c")]
    pub fn end(&self) {
        self.thread.end();
    }

    /// Makes the ring of a class; false when this thread may hold nothing, or at the limit of what
    /// threads may cache, or without memory.
    #[cold]
    fn make_ring<D: Depots, L: Larges>(&self, heap: &'static Heap<D, L>, number: usize) -> bool {
        if !self.thread.may_cache().unwrap_or_else(|| self.enter(heap)) {
            return false;
        }
        let block_bytes = heap.classes[number].size.bytes as usize;
        let length = (self.bytes / block_bytes).clamp(1, LENGTH_MAX);
        if !self.thread.charge(heap.account, length * block_bytes) {
            return false;
        }
        let is_made = self.rings[number].make(length);
        if !is_made {
            self.thread.refund(heap.account, length * block_bytes);
        }
        is_made
    }

    /// The thread's first use of this quarantine.
    fn enter<D: Depots, L: Larges>(&self, heap: &'static Heap<D, L>) -> bool {
        self.thread.heap.set(ptr::from_ref(heap).cast());
        self.thread.bins.set(self.rings.as_ptr().cast());
        self.thread.enter(|| heap.register(), retire::<D, L>)
    }
}

impl Ring {
    const fn new() -> Self {
        Ring { places: Cell::new(ptr::null_mut()), length: Cell::new(0), next: Cell::new(0) }
    }

    /// Makes an empty ring; false without memory.
    fn make(&self, length: usize) -> bool {
        let Some(object) = arena::alloc(bytes_of(length)) else { return false };
        let places = object.cast::<*mut u8>();
        // SAFETY: the object is that long. All zeros are so many null pointers.
        unsafe { places.write_bytes(0, length) };
        self.places.set(places.as_ptr());
        self.length.set(u32::try_from(length).unwrap_or(0));
        self.next.set(0);
        true
    }

    /// Puts a block, and gives what stood in its place, or null.
    ///
    /// # Safety
    ///
    /// The ring was made.
    #[inline]
    unsafe fn exchange(&self, block: *mut u8) -> *mut u8 {
        let next = self.next.get();
        self.next.set(if next + 1 < self.length.get() { next + 1 } else { 0 });
        // SAFETY: `next` is below the ring's length.
        let place = unsafe { self.places.get().add(next as usize) };
        // SAFETY: places of a ring are initialised.
        unsafe { place.replace(block) }
    }
}

/// The rings of a quarantine, and the record of its thread.
struct Rings<'a> {
    rings: &'a [Ring],
    thread: &'a Thread,
}

impl Rings<'_> {
    /// Gives all blocks back, and the rings' memory: they are as they were at first.
    fn release<D: Depots, L: Larges>(&self, heap: &'static Heap<D, L>) {
        for (ring, class) in self.rings.iter().zip(heap.classes) {
            let Some(places) = NonNull::new(ring.places.replace(ptr::null_mut())) else { continue };
            let length = ring.length.get() as usize;
            // SAFETY: the ring had that many places, all of them initialised.
            let blocks = unsafe { core::slice::from_raw_parts(places.as_ptr(), length) };
            // SAFETY: they are blocks of the class, and the ring's, or null, which is passed over.
            unsafe { class.give_back(blocks) };
            // SAFETY: the ring has forgotten its places, which came from there.
            unsafe { arena::free(places.cast(), bytes_of(length)) };
            self.thread.refund(heap.account, length * class.size.bytes as usize);
        }
    }
}

/// Empties the quarantine of a thread that ends.
///
/// # Safety
///
/// `record` was entered by [`Quarantine::enter`] of the same types in this thread.
unsafe fn retire<D: Depots, L: Larges>(record: *const Thread) {
    // SAFETY: by this function's contract.
    let thread = unsafe { &*record };
    // SAFETY: `enter` put the heap there.
    let heap: &'static Heap<D, L> = unsafe { &*thread.heap.get().cast() };
    // SAFETY: `enter` put the rings there, one for each class of a shard.
    let rings = unsafe { core::slice::from_raw_parts(thread.bins.get().cast(), heap.count) };
    Rings { rings, thread }.release(heap);
}
