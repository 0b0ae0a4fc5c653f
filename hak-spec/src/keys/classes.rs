//! The top of a spec, `[allocator]` and `[classes]`: what it is called and which sizes there are.

use super::{CLASS, Key, Kind, SLOTS, key, table};

/// The top of the file and `[allocator]`.
pub(super) static TOP: &[Key] = &[
    key(
        "schema",
        Kind::Count(1, 1),
        None,
        "Version of the language, the one key every spec must have. An editor with TOML support \
         completes and checks keys when the file's first line is `#:schema PATH/hak.schema.json`.",
    ),
    key(
        "extends",
        Kind::Text,
        None,
        "What this spec starts from: the name of a shipped spec, or a file beside this one, \
         written with its ending (`\"base.toml\"`).",
    ),
    table("allocator", "What the generated type is called."),
    key(
        "allocator.name",
        Kind::Text,
        None,
        "Name of the Rust type. When left out it is the file's stem in UpperCamelCase: \
         `specs/web-api.toml` declares `WebApi`. Not inherited.",
    ),
    key(
        "allocator.summary",
        Kind::Text,
        Some(r#""""#),
        "First line of the type's rustdoc: whom the allocator is for. Not inherited.",
    ),
];

/// `[classes]`.
pub(super) static CLASSES: &[Key] = &[
    table(
        "classes",
        "The block sizes. A request is served by the smallest class that holds it and whose size \
         is a multiple of its alignment. `ladder` and `sizes` go together: a spec that writes one \
         of them takes neither from its base, and `sizes` without `ladder` means there is no \
         ladder. Every class is a multiple of 8 bytes; there are at most 128.",
    ),
    table(
        "classes.ladder",
        "Sizes by rule: multiples of `quantum` up to `linear_to`, then `steps_per_doubling` equal \
         steps for each doubling, up to `max`.",
    ),
    key(
        "classes.ladder.quantum",
        Kind::Bytes(16, 4096),
        Some("16"),
        "Smallest class, and what every class of the ladder is a multiple of: a power of two.",
    ),
    key(
        "classes.ladder.linear_to",
        CLASS,
        Some("128"),
        "Where the steps of `quantum` end and those per doubling begin: a multiple of `quantum`.",
    ),
    key(
        "classes.ladder.steps_per_doubling",
        Kind::Count(1, 16),
        Some("4"),
        "Classes for each doubling: 1, 2, 4, 8 or 16. More of them waste fewer bytes in each \
         block, but spread the blocks over more slabs. The first step, `linear_to` / \
         `steps_per_doubling`, must be a multiple of `quantum`.",
    ),
    key(
        "classes.ladder.max",
        CLASS,
        Some(r#""32 KiB""#),
        "Largest class of the ladder, exactly. What is larger than every class becomes a span of \
         64 KiB units (see `large.spans_to`).",
    ),
    key(
        "classes.sizes",
        Kind::Sizes,
        Some("[]"),
        "Exact sizes, from small to large, added to the ladder or instead of one.",
    ),
    key(
        "classes.tune",
        Kind::Tables,
        None,
        "What differs for one class. Entries of a base are matched by `size` and merged key by \
         key; those for a class this spec does not have are left out.",
    ),
    key("classes.tune.size", CLASS, None, "The class: one of the sizes of the spec."),
    key(
        "classes.tune.slots",
        SLOTS,
        None,
        "Blocks one magazine of this class holds. Together they may not exceed `cache.bytes`.",
    ),
    key(
        "classes.tune.refill",
        SLOTS,
        None,
        "Blocks of this class fetched from slabs at once; at most its slots.",
    ),
    key(
        "classes.tune.prewarm",
        SLOTS,
        None,
        "Blocks fetched when a thread first uses this class; at most its slots.",
    ),
];
