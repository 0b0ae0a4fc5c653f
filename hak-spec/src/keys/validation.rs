//! `[validation]`: what is checked while the program runs. A check is a bit, a level is a sum.

use super::{Key, Kind, key, table};

/// `[validation]`.
pub(super) static VALIDATION: &[Key] = &[
    table(
        "validation",
        "What is checked while the program runs. `level` names a sum of checks, and each check may \
         be added to it or taken from it by its own key. A check that fails writes one line to \
         standard error, such as `hak: Web: double free of 64-byte block 0x7f30c0a1e400`, and \
         aborts the program. A check that is off leaves no instruction behind. A spec that writes \
         `level` takes no single checks from its base; one that does not adds its own to those of \
         the base.",
    ),
    key(
        "validation.level",
        Kind::Word(&["off", "boundary", "full", "hardened"]),
        Some(r#""off""#),
        "A sum of checks. `\"boundary\"` judges what the program hands back: `foreign`, \
         `alignment`, `size`, `double_free`. `\"full\"` also finds wrong writes: `canary` and \
         `poison`. `\"hardened\"` is all of them: `zero`, `random`, `quarantine` and `guard` make \
         mistakes that are not found harder to use.",
    ),
    check(
        "validation.foreign",
        "Free of an address that is in no slab and no large block of this allocator. Catches \
         memory of another allocator, of the stack, of statics, and what was unmapped. Needs a \
         map of all superslabs, looked up at each free.",
    ),
    check(
        "validation.alignment",
        "Free of a pointer that lies in a block, but not at its start. Catches pointers that were \
         moved, or that belong to a part of an object. Needs `foreign`: a pointer is judged by \
         the slab it lies in.",
    ),
    check(
        "validation.size",
        "Free or resize with a Layout that is not the one of the alloc: of another class, or, for \
         a large block, of another size or alignment. Catches a wrong Layout, which would put the \
         block among those of another class. Two Layouts of one class are not told apart. Needs \
         `foreign`.",
    ),
    check(
        "validation.double_free",
        "Free of a block that is free. Catches a small block whose free bit is set when it is \
         freed, and a second time when it goes back from a thread's cache to its slab; together \
         with `canary` each at once, since a free block carries a mark. A large block is found at \
         once. Needs nothing, but takes the address at its word: one that is nobody's may end the \
         program by a fault without a line, unless `foreign` looked at it. Without it a double \
         free is still found when the block goes back.",
    ),
    check(
        "validation.canary",
        "Write past the end of a block. A word of 8 bytes stands right behind the size that was \
         asked for, written at alloc, compared at dealloc and at a resize. Catches overruns, by \
         one byte too, when the block is freed. A request grows by 8 bytes before its class is \
         chosen, so that a class serves 8 bytes less than its size. Cannot go with the layer \
         `freelist`, whose links lie in free blocks.",
    ),
    check(
        "validation.poison",
        "Write after free. A freed block is filled with a pattern, and when it is handed out again \
         the whole block is compared. Catches a write through a pointer that is no longer valid, \
         when the block is reused, and makes what is read through one easy to recognise. Large \
         requests become mappings of their own that go back to the system when they are freed, so \
         that a late access faults: `large.spans_to` and `large.keep` have no meaning then; \
         inherited ones are left out, and each of the spec's own is refused. Cannot go with the \
         layer `freelist`, whose links lie in free blocks.",
    ),
    check(
        "validation.zero",
        "Memory is filled with zeros when it is freed; with `poison` zero is the pattern. Keeps \
         secrets of the program from whoever is given the block next, or reads it too late. Needs \
         nothing.",
    ),
    check(
        "validation.random",
        "alloc takes a block out of a random slot of the loaded magazine. Makes it hard to \
         foretell which block a request is given, and which one is beside it. Needs the layer \
         `magazine`.",
    ),
    check(
        "validation.quarantine",
        "A freed block is not reused before others of its class have been freed after it: it waits \
         in a ring of the thread's own. Catches, with `double_free` or `poison`, mistakes that \
         come late, and makes blocks that are used after free less useful. Needs a cache layer.",
    ),
    check(
        "validation.guard",
        "Pages that cannot be read or written: the last 4096 bytes of each slab, the page behind a \
         superslab's metadata, and the pages before and behind each large block. Catches overruns \
         that run on, at the instruction that does it. A class has fewer blocks in a slab, and \
         each slab and each large block takes system calls. Large requests become mappings of \
         their own as with `poison`: of the spec's own `large.spans_to` and `large.keep` each is \
         refused. Needs nothing.",
    ),
    key(
        "validation.quarantine_bytes",
        Kind::Bytes(16, 16 << 20),
        Some(r#""16 KiB""#),
        "Bytes of freed blocks of one class that a thread holds back: at least one block, and at \
         most 1024. Of large blocks the last 32 wait, 64 MiB at most, whatever stands here. \
         Without `quarantine` an inherited value has no meaning, and one of the spec's own is \
         refused.",
    ),
    key(
        "validation.seed",
        Kind::Count(0, i64::MAX as u64),
        None,
        "Where the order of `random` begins, so that a test can repeat it. When left out the \
         system gives one; write it in tests only, since a known order protects from nothing. \
         Without `random` an inherited value has no meaning, and one of the spec's own is refused.",
    ),
];

/// A check: silence means what the level says.
const fn check(path: &'static str, doc: &'static str) -> Key {
    key(path, Kind::Flag, None, doc)
}
