//! Many threads on every shipped spec, and on layers that none of them has, with all ways of
//! handing blocks over. `examples/soak.rs` runs the same for hours.

#[path = "support/stress.rs"]
mod stress;

use std::alloc::GlobalAlloc;

use hak::hak_allocator;
use stress::{Pattern, Plan};

hak_allocator!("specs/general.toml");
hak_allocator!("specs/web.toml");
hak_allocator!("specs/tiny.toml");
hak_allocator!("specs/hardened.toml");
hak_allocator!(struct Sharded = {
    schema = 1, extends = "general", superslab.shards = 4, cache.slots = 8, cache.depot = "8 KiB",
    superslab.purge = { after = "1 ms" }
});
hak_allocator!(struct Direct = { schema = 1, extends = "general", cache.layers = [] });
hak_allocator!(struct Lists = {
    schema = 1, extends = "general", cache.layers = ["freelist", "depot"],
    cache.adaptive = { min = 4, max = 64 }, cache.depot = "8 KiB",
});
hak_allocator!(struct Layered = {
    schema = 1, extends = "general", cache.layers = ["magazine", "freelist", "depot"],
    cache.adaptive = { min = 5, max = 64 }, cache.depot = "8 KiB",
});

/// Two, five and eleven threads with each pattern.
fn under_stress<A: GlobalAlloc + Sync>(allocator: &A, blocks_out: impl Fn() -> usize) {
    for (seed, pattern) in (1..).zip(Pattern::ALL) {
        for threads in [2, 5, 11] {
            let operations = 60_000 / threads;
            stress::run(allocator, Plan { threads, operations, pattern, seed });
        }
    }
    assert_eq!(blocks_out(), 0, "every block is back in its slab");
}

macro_rules! stress {
    ($($test:ident: $allocator:ident;)*) => {$(
        #[test]
        fn $test() {
            under_stress(&$allocator, || {
                $allocator::flush();
                $allocator::stats().classes.iter().map(|class| class.blocks_out).sum()
            });
        }
    )*};
}

stress! {
    general: General;
    web: Web;
    tiny: Tiny;
    hardened: Hardened;
    sharded: Sharded;
    direct: Direct;
    lists: Lists;
    layered: Layered;
}
