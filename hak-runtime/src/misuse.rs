//! What may be wrong with a free of a large block.

use core::ptr::NonNull;

use crate::checks::{ALIGNMENT, CANARY, CANARY_BYTES, SIZE};
use crate::fault::Fault;

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

/// What is wrong with freeing an address, of which large blocks know what was `found`, as what a
/// request got. `small` looks for a small block at it.
#[cold]
pub(crate) fn fault_of<const CHECKS: u16>(
    address: NonNull<u8>,
    request: Request,
    found: Found,
    small: impl FnOnce(NonNull<u8>) -> Option<Block>,
) -> Fault {
    // Units that were a large block may be a slab now; but who frees just what was freed there
    // means the block that was.
    if let Found::Freed(asked) = found
        && asked == request
    {
        let bytes = without_canary::<CHECKS>(asked).bytes;
        return double_free(Block { start: address, bytes });
    }
    let request = without_canary::<CHECKS>(request);
    let block = |asked| Block { start: address, bytes: without_canary::<CHECKS>(asked).bytes };
    match found {
        Found::Start(asked) => return other_layout(block(asked), request),
        Found::Inside(Block { start, bytes }) => {
            let bytes = without_canary::<CHECKS>(Request { bytes, align: 1 }).bytes;
            return inside(address, Block { start, bytes });
        }
        Found::Freed(_) | Found::Nowhere => {}
    }
    let of_small = of_small::<CHECKS>(address, request, small);
    of_small.unwrap_or(match found {
        Found::Freed(asked) => double_free(block(asked)),
        _ => Fault::Foreign { address: address.addr().get() },
    })
}

/// The block was not allocated for such a request.
pub(crate) fn other_layout(block: Block, Request { bytes: size, align }: Request) -> Fault {
    Fault::Layout { block: block.start.addr().get(), bytes: block.bytes, size, align }
}

/// The block is free already.
pub(crate) fn double_free(Block { start, bytes }: Block) -> Fault {
    Fault::DoubleFree { block: start.addr().get(), bytes }
}

fn inside(address: NonNull<u8>, Block { start, bytes }: Block) -> Fault {
    Fault::Inside { address: address.addr().get(), start: start.addr().get(), bytes }
}

/// The fault if the address is in a small block, and that is to be told.
fn of_small<const CHECKS: u16>(
    address: NonNull<u8>,
    request: Request,
    small: impl FnOnce(NonNull<u8>) -> Option<Block>,
) -> Option<Fault> {
    if const { CHECKS & (ALIGNMENT | SIZE) == 0 } {
        return None;
    }
    let block = small(address)?;
    let (check, fault) = if block.start == address {
        (SIZE, other_layout(block, request))
    } else {
        (ALIGNMENT, inside(address, block))
    };
    (CHECKS & check != 0).then_some(fault)
}

/// What the program asked for.
pub(crate) fn without_canary<const CHECKS: u16>(request: Request) -> Request {
    let canary = if const { CHECKS & CANARY != 0 } { CANARY_BYTES } else { 0 };
    Request { bytes: request.bytes.saturating_sub(canary), align: request.align }
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
        fault_of::<CHECKS>(PLACE, request, found, |_| small).to_string()
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
        let again = Found::Freed(Request { bytes: 108, align: 16 });
        let reused = Some(Block { start: PLACE, bytes: 64 });
        assert_eq!(words::<BOUNDARY>(again, reused), "double free of 108-byte block 0x9000");
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
