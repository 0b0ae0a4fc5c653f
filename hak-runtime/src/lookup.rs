//! From a request to its class, without a branch on the request's size.
//!
//! A request's *key* is `(size - 1) | (align - 1)`: one less than the size rounded up to a
//! multiple of the alignment. Classes that serve every alignment by their place in the list alone
//! (the generator makes sure, or adds a test) are found by the key, in a table with an entry for
//! each granule of sizes.

use core::alloc::Layout;
use core::arch::asm;

use crate::superslab::UNIT_BYTES;

/// The key of a request; `align` is a power of two. A request of no bytes gets the largest key,
/// which no class serves.
#[inline(always)]
pub const fn key(size: usize, align: usize) -> usize {
    size.wrapping_sub(1) | (align - 1)
}

/// The same request, but for one of no bytes, which becomes one of a byte.
#[must_use]
pub const fn at_least_a_byte(layout: Layout) -> Layout {
    if layout.size() > 0 {
        return layout;
    }
    // SAFETY: the alignment is a layout's, and a byte rounded up to it does not overflow `isize`.
    unsafe { Layout::from_size_align_unchecked(1, layout.align()) }
}

/// The same number, of which the compiler knows nothing. No instruction, unlike `black_box`, which
/// goes through the stack.
#[inline(always)]
pub fn unknown(mut number: usize) -> usize {
    if cfg!(miri) {
        return core::hint::black_box(number);
    }
    // SAFETY: a comment changes nothing.
    unsafe {
        asm!("/* {} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags));
    }
    number
}

macro_rules! class_table {
    ($name:ident, $entry:ty) => {
        /// The place of the class that serves each granule of keys: entry `key >> shift` for all
        /// keys below `N << shift`.
        ///
        /// `classes` holds block sizes and places, from small to large; the last one ends the
        /// table. Figures that disagree do not compile.
        #[must_use]
        pub const fn $name<const N: usize, const C: usize>(
            classes: [(usize, $entry); C],
            shift: u32,
        ) -> [$entry; N] {
            let mut table = [0; N];
            let (mut entry, mut class) = (0, 0);
            while entry < N {
                while classes[class].0 <= entry << shift {
                    class += 1;
                }
                table[entry] = classes[class].1;
                entry += 1;
            }
            let ends_the_table = class == C - 1 && classes[class].0 == N << shift;
            assert!(ends_the_table, "the table ends at the last class");
            table
        }
    };
}

class_table!(class_table, u8);
class_table!(wide_class_table, u16);

/// The place of the smallest class whose blocks have the request's size and alignment, for lists of
/// classes in which a key alone does not find it. `classes` is as for [`class_table()`].
pub fn aligned_class(classes: &[(usize, usize)], size: usize, align: usize) -> Option<usize> {
    let serves = |bytes: usize| bytes >= size && bytes.is_multiple_of(align);
    // Slabs start at units, so no block is aligned to more.
    if size == 0 || align > UNIT_BYTES {
        return None;
    }
    classes.iter().find(|&&(bytes, _)| serves(bytes)).map(|&(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_finds_the_smallest_class_that_fits() {
        const TABLE: [u8; 8] = class_table([(16, 1), (40, 2), (48, 0), (64, 3)], 3);
        assert_eq!(TABLE, [1, 1, 2, 2, 2, 0, 3, 3]);
    }

    #[test]
    fn a_request_of_no_bytes_becomes_one_of_a_byte() {
        let [none, one, more] = [0, 1, 70].map(|n| Layout::from_size_align(n, 64).unwrap());
        assert_eq!([none, one, more].map(at_least_a_byte), [one, one, more]);
        assert_eq!([0, 1, usize::MAX].map(unknown), [0, 1, usize::MAX]);
    }

    #[test]
    fn a_key_rounds_up_to_the_alignment() {
        for (size, align, rounded) in [(1, 1, 1), (33, 16, 48), (48, 16, 48), (1, 64, 64)] {
            assert_eq!(key(size, align), rounded - 1);
        }
        assert_eq!(key(0, 4096), usize::MAX);
    }
}
