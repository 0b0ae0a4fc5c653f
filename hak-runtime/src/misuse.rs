//! What may be wrong with a free, and the words for it.

use core::fmt;
use core::ptr::NonNull;

use crate::checks::{ALIGNMENT, CANARY, CANARY_BYTES, SIZE};

/// What was asked for: bytes, those of a canary included, and an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Bytes.
    pub bytes: usize,
    /// A power of two.
    pub align: usize,
}

/// A block that an address was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its first byte.
    pub start: NonNull<u8>,
    /// Bytes: of a small block its class's, of a large one those that were asked for.
    pub bytes: usize,
}

/// What large blocks know of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A block in use starts there.
    Start(Request),
    /// It lies in a block in use, behind its start.
    Inside(Block),
    /// A block started there that was freed.
    Freed(Request),
    /// Nothing.
    Nowhere,
}

/// A misuse, in the words that the allocator dies with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misuse {
    Foreign(NonNull<u8>),
    DoubleFree(Block),
    Inside(NonNull<u8>, Block),
    OtherLayout(Block, Request),
}

impl Misuse {
    /// What is wrong with freeing an address, of which large blocks know what was `found`, as
    /// what a request got. `small` looks for a small block at it.
    #[cold]
    pub(crate) fn of<const CHECKS: u16>(
        address: NonNull<u8>,
        request: Request,
        found: Found,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) -> Misuse {
        let request = without_canary::<CHECKS>(request);
        let block = |asked| Block { start: address, bytes: without_canary::<CHECKS>(asked).bytes };
        match found {
            Found::Start(asked) => return Misuse::OtherLayout(block(asked), request),
            Found::Inside(Block { start, bytes }) => {
                let bytes = without_canary::<CHECKS>(Request { bytes, align: 1 }).bytes;
                return Misuse::Inside(address, Block { start, bytes });
            }
            Found::Freed(_) | Found::Nowhere => {}
        }
        // First of all: units that were a large block may be a slab now.
        let of_small = of_small::<CHECKS>(address, request, small);
        of_small.unwrap_or(match found {
            Found::Freed(asked) => Misuse::DoubleFree(block(asked)),
            _ => Misuse::Foreign(address),
        })
    }
}

/// The misuse if the address is in a small block, and that is to be told.
fn of_small<const CHECKS: u16>(
    address: NonNull<u8>,
    request: Request,
    small: impl FnOnce(NonNull<u8>) -> Option<Block>,
) -> Option<Misuse> {
    if const { CHECKS & (ALIGNMENT | SIZE) == 0 } {
        return None;
    }
    let block = small(address)?;
    let (check, misuse) = if block.start == address {
        (SIZE, Misuse::OtherLayout(block, request))
    } else {
        (ALIGNMENT, Misuse::Inside(address, block))
    };
    (CHECKS & check != 0).then_some(misuse)
}

/// What the program asked for.
fn without_canary<const CHECKS: u16>(request: Request) -> Request {
    let canary = if const { CHECKS & CANARY != 0 } { CANARY_BYTES } else { 0 };
    Request { bytes: request.bytes.saturating_sub(canary), align: request.align }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Misuse::Foreign(address) => write!(f, "free of foreign address {address:p}"),
            Misuse::DoubleFree(Block { start, bytes }) => {
                write!(f, "double free of {bytes}-byte block {start:p}")
            }
            Misuse::Inside(address, Block { start, bytes }) => {
                let offset = address.addr().get() - start.addr().get();
                write!(f, "free of {address:p}, {offset} bytes into ")?;
                write!(f, "{bytes}-byte block {start:p}")
            }
            Misuse::OtherLayout(Block { start, bytes }, Request { bytes: size, align }) => {
                write!(f, "free of {bytes}-byte block {start:p} ")?;
                write!(f, "with a layout of {size} bytes aligned to {align}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZero;

    use super::*;
    use crate::checks::{BOUNDARY, FULL};

    const PLACE: NonNull<u8> = at(0x9000);
    const ASKED: Request = Request { bytes: 5008, align: 8 };

    const fn at(address: usize) -> NonNull<u8> {
        NonNull::without_provenance(NonZero::new(address).unwrap())
    }

    fn words<const CHECKS: u16>(found: Found, small: Option<Block>) -> String {
        let request = Request { bytes: 108, align: 16 };
        Misuse::of::<CHECKS>(PLACE, request, found, |_| small).to_string()
    }

    #[test]
    fn each_misuse_has_its_words() {
        let before = at(0x8ff0);
        assert_eq!(
            words::<BOUNDARY>(Found::Start(ASKED), None),
            "free of 5008-byte block 0x9000 with a layout of 108 bytes aligned to 16"
        );
        assert_eq!(
            words::<BOUNDARY>(Found::Inside(Block { start: before, bytes: 5008 }), None),
            "free of 0x9000, 16 bytes into 5008-byte block 0x8ff0"
        );
        assert_eq!(
            words::<BOUNDARY>(Found::Freed(ASKED), None),
            "double free of 5008-byte block 0x9000"
        );
        assert_eq!(words::<BOUNDARY>(Found::Nowhere, None), "free of foreign address 0x9000");
        assert_eq!(
            words::<BOUNDARY>(Found::Freed(ASKED), Some(Block { start: PLACE, bytes: 64 })),
            "free of 64-byte block 0x9000 with a layout of 108 bytes aligned to 16"
        );
        assert_eq!(
            words::<BOUNDARY>(Found::Nowhere, Some(Block { start: before, bytes: 64 })),
            "free of 0x9000, 16 bytes into 64-byte block 0x8ff0"
        );
    }

    #[test]
    fn a_canary_is_no_part_of_a_size() {
        assert_eq!(
            words::<FULL>(Found::Start(ASKED), None),
            "free of 5000-byte block 0x9000 with a layout of 100 bytes aligned to 16"
        );
        assert_eq!(
            words::<FULL>(Found::Nowhere, Some(Block { start: PLACE, bytes: 128 })),
            "free of 128-byte block 0x9000 with a layout of 100 bytes aligned to 16"
        );
    }

    #[test]
    fn without_its_check_a_small_block_is_foreign() {
        let small = Some(Block { start: PLACE, bytes: 64 });
        assert_eq!(words::<ALIGNMENT>(Found::Nowhere, small), "free of foreign address 0x9000");
    }
}
