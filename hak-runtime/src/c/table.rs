//! The table that `malloc` looks its class up in, with an entry for each size.
//!
//! An entry for each granule of sizes would be a sixteenth of it, at two instructions more: the
//! size would have to be rounded up and shifted. What is used of the table is a cache line for each
//! 64 bytes of the sizes that a program asks for.

use super::ALIGN;

macro_rules! place_table {
    ($name:ident, $entry:ty) => {
        /// The place of the class that serves each size below `N`: the smallest that is a multiple
        /// of C's alignment. A request of no bytes is one of a byte.
        ///
        /// `classes` holds block sizes and places, from small to large. Figures that disagree do
        /// not compile.
        #[must_use]
        pub const fn $name<const N: usize, const C: usize>(
            classes: [(usize, $entry); C],
        ) -> [$entry; N] {
            let mut table = [0; N];
            let (mut bytes, mut class) = (0, 0);
            while bytes < N {
                while classes[class].0 < bytes || !classes[class].0.is_multiple_of(ALIGN) {
                    class += 1;
                }
                table[bytes] = classes[class].1;
                bytes += 1;
            }
            assert!(classes[class].0 == N - 1, "the table ends at its last class");
            table
        }
    };
}

place_table!(place_table, u8);
place_table!(wide_place_table, u16);
