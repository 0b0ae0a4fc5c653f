//! What a check found, and the words for it.

use core::fmt;

/// A fault of the program. Addresses are numbers: what they point to is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The block is free already.
    DoubleFree { block: usize, bytes: usize },
    /// The address is in no block of the allocator.
    Foreign { address: usize },
    /// The address is in the midst of a block.
    Inside { address: usize, start: usize, bytes: usize },
    /// The block was not allocated for such a layout.
    Layout { block: usize, bytes: usize, size: usize, align: usize },
    /// The block was freed as one of another class; its layout is not known any more.
    Class { block: usize, bytes: usize, freed_as: usize },
    /// What stands behind a block's last byte was changed.
    PastEnd { block: usize, size: usize },
    /// A block was changed while it was free.
    AfterFree { block: usize, bytes: usize, offset: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::DoubleFree { block, bytes } => {
                write!(f, "double free of {bytes}-byte block {block:#x}")
            }
            Fault::Foreign { address } => write!(f, "free of foreign address {address:#x}"),
            Fault::Inside { address, start, bytes } => {
                let within = address.wrapping_sub(start);
                write!(f, "free of {address:#x}, {within} bytes into {bytes}-byte block {start:#x}")
            }
            Fault::Layout { block, bytes, size, align } => {
                write!(f, "free of {bytes}-byte block {block:#x}")?;
                write!(f, " with a layout of {size} bytes aligned to {align}")
            }
            Fault::Class { block, bytes, freed_as } => {
                write!(f, "free of {bytes}-byte block {block:#x} as one of {freed_as} bytes")
            }
            Fault::PastEnd { block, size } => {
                write!(f, "write past the end of {size} bytes at {block:#x}")
            }
            Fault::AfterFree { block, bytes, offset } => {
                write!(f, "write after free in {bytes}-byte block {block:#x} at offset {offset}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_words() {
        let block = 0x7f00_1000;
        let told = [
            Fault::DoubleFree { block, bytes: 64 },
            Fault::Foreign { address: block },
            Fault::Inside { address: block + 3, start: block, bytes: 64 },
            Fault::Layout { block, bytes: 64, size: 20, align: 4 },
            Fault::Class { block, bytes: 64, freed_as: 48 },
            Fault::PastEnd { block, size: 50 },
            Fault::AfterFree { block, bytes: 64, offset: 9 },
        ]
        .map(|fault| fault.to_string());
        assert_eq!(
            told,
            [
                "double free of 64-byte block 0x7f001000",
                "free of foreign address 0x7f001000",
                "free of 0x7f001003, 3 bytes into 64-byte block 0x7f001000",
                "free of 64-byte block 0x7f001000 with a layout of 20 bytes aligned to 4",
                "free of 64-byte block 0x7f001000 as one of 48 bytes",
                "write past the end of 50 bytes at 0x7f001000",
                "write after free in 64-byte block 0x7f001000 at offset 9",
            ]
        );
    }
}
