//! `[cache]`: what each thread keeps, and what threads hand to each other.

use super::{Key, Kind, SLOTS, key, table};
use crate::spec::{CLASS_BYTES_MIN, SLOTS_MAX, SPARES_MAX};

/// `[cache]`.
pub(super) static CACHE: &[Key] = &[
    table("cache", "What each thread keeps, and what threads hand to each other."),
    key(
        "cache.layers",
        Kind::Words(&["magazine", "freelist", "depot"]),
        Some(r#"["magazine", "depot"]"#),
        "Layers between a thread and the slabs, in look-up order. `magazine`: the thread keeps \
         arrays of pointers to free blocks. `freelist`: it keeps chains, free blocks that are \
         linked through their own memory; with both, an array stands in front of the chains. \
         `depot`, always last: threads hand each other full magazines, or whole chains, through \
         it. `[]`: nothing is kept per thread, each alloc and dealloc goes to the slabs, the \
         former under the class's lock; least memory. A layer that is not named leaves no \
         instruction and no field behind. Without a cache layer, with `[]`, all keys of `[cache]` \
         but this one have no meaning: inherited ones are left out, and each of the spec's own is \
         refused; so it is with `slots`, `refill` and `prewarm` of `[[classes.tune]]`, `hit`, \
         `room` and `prefetch` of `[hints]`, `random` and `quarantine` of `[validation]`, and with \
         `superslab.shards`, which then is 1.",
    ),
    key(
        "cache.slots",
        SLOTS,
        Some("64"),
        "Blocks of one parcel: what a thread exchanges with the depot as a whole. A magazine of \
         the layer `magazine`, a chain of the layer `freelist`; with both layers the magazine has \
         these slots, and a chain half of them, rounded up. A thread has up to two parcels for \
         each class it uses, unless `adaptive` says otherwise.",
    ),
    key(
        "cache.bytes",
        Kind::Bytes(16, 16 << 20),
        Some(r#""64 KiB""#),
        "Bytes that the blocks of one parcel take at most, so that large classes get fewer slots \
         (but always one).",
    ),
    table(
        "cache.refill",
        "Blocks fetched from slabs at once when the thread's own and the depot's are used up; \
         never more than the class has slots.",
    ),
    key("cache.refill.hot", SLOTS, Some("64"), "For the classes of `hints.hot`."),
    key("cache.refill.mid", SLOTS, Some("8"), "For other classes of more than 1 KiB."),
    key("cache.refill.default", SLOTS, Some("16"), "For all other classes."),
    key(
        "cache.prewarm",
        SLOTS,
        None,
        "Blocks fetched when a thread first uses a class, but never more than the class has slots. \
         When left out: the class's refill.",
    ),
    key(
        "cache.depot",
        Kind::Bytes(0, 1 << 30),
        Some(r#""1 MiB""#),
        "Bytes of full parcels the depot keeps for each class (of each shard, see \
         `superslab.shards`), for whichever thread asks next. Without the layer `depot` \
         an inherited value has no meaning, and one of the spec's own is refused.",
    ),
    key(
        "cache.limit",
        Kind::Or("none", &Kind::Bytes(CLASS_BYTES_MIN as u64, 1 << 40)),
        Some(r#""64 MiB""#),
        "Bytes that the parcels of all threads together may hold, so that many threads which \
         once were busy do not keep blocks for ever. A parcel counts with its slots times the \
         block size from the moment a thread has it, full or empty; what the depot keeps does not \
         count. A thread that finds the limit reached works with one parcel for the class \
         instead of two, or with none: then each alloc and dealloc of the class goes to the slabs, \
         the former under the class's lock. The least is one magazine of the class whose \
         magazines are largest.",
    ),
    key(
        "cache.adaptive",
        Kind::Or("none", &Kind::Table),
        Some(r#""none""#),
        "Capacity that follows use, `{ min = 16, max = 256 }`: a parcel has `min` slots, and \
         beside the one it works on a thread keeps as many spare ones as hold `min` to `max` \
         blocks. How many is decided on slow paths, by how often the thread comes there, so that \
         the path of a hit is the same as without. A spec that writes `adaptive` takes neither \
         bound from its base, and needs both; `\"none\"` turns off what a base says.",
    ),
    key(
        "cache.adaptive.min",
        SLOTS,
        None,
        "Slots of a parcel, in the place of `cache.slots`: an inherited `slots` has no meaning \
         then, and one beside it is refused. `cache.bytes` bounds it too, and the `slots` of \
         `[[classes.tune]]` go before it.",
    ),
    key(
        "cache.adaptive.max",
        Kind::Count(1, SLOTS_MAX as u64 * SPARES_MAX as u64),
        None,
        "Blocks in spare parcels at most: twice `min` to 64 times `min`, rounded down to whole \
         parcels.",
    ),
];
