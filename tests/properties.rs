//! Random programs of alloc, alloc_zeroed, realloc and dealloc on every shipped spec, and on specs
//! whose classes or layers differ in kind.

#[path = "support/model.rs"]
mod model;

use std::alloc::GlobalAlloc;

use hak::hak_allocator;
use model::{Model, Op};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const MIB: usize = 1 << 20;

hak_allocator!("specs/general.toml");
hak_allocator!("specs/web.toml");
hak_allocator!("specs/tiny.toml");
hak_allocator!(struct MagazineOnly = {
    schema = 1, extends = "general", cache.layers = ["magazine"], cache.slots = 3
});
hak_allocator!(struct OddSizes = { schema = 1, classes.sizes = [24, 40, 56, 104, 1000, 4112] });
hak_allocator!(struct OneClass = { schema = 1, classes.sizes = [64], hints.small = "unlikely" });
hak_allocator!(struct Linear = {
    schema = 1,
    classes.sizes = [32, 64, 96, 128, 160, 192, 224, 256],
    cache.slots = 1, cache.refill = { default = 1 }, large.spans_to = "64 KiB", large.keep = 0,
});

hak_allocator!(struct LargeClasses = {
    schema = 1,
    classes.ladder = { linear_to = 16, steps_per_doubling = 1, max = "128 KiB" },
});

hak_allocator!(struct NoLayers = { schema = 1, extends = "general", cache.layers = [] });
hak_allocator!(struct Freelist = {
    schema = 1, extends = "general", cache.layers = ["freelist"], cache.slots = 5
});
hak_allocator!(struct FreelistDepot = {
    schema = 1, extends = "general", cache.layers = ["freelist", "depot"]
});
hak_allocator!(struct MagazineFreelist = {
    schema = 1, extends = "general", cache.layers = ["magazine", "freelist"], cache.slots = 5
});
hak_allocator!(struct MagazineFreelistDepot = {
    schema = 1, extends = "general", cache.layers = ["magazine", "freelist", "depot"]
});
hak_allocator!(struct AdaptiveMagazine = {
    schema = 1, extends = "general", cache.adaptive = { min = 4, max = 64 }
});
hak_allocator!(struct AdaptiveFreelist = {
    schema = 1, extends = "general", cache.layers = ["freelist", "depot"],
    cache.adaptive = { min = 4, max = 64 }
});
hak_allocator!(struct AdaptiveLayered = {
    schema = 1, extends = "general", cache.layers = ["magazine", "freelist"],
    cache.adaptive = { min = 4, max = 64 }
});

hak_allocator!(struct Watched = {
    schema = 1, extends = "general", cache.slots = 5, cache.refill = { default = 3 },
    stats = { counters = true, profile = true, sample_bytes = 100 }
});
hak_allocator!(struct WatchedDirect = {
    schema = 1, extends = "general", cache.layers = [],
    stats = { counters = true, profile = true, sample_bytes = 100 }
});
hak_allocator!(struct Hinted = {
    schema = 1, extends = "general", cache.slots = 3,
    hints.inline = "constant", hints.prefetch = true,
});

// The sweep runs beside the properties, so it has allocators of its own.
hak_allocator!(struct GeneralSwept = "specs/general.toml");
hak_allocator!(struct WebSwept = "specs/web.toml");
hak_allocator!(struct TinySwept = "specs/tiny.toml");
hak_allocator!(struct HardenedSwept = "specs/hardened.toml");
hak_allocator!(struct LargeSwept = {
    schema = 1,
    classes.ladder = { linear_to = 64, steps_per_doubling = 2, max = "128 KiB" },
});
hak_allocator!(struct Boundary = {
    schema = 1, extends = "general", validation.level = "boundary"
});
hak_allocator!(struct Full = { schema = 1, extends = "general", validation.level = "full" });
hak_allocator!(struct Hardened = "specs/hardened.toml");
hak_allocator!(struct CanaryOnly = {
    schema = 1, extends = "general", cache.slots = 3, validation.canary = true
});
hak_allocator!(struct ZeroFreelist = {
    schema = 1, extends = "general", cache.layers = ["freelist", "depot"], validation.zero = true
});
hak_allocator!(struct CheckedDirect = {
    schema = 1, extends = "general", cache.layers = [], validation.level = "full"
});
hak_allocator!(struct OddSwept = { schema = 1, classes.sizes = [24, 40, 56, 104, 1000, 4112] });

/// Sizes from nothing to 64 MiB, each magnitude as likely as the next below 64 KiB.
fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        1 => Just(0usize),
        40 => (0u32..16).prop_flat_map(|bits| (1usize << bits) / 2..=(1 << bits)),
        4 => (64usize << 10)..=2 * MIB,
        1 => (2 * MIB)..=64 * MIB,
    ]
}

