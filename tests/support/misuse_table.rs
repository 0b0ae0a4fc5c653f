//! What is expected of each misuse. One row a line, so that a change shows as one line.

use Expect::{Fault, Later, Now, Quiet, Says, Skip};

/// How a misuse ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expect {
    /// SIGABRT with this line, before the call that misuses has returned.
    Now(&'static str),
    /// SIGABRT with this line, after it has returned.
    Later(&'static str),
    /// SIGSEGV, and no line.
    Fault,
    /// Nothing is noticed, and nothing bad comes of it here.
    Quiet,
    /// Nothing is noticed, and the program says this.
    Says(&'static str),
    /// Without the check the outcome depends on what lies where; it is not run.
    Skip,
}

/// A size that is misused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) name: &'static str,
    /// Bytes asked for.
    asked: usize,
    /// Bytes of the block, as messages give them.
    block: usize,
}

impl Size {
    /// Replaces `{asked}`, `{twice}`, `{less}` and `{block}` in a line.
    pub(crate) fn fill_in(self, line: &str) -> String {
        line.replace("{asked}", &self.asked.to_string())
            .replace("{twice}", &(self.asked * 2).to_string())
            .replace("{less}", &(self.asked - 6).to_string())
            .replace("{block}", &self.block.to_string())
    }
}

const SMALL_SIZE: Size = Size { name: "small", asked: 56, block: 64 };
const LARGE_SIZE: Size = Size { name: "large", asked: 200 << 10, block: 200 << 10 };
const HUGE_SIZE: Size = Size { name: "huge", asked: 3 << 20, block: 3 << 20 };

const SMALL: &[Size] = &[SMALL_SIZE];
const LARGE: &[Size] = &[LARGE_SIZE];
const HUGE: &[Size] = &[HUGE_SIZE];
/// Both that no class serves.
const BIG: &[Size] = &[LARGE_SIZE, HUGE_SIZE];
const ALL: &[Size] = &[SMALL_SIZE, LARGE_SIZE, HUGE_SIZE];

const FOREIGN: &str = "free of foreign address 0x…";
const INSIDE: &str = "free of 0x…, 8 bytes into {block}-byte block 0x…";
const LONGER: &str = "free of {block}-byte block 0x… with a layout of {twice} bytes aligned to 8";
const SHORTER: &str = "free of {block}-byte block 0x… with a layout of {less} bytes aligned to 8";
const AS_LARGE: &str = "free of {block}-byte block 0x… with a layout of 204800 bytes aligned to 8";
const AS_SMALL: &str = "free of {block}-byte block 0x… with a layout of 56 bytes aligned to 8";
const ALIGNED: &str =
    "free of {block}-byte block 0x… with a layout of {asked} bytes aligned to 4096";
/// Without checks: what a slab says of a block that was freed as one of another class.
const AS_112: &str = "free of {block}-byte block 0x… as one of 112 bytes";
const AS_4096: &str = "free of {block}-byte block 0x… as one of 4096 bytes";
const TWICE: &str = "double free of {block}-byte block 0x…";
const PAST: &str = "write past the end of {asked} bytes at 0x…";
/// The canary of a layout that is six bytes shorter lies in the data.
const PAST_LESS: &str = "write past the end of {less} bytes at 0x…";
const AFTER: &str = "write after free in {block}-byte block 0x… at offset 8";

const THERE: &str = "the secret is there";
const GONE: &str = "the secret is gone";
const CAME_BACK: &str = "the block came back";
const STAYED_AWAY: &str = "the block stayed away";

/// A case, the sizes it is run with, and what is expected of it on each level.
type Row = (&'static str, &'static [Size], [Expect; 4]);

/// Expected on the levels off, boundary, full and hardened.
#[rustfmt::skip]
pub(crate) const LEVELS: &[Row] = &[
    // An address that is not this allocator's.
    // The system lets the stack grow down to where a header would be: it is there, and zero.
    ("foreign_stack", SMALL, [Later(FOREIGN), Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_stack", BIG, [Skip, Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_libc", ALL, [Skip, Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_other", SMALL, [Later(FOREIGN), Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_other", BIG, [Skip, Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_null", ALL, [Skip, Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_realloc", SMALL, [Later(FOREIGN), Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    ("foreign_realloc", BIG, [Skip, Now(FOREIGN), Now(FOREIGN), Now(FOREIGN)]),
    // Not the start of a block.
    ("interior", SMALL, [Skip, Now(INSIDE), Now(INSIDE), Now(INSIDE)]),
    ("interior", LARGE, [Skip, Now(INSIDE), Now(INSIDE), Now(INSIDE)]),
    ("interior", HUGE, [Now(FOREIGN), Now(INSIDE), Now(INSIDE), Now(INSIDE)]),
    ("interior_realloc", SMALL, [Skip, Now(INSIDE), Now(INSIDE), Now(INSIDE)]),
    ("interior_realloc", LARGE, [Skip, Now(INSIDE), Now(INSIDE), Now(INSIDE)]),
    ("interior_realloc", HUGE, [Now(FOREIGN), Now(INSIDE), Now(INSIDE), Now(INSIDE)]),
    // A wrong layout. Small blocks are told apart by their class only, unless there is a canary.
    ("size_same_class", SMALL, [Quiet, Quiet, Now(PAST_LESS), Now(PAST_LESS)]),
    ("size_same_class", BIG, [Quiet, Now(SHORTER), Now(SHORTER), Now(SHORTER)]),
    ("size_other_class", SMALL, [Later(AS_112), Now(LONGER), Now(LONGER), Now(LONGER)]),
    ("size_other_class", BIG, [Skip, Now(LONGER), Now(LONGER), Now(LONGER)]),
    ("size_other_kind", SMALL, [Skip, Now(AS_LARGE), Now(AS_LARGE), Now(AS_LARGE)]),
    ("size_other_kind", LARGE, [Later(FOREIGN), Now(AS_SMALL), Now(AS_SMALL), Now(AS_SMALL)]),
    ("size_other_kind", HUGE, [Skip, Now(AS_SMALL), Now(AS_SMALL), Now(AS_SMALL)]),
    ("size_realloc", SMALL, [Later(AS_112), Now(LONGER), Now(LONGER), Now(LONGER)]),
    ("size_realloc", BIG, [Skip, Now(LONGER), Now(LONGER), Now(LONGER)]),
    ("align_same_class", SMALL, [Quiet, Quiet, Quiet, Quiet]),
    ("align_other_class", SMALL, [Later(AS_4096), Now(ALIGNED), Now(ALIGNED), Now(ALIGNED)]),
    ("align_other_class", BIG, [Quiet, Now(ALIGNED), Now(ALIGNED), Now(ALIGNED)]),
    ("align_realloc", SMALL, [Quiet, Now(ALIGNED), Now(ALIGNED), Now(ALIGNED)]),
    ("align_realloc", BIG, [Quiet, Now(ALIGNED), Now(ALIGNED), Now(ALIGNED)]),
    // A block that is free. Without a canary a cached block looks live until it reaches its slab.
    ("double_free", SMALL, [Later(TWICE), Later(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free", LARGE, [Now(TWICE), Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free", HUGE, [Skip, Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_delayed", SMALL, [Later(TWICE), Later(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_delayed", BIG, [Skip, Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_other_thread", SMALL, [Later(TWICE), Later(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_other_thread", LARGE, [Now(TWICE), Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_other_thread", HUGE, [Skip, Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_flushed", SMALL, [Later(TWICE), Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_flushed", LARGE, [Now(TWICE), Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_flushed", HUGE, [Skip, Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_realloc", SMALL, [Later(TWICE), Later(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_realloc", LARGE, [Now(TWICE), Now(TWICE), Now(TWICE), Now(TWICE)]),
    ("double_free_realloc", HUGE, [Skip, Now(TWICE), Now(TWICE), Now(TWICE)]),
    // A write past the end, found by the free. Large blocks end in their last unit or OS page.
    ("overflow_1", SMALL, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_1", LARGE, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_1", HUGE, [Skip, Skip, Now(PAST), Now(PAST)]),
    ("overflow_16", SMALL, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_16", LARGE, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_16", HUGE, [Skip, Skip, Now(PAST), Now(PAST)]),
    // With `zero`, a small block that is all zero is like a free one.
    ("overflow_zeros", SMALL, [Quiet, Quiet, Now(PAST), Now(TWICE)]),
    ("overflow_zeros", LARGE, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_zeros", HUGE, [Skip, Skip, Now(PAST), Now(PAST)]),
    ("overflow_realloc", SMALL, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_realloc", LARGE, [Quiet, Quiet, Now(PAST), Now(PAST)]),
    ("overflow_realloc", HUGE, [Skip, Skip, Now(PAST), Now(PAST)]),
    // A use of a block that is free. A large block is unmapped, so the use itself faults.
    ("write_after_free", SMALL, [Quiet, Quiet, Later(AFTER), Later(AFTER)]),
    ("write_after_free", BIG, [Quiet, Quiet, Fault, Fault]),
    ("write_after_free_other_thread", SMALL, [Quiet, Quiet, Later(AFTER), Later(AFTER)]),
    ("write_after_free_other_thread", BIG, [Quiet, Quiet, Fault, Fault]),
    ("read_after_free", SMALL, [Says(THERE), Says(THERE), Says(GONE), Says(GONE)]),
    ("read_after_free", BIG, [Says(THERE), Says(THERE), Fault, Fault]),
    ("reuse", SMALL, [Says(CAME_BACK), Says(CAME_BACK), Says(CAME_BACK), Says(STAYED_AWAY)]),
    // A touch of a guard page.
    ("guard_behind", LARGE, [Quiet, Quiet, Skip, Fault]),
    ("guard_behind", HUGE, [Skip, Skip, Skip, Fault]),
    ("guard_before", LARGE, [Quiet, Quiet, Skip, Fault]),
    ("guard_before", HUGE, [Skip, Skip, Skip, Fault]),
    ("guard_slab", SMALL, [Quiet, Quiet, Quiet, Fault]),
    ("guard_header", SMALL, [Quiet, Quiet, Quiet, Fault]),
];

/// A name, what stands under `[validation]`, and what is expected.
type Single = (&'static str, &'static str, &'static [(&'static str, &'static [Size], Expect)]);

/// Single checks: each finds what it is for, and nothing of the others is left.
#[rustfmt::skip]
pub(crate) const SINGLES: &[Single] = &[
    ("foreign", "foreign = true", &[
        ("foreign_stack", ALL, Now(FOREIGN)),
        ("foreign_libc", ALL, Now(FOREIGN)),
        ("foreign_other", ALL, Now(FOREIGN)),
        ("foreign_realloc", ALL, Now(FOREIGN)),
        ("double_free", SMALL, Later(TWICE)),
        ("overflow_1", SMALL, Quiet),
        ("write_after_free", SMALL, Quiet),
        ("read_after_free", SMALL, Says(THERE)),
    ]),
    ("alignment", "foreign = true\nalignment = true", &[
        ("interior", ALL, Now(INSIDE)),
        ("interior_realloc", ALL, Now(INSIDE)),
        ("double_free", SMALL, Later(TWICE)),
        ("overflow_1", SMALL, Quiet),
    ]),
    ("size", "foreign = true\nsize = true", &[
        ("size_same_class", SMALL, Quiet),
        ("size_same_class", BIG, Now(SHORTER)),
        ("size_other_class", ALL, Now(LONGER)),
        ("size_other_kind", SMALL, Now(AS_LARGE)),
        ("size_other_kind", BIG, Now(AS_SMALL)),
        ("size_realloc", ALL, Now(LONGER)),
        ("align_other_class", ALL, Now(ALIGNED)),
        ("double_free", SMALL, Later(TWICE)),
    ]),
    ("double-free", "double_free = true", &[
        ("double_free", SMALL, Later(TWICE)),
        ("double_free", BIG, Now(TWICE)),
        ("double_free_delayed", BIG, Now(TWICE)),
        ("double_free_flushed", ALL, Now(TWICE)),
        ("double_free_other_thread", BIG, Now(TWICE)),
        ("overflow_1", SMALL, Quiet),
    ]),
    ("canary", "canary = true", &[
        ("overflow_1", ALL, Now(PAST)),
        ("overflow_16", ALL, Now(PAST)),
        ("overflow_realloc", ALL, Now(PAST)),
        ("size_same_class", SMALL, Now(PAST_LESS)),
        ("double_free", SMALL, Now(TWICE)),
        ("write_after_free", SMALL, Quiet),
        ("read_after_free", SMALL, Says(THERE)),
    ]),
    ("poison", "poison = true", &[
        ("write_after_free", SMALL, Later(AFTER)),
        ("write_after_free", BIG, Fault),
        ("write_after_free_other_thread", SMALL, Later(AFTER)),
        ("read_after_free", SMALL, Says(GONE)),
        ("read_after_free", BIG, Fault),
        ("double_free", SMALL, Later(TWICE)),
        ("overflow_1", SMALL, Quiet),
    ]),
    ("zero", "zero = true", &[
        ("read_after_free", ALL, Says(GONE)),
        ("write_after_free", SMALL, Quiet),
        ("reuse", SMALL, Says(CAME_BACK)),
    ]),
    ("quarantine", "quarantine = true", &[
        ("reuse", ALL, Says(STAYED_AWAY)),
        ("read_after_free", SMALL, Says(THERE)),
        ("double_free", SMALL, Later(TWICE)),
    ]),
    ("guard", "guard = true", &[
        ("guard_behind", BIG, Fault),
        ("guard_before", BIG, Fault),
        ("guard_slab", SMALL, Fault),
        ("guard_header", SMALL, Fault),
        ("overflow_1", BIG, Fault),
        ("overflow_1", SMALL, Quiet),
        ("write_after_free", BIG, Fault),
    ]),
    // A check may be taken from a level.
    ("full-without-canary", "level = \"full\"\ncanary = false", &[
        ("overflow_1", SMALL, Quiet),
        ("double_free", SMALL, Later(TWICE)),
        ("write_after_free", SMALL, Later(AFTER)),
    ]),
];
