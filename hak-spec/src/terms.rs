//! From `superslab` as written to the terms on which memory comes from the system and goes back.

use crate::raw;
use crate::spec::{Layers, Prefault, Purge, PurgeHow, SHARDS_AUTO, Superslab};

/// The terms of a spec that passed every rule; `None` when a value of them is broken. Without a
/// cache layer a thread keeps nothing, not even which shard is its own.
pub(crate) fn superslab(raw: &raw::Superslab, layers: Layers) -> Option<Superslab> {
    let shards = match layers {
        Layers::None => Some(1),
        _ => raw.shards.as_ref()?.value,
    };
    Some(Superslab {
        shards: shards.unwrap_or(SHARDS_AUTO),
        shards_by_processors: shards.is_none(),
        purge: purge(&raw.purge)?,
        limit: raw.limit.as_ref()?.value,
        huge_pages: raw.huge_pages.as_ref()?.value == "advise",
        prefault: match raw.prefault.as_ref()?.value {
            Some(false) => Prefault::None,
            None => Prefault::Growing,
            Some(true) => Prefault::All,
        },
    })
}

/// `Some(None)` when nothing is purged, `None` when a value is broken.
fn purge(raw: &raw::Purge) -> Option<Option<Purge>> {
    let how = match raw.how.as_ref()?.value.as_str() {
        "never" => return Some(None),
        "free" => PurgeHow::Free,
        _ => PurgeHow::DontNeed,
    };
    let (after_ms, helper) = (raw.after.as_ref()?.value, raw.helper.as_ref()?.value);
    Some(Some(Purge { after_ms, how, helper }))
}
