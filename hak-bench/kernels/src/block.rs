//! One allocation of a size that is known at run time only.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Owns its memory. The first and the last byte hold a mark, as a program writes what it asks for.
#[derive(Debug)]
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: nothing else has the pointer.
unsafe impl Send for Block {}

impl Block {
    /// Of at least one byte, aligned as most types are.
    pub(crate) fn new(size: usize, mark: u8) -> Block {
        Block::aligned(size, 8, mark)
    }

    /// `align` is a power of two.
    pub(crate) fn aligned(size: usize, align: usize, mark: u8) -> Block {
        let layout = Layout::from_size_align(size.max(1), align).expect("a small layout");
        // SAFETY: the layout is of at least one byte.
        let start = NonNull::new(unsafe { alloc(layout) });
        let start = start.unwrap_or_else(|| handle_alloc_error(layout));
        let block = Block { start, layout };
        // SAFETY: the first byte of a block that nobody else has.
        unsafe { start.write(mark) };
        // SAFETY: its last byte.
        unsafe { block.last().write(mark) };
        block
    }

    /// The sum of both marks.
    pub(crate) fn marks(&self) -> u64 {
        // SAFETY: the first byte, which was written when the block was made.
        let first = unsafe { self.start.read() };
        // SAFETY: the last byte, which was written when the block was made.
        let last = unsafe { self.last().read() };
        u64::from(first) + u64::from(last)
    }

    /// Frees it, and tells the sum of both marks.
    pub(crate) fn free(self) -> u64 {
        self.marks()
    }

    /// Whether it starts where it was asked to.
    pub(crate) fn is_aligned(&self) -> bool {
        self.start.addr().get() & (self.layout.align() - 1) == 0
    }

    /// Writes the first half of it, byte by byte.
    pub(crate) fn fill_half(&self, mark: u8) {
        // SAFETY: that many bytes are inside the block, which nobody else has.
        unsafe { self.start.write_bytes(mark, self.layout.size() >> 1) }
    }

    fn last(&self) -> NonNull<u8> {
        // SAFETY: the block has at least one byte.
        unsafe { self.start.add(self.layout.size() - 1) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: made by `alloc` with this layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::Layout;
    use std::mem::ManuallyDrop;
    use std::num::NonZero;
    use std::ptr::NonNull;

    use super::Block;

    #[test]
    fn both_marks_are_counted_even_where_they_are_one_byte() {
        assert_eq!([0, 1, 2, 1000].map(|size| Block::new(size, 200).free()), [400; 4]);
    }

    #[test]
    fn the_second_half_is_not_filled() {
        let block = Block::new(3, 1);
        block.fill_half(7);
        assert_eq!(block.free(), 7 + 1);
    }

    #[test]
    fn a_block_in_the_wrong_place_is_noticed() {
        assert!(Block::aligned(100, 64, 0).is_aligned());
        let start = NonNull::without_provenance(NonZero::new(64 + 32).unwrap());
        let layout = Layout::from_size_align(100, 64).unwrap();
        // It has no memory that could be freed.
        assert!(!ManuallyDrop::new(Block { start, layout }).is_aligned());
    }
}
