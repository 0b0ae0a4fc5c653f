//! What a heap checks: each check is a bit, a level is a sum.
//!
//! A set of checks is a constant of the code that uses it, so a check that is off leaves nothing
//! behind: `if const { CHECKS & FOREIGN != 0 } { … }`.

/// Free of an address that is no block of this allocator.
///
/// Catches memory of another allocator, of the stack, of statics. Needs a map of the superslabs,
/// and a table of the large blocks.
pub const FOREIGN: u16 = 1 << 0;

/// Free of a pointer into a block, not to its start.
///
/// Catches a pointer that was moved on before it was freed. Needs [`FOREIGN`], which finds the
/// block.
pub const ALIGNMENT: u16 = 1 << 1;

/// Free with a layout that is not the block's.
///
/// Catches a wrong size, as far as another class, or none, would serve it; of a large block, any
/// other size or alignment. Needs [`FOREIGN`], which finds the block.
pub const SIZE: u16 = 1 << 2;

/// Free of a block that is free.
///
/// Catches the second free: of a small block when it is free in its slab, seen at the free and
/// again when the block goes back; with [`CANARY`], and of a large block, at once. Needs the free
/// bit that every block has, and of large blocks the places of those freed last.
pub const DOUBLE_FREE: u16 = 1 << 3;

/// A secret word right behind the bytes that were asked for.
///
/// Catches a write past the end, when the block is freed or resized. Needs 8 bytes more for each
/// request, before its class is chosen.
pub const CANARY: u16 = 1 << 4;

/// Freed memory is filled with a pattern, which the next alloc verifies.
///
/// Catches a write after the free. Needs to touch whole blocks, twice. A large block is a mapping
/// of its own instead, which ends with the free, so that any later access faults.
pub const POISON: u16 = 1 << 5;

/// Freed memory is filled with zeros.
///
/// Catches nothing: what was in a block is gone, whoever gets it next. Needs to touch whole blocks;
/// long ones hand their OS pages back instead.
pub const ZERO: u16 = 1 << 6;

/// Blocks are handed out in random order.
///
/// Catches nothing: which blocks are neighbours is harder to foretell. Needs magazines. Large
/// blocks stand where the system puts them.
pub const RANDOM: u16 = 1 << 7;

/// A freed block waits before it is used again.
///
/// Catches, with [`DOUBLE_FREE`] or [`POISON`], what comes late; and makes it harmless for a while.
/// Needs room for the blocks that wait; for a large one that is a mapping of its own, addresses
/// alone.
pub const QUARANTINE: u16 = 1 << 8;

/// OS pages that no one may touch, behind slabs and headers, before and behind large blocks.
///
/// Catches a run over their ends, as a fault. Needs address space and mappings, of which a process
/// has a limited number; beyond that, blocks are served without.
pub const GUARD: u16 = 1 << 9;

/// What is wrong at a free, seen without touching the block.
pub const BOUNDARY: u16 = FOREIGN | ALIGNMENT | SIZE | DOUBLE_FREE;

/// And what was written where nothing may be.
pub const FULL: u16 = BOUNDARY | CANARY | POISON;

/// And all that makes a misuse harder to exploit.
pub const HARDENED: u16 = FULL | ZERO | RANDOM | QUARANTINE | GUARD;

/// Bytes that [`CANARY`] adds to a request.
pub(crate) const CANARY_BYTES: usize = 8;
