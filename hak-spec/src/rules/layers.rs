//! Rules about `cache.layers`, and about what has no meaning without one of them.

use crate::problem::{Problems, is_own};
use crate::raw::{Raw, Value};
use crate::units::show;

/// Keys that are about what a thread keeps. `superslab.shards` is among them since a thread's
/// shard is a part of that.
const OF_A_CACHE: [&str; 13] = [
    "cache.slots",
    "cache.bytes",
    "cache.refill.hot",
    "cache.refill.mid",
    "cache.refill.default",
    "cache.prewarm",
    "cache.depot",
    "cache.limit",
    "cache.adaptive",
    "hints.hit",
    "hints.room",
    "hints.prefetch",
    "superslab.shards",
];

/// `cache.layers` names each layer once.
pub(crate) fn layers_are_named_once(raw: &Raw, problems: &mut Problems) {
    let Some(layers) = &raw.layers else { return };
    for (index, layer) in layers.value.iter().enumerate() {
        if layers.value[..index].iter().any(|other| other.value == layer.value) {
            let message = format!("layer `{}` is named twice", layer.value);
            problems.add(layer.at.as_ref(), message).help("a layer is there once or not at all");
        }
    }
}

/// The depot takes what a thread's own cache gives it, so it never stands alone.
pub(crate) fn depot_has_a_layer_in_front(raw: &Raw, problems: &mut Problems) {
    let (Some(names), Some(layers)) = (raw.layer_names(), &raw.layers) else { return };
    if names == ["depot"] {
        let message = "the depot keeps what threads fill, and without a layer in front they have \
                       nothing to fill";
        let draft = problems.add(layers.at.as_ref(), message);
        draft.help("write `layers = [\"magazine\", \"depot\"]` or `[\"freelist\", \"depot\"]`");
    }
}

/// Layers stand in look-up order: magazine, freelist, depot.
pub(crate) fn layers_are_in_order(raw: &Raw, problems: &mut Problems) {
    const ORDER: [&str; 3] = ["magazine", "freelist", "depot"];
    let Some(layers) = &raw.layers else { return };
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    for pair in layers.value.windows(2) {
        if place(&pair[0].value) > place(&pair[1].value) {
            let message = format!("layer `{}` follows `{}`", pair[1].value, pair[0].value);
            let draft = problems.add(pair[1].at.as_ref(), message);
            draft.help(match pair[0].value.as_str() {
                "depot" => "the depot is asked when all that a thread has is used up: name it last",
                _ => "the array is looked into before the chains behind it: name `magazine` first",
            });
        }
    }
}

/// `cache.depot` is not written where there is no depot.
pub(crate) fn depot_is_used(raw: &Raw, problems: &mut Problems) {
    let (Some(names), Some(layers), Some(depot)) = (raw.layer_names(), &raw.layers, &raw.depot)
    else {
        return;
    };
    let has_cache_only = !names.is_empty() && !names.contains(&"depot");
    if has_cache_only && is_own(depot.at.as_ref(), layers.depth()) {
        let bytes = show(depot.value);
        let message = format!("`cache.depot` is {bytes}, but `cache.layers` is `{names:?}`");
        let draft = problems.add_pair((depot.at.as_ref(), layers.at.as_ref()), message);
        draft.help("name the layer `depot`, or leave the key out");
    }
}

/// What is about a thread's own cache is not written where there is none.
pub(crate) fn cache_keys_need_a_layer(raw: &Raw, problems: &mut Problems) {
    let Some(layers) = raw.layers.as_ref().filter(|_| raw.has_no_cache()) else { return };
    for path in OF_A_CACHE {
        let Some(written) = raw.values.get(path) else { continue };
        if written.depth() <= layers.depth() && !asks_for_nothing(path, &written.value) {
            let message = format!("`{path}` has no meaning without a cache layer");
            let draft = problems.add_pair((written.at.as_ref(), layers.at.as_ref()), message);
            draft.help("name a layer in `cache.layers`, or leave the key out");
        }
    }
}

/// Whether a value is what is done without a cache anyway. A broken one was reported.
fn asks_for_nothing(path: &str, value: &Value) -> bool {
    match value {
        Value::Broken => true,
        Value::Number(count) => path == "superslab.shards" && *count == 1,
        Value::Text(word) => word == "none",
        Value::Flag(flag) => !flag,
        _ => false,
    }
}

/// A class's own counts are not written where no thread keeps blocks.
pub(crate) fn tuned_counts_need_a_layer(raw: &Raw, problems: &mut Problems) {
    let Some(layers) = raw.layers.as_ref().filter(|_| raw.has_no_cache()) else { return };
    for tune in &raw.tunes {
        let counts = [("slots", &tune.slots), ("refill", &tune.refill), ("prewarm", &tune.prewarm)];
        for (name, count) in counts {
            let Some(Some(count)) = count else { continue };
            if count.depth() <= layers.depth() {
                let bytes = show(tune.size.value.into());
                let message = format!(
                    "`{name}` of the class of {bytes} has no meaning without a cache layer"
                );
                let draft = problems.add_pair((count.at.as_ref(), layers.at.as_ref()), message);
                draft.help("name a layer in `cache.layers`, or leave the key out");
            }
        }
    }
}