/// Alignments from 1 to 64 MiB, small ones mostly.
fn alignments() -> impl Strategy<Value = usize> {
    prop_oneof![
        12 => (0u32..=4).prop_map(|bits| 1usize << bits),
        4 => (5u32..=16).prop_map(|bits| 1usize << bits),
        1 => (17u32..=26).prop_map(|bits| 1usize << bits),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => (sizes(), alignments(), any::<bool>())
            .prop_map(|(size, align, zeroed)| Op::Alloc { size, align, zeroed }),
        2 => (any::<usize>(), sizes())
            .prop_map(|(nth, size)| Op::Realloc { nth, size: size.max(1) }),
        3 => any::<usize>().prop_map(|nth| Op::Dealloc { nth }),
    ];
    prop::collection::vec(op, 1..400)
}

/// Runs random programs; after each one everything must have returned to its slab.
fn holds<A: GlobalAlloc>(allocator: &A, blocks_out: impl Fn() -> usize) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) };
    TestRunner::new(config)
        .run(&ops(), |ops| {
            let mut model = Model::new(allocator, 512 * MIB);
            ops.iter().for_each(|op| model.apply(op));
            model.finish();
            prop_assert_eq!(blocks_out(), 0, "every block is back in its slab");
            Ok(())
        })
        .unwrap();
}

macro_rules! properties {
    ($($test:ident: $allocator:ident;)*) => {$(
        #[test]
        fn $test() {
            holds(&$allocator, || {
                $allocator::flush();
                $allocator::stats().classes.iter().map(|class| class.blocks_out).sum()
            });
        }
    )*};
}

properties! {
    general: General;
    web: Web;
    tiny: Tiny;
    magazine_only: MagazineOnly;
    odd_sizes: OddSizes;
    one_class: OneClass;
    linear: Linear;
    large_classes: LargeClasses;
    no_layers: NoLayers;
    freelist: Freelist;
    freelist_depot: FreelistDepot;
    magazine_freelist: MagazineFreelist;
    magazine_freelist_depot: MagazineFreelistDepot;
    adaptive_magazine: AdaptiveMagazine;
    adaptive_freelist: AdaptiveFreelist;
    adaptive_layered: AdaptiveLayered;
    boundary: Boundary;
    full: Full;
    hardened: Hardened;
    canary_only: CanaryOnly;
    zero_freelist: ZeroFreelist;
    checked_direct: CheckedDirect;
    hinted: Hinted;
}

/// With counters and samples: in the end nothing is live by any of them, either.
macro_rules! watched {
    ($($test:ident: $allocator:ident;)*) => {$(
        #[test]
        fn $test() {
            holds(&$allocator, || {
                let (counted, sampled) = ($allocator::counters(), $allocator::profile());
                let live = counted.classes.iter().map(|class| class.live()).sum::<u64>();
                assert_eq!(live + counted.large.live(), 0);
                let live = sampled.classes.iter().map(|class| class.live).sum::<u64>();
                assert_eq!(live + sampled.large.live, 0);
                $allocator::flush();
                $allocator::stats().classes.iter().map(|class| class.blocks_out).sum()
            });
        }
    )*};
}

watched! {
    watched: Watched;
    watched_without_layers: WatchedDirect;
}

/// The sweep in which most allocators that mis-serve alignments are caught: every size class
/// boundary with every alignment, and up and down from there by realloc.
#[test]
fn every_alignment_at_every_class_boundary() {
    sweep(&GeneralSwept, &GeneralSwept::stats().classes.map(|class| class.bytes));
    sweep(&WebSwept, &WebSwept::stats().classes.map(|class| class.bytes));
    sweep(&TinySwept, &TinySwept::stats().classes.map(|class| class.bytes));
    sweep(&HardenedSwept, &HardenedSwept::stats().classes.map(|class| class.bytes));
    sweep(&LargeSwept, &LargeSwept::stats().classes.map(|class| class.bytes));
    sweep(&OddSwept, &OddSwept::stats().classes.map(|class| class.bytes));
}

fn sweep<A: GlobalAlloc>(allocator: &A, boundaries: &[usize]) {
    for align in (0..=26).map(|bits| 1usize << bits) {
        let mut model = Model::new(allocator, usize::MAX);
        for &boundary in boundaries {
            for size in [boundary - 1, boundary, boundary + 1] {
                model.apply(&Op::Alloc { size, align, zeroed: size % 2 == 0 });
                // The block just made stands at some place; resizing any keeps all honest.
                model.apply(&Op::Realloc { nth: size, size: size * 2 });
                model.apply(&Op::Realloc { nth: size * 7, size: size / 2 + 1 });
            }
        }
        model.finish();
    }
}
