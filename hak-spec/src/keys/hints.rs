//! `[hints]`: what the generated code is laid out for.

use super::{Key, Kind, key, table};

const LIKELY: Kind = Kind::Word(&["likely", "unlikely", "none"]);

/// `[hints]`.
pub(super) static HINTS: &[Key] = &[
    table(
        "hints",
        "What the generated code is laid out for. None of it changes what a program is served.",
    ),
    key(
        "hints.hot",
        Kind::Sizes,
        Some("[]"),
        "Classes that the program uses most, the first one most of all. Their bins stand first in \
         thread-local storage, in this order, so that they share cache lines; and they take \
         `cache.refill.hot`.",
    ),
    key(
        "hints.hit",
        LIKELY,
        Some(r#""likely""#),
        "alloc finds a block in what the thread has loaded. Has no meaning without a cache layer.",
    ),
    key(
        "hints.room",
        LIKELY,
        Some(r#""likely""#),
        "dealloc finds room in what the thread has loaded. Has no meaning without a cache layer.",
    ),
    key(
        "hints.small",
        LIKELY,
        Some(r#""likely""#),
        "The request is within the largest class. Where several hints meet in one function the \
         compiler weighs them against each other: if all are `\"unlikely\"` some have no effect.",
    ),
    key(
        "hints.inline",
        Kind::Word(&["always", "constant", "never"]),
        Some(r#""always""#),
        "What becomes part of the caller. `\"always\"`: the look-up of the class and the path of a \
         hit. `\"constant\"`: the same where the compiler knows the Layout, and a call where it \
         does not; most of the speed in less code. `\"never\"`: nothing but a call.",
    ),
    key(
        "hints.prefetch",
        Kind::Flag,
        Some("false"),
        "alloc asks the processor for the memory of the block that comes next, so that it is there \
         when the program writes to it. Helps where blocks are filled at once and were cold; \
         elsewhere it is one instruction for nothing. Does nothing on targets other than x86-64 \
         and aarch64, and has no meaning without a cache layer.",
    ),
];
