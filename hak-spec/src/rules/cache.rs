//! Rules about counts: what fits in a parcel, and within which bounds its number may follow use.

use crate::classes;
use crate::problem::{Problems, is_own};
use crate::raw::Raw;
use crate::spec::SPARES_MAX;
use crate::units::{show, show_written};

/// A class's own slots keep to `cache.bytes`.
pub(crate) fn tuned_slots_fit_in_bytes(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let Some(bytes) = &raw.bytes else { return };
    for tune in raw.tunes.iter().filter(|tune| sizes.contains(&tune.size.value)) {
        let Some(Some(slots)) = &tune.slots else { continue };
        let size = tune.size.value;
        let total = slots.value * size;
        if slots.value > 1 && total > bytes.value {
            let (total, max) = (show(total.into()), show_written(bytes));
            let message = format!(
                "{} slots of {size} bytes are {total}, more than the `cache.bytes` of {max}",
                slots.value
            );
            let draft = problems.add_pair((slots.at.as_ref(), bytes.at.as_ref()), message);
            let most = (bytes.value / size).max(1);
            draft.help(format!(
                "at most {most} fit: write `slots = {most}`, or raise `cache.bytes`"
            ));
        }
    }
}

/// A class's own refill fits in one of its magazines.
pub(crate) fn tuned_refill_fits_in_slots(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    for tune in raw.tunes.iter().filter(|tune| sizes.contains(&tune.size.value)) {
        if let Some(Some(refill)) = &tune.refill {
            classes::must_fit_in_slots(raw, tune, "refill", refill, problems);
        }
    }
}

/// A class's own prewarm fits in one of its magazines.
pub(crate) fn tuned_prewarm_fits_in_slots(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    for tune in raw.tunes.iter().filter(|tune| sizes.contains(&tune.size.value)) {
        if let Some(Some(prewarm)) = &tune.prewarm {
            classes::must_fit_in_slots(raw, tune, "prewarm", prewarm, problems);
        }
    }
}

/// A prewarm for all classes fits in the slots that the spec gives them.
pub(crate) fn prewarm_fits_in_slots(raw: &Raw, _: &[u32], problems: &mut Problems) {
    let (Some(Some(prewarm)), Some(slots)) = (&raw.prewarm, &raw.slots) else { return };
    let has_slots = raw.adaptive.as_ref().is_some_and(|adaptive| adaptive.value.is_none());
    if has_slots && prewarm.value > slots.value && is_own(prewarm.at.as_ref(), slots.depth()) {
        let (blocks, slots_shown) = (prewarm.value, slots.value);
        let message = format!(
            "`cache.prewarm` of {blocks} is above the `cache.slots` of {slots_shown}{}",
            slots.origin()
        );
        let draft = problems.add_pair((prewarm.at.as_ref(), slots.at.as_ref()), message);
        draft.help(format!(
            "a thread's first magazine holds no more: write `prewarm = {slots_shown}`, or raise \
             `slots`"
        ));
    }
}

/// `cache.limit` has room for a magazine of each class: a class without one is never cached.
pub(crate) fn cache_limit_holds_a_magazine(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let (Some(limit), Some(bytes)) = (&raw.cache_limit, &raw.bytes) else { return };
    let magazine = |size: &u32| Some((classes::slots(raw, *size)? * size, *size));
    let largest = sizes.iter().filter_map(magazine).max();
    let (Some(most), Some((magazine, size))) = (limit.value, largest) else { return };
    if most < magazine.into() {
        let (slots, least) = (magazine / size, show(magazine.into()));
        let has_magazine = raw.layer_names().is_none_or(|names| names.contains(&"magazine"));
        let noun = if has_magazine { "magazine" } else { "chain" };
        let message = format!(
            "`cache.limit` of {} is below one {noun} of the class of {}: {slots} slots, {least}",
            show(most),
            show(size.into())
        );
        let draft = problems.add_pair((limit.at.as_ref(), bytes.at.as_ref()), message);
        draft.help(format!("write at least `limit = \"{least}\"`, or make {noun}s smaller"));
    }
}

/// `cache.adaptive` needs both bounds.
pub(crate) fn adaptive_has_both_bounds(raw: &Raw, problems: &mut Problems) {
    let Some(adaptive) = &raw.adaptive else { return };
    let Some(bounds) = &adaptive.value else { return };
    for (name, bound) in [("min", &bounds.min), ("max", &bounds.max)] {
        if bound.is_none() {
            let message = format!("`cache.adaptive` has no `{name}`");
            let draft = problems.add(adaptive.at.as_ref(), message);
            draft.help("it takes two numbers of blocks, as in `{ min = 16, max = 256 }`");
        }
    }
}

/// `cache.adaptive` goes from `min` to at least twice that: a spare parcel is a whole one.
pub(crate) fn adaptive_bounds_grow(raw: &Raw, problems: &mut Problems) {
    let Some([min, max]) = raw.bounds() else { return };
    let at = (max.at.as_ref(), min.at.as_ref());
    if max.value < min.value {
        let (min, max) = (min.value, max.value);
        let message =
            format!("`cache.adaptive` is the wrong way round: from `min = {min}` to `max = {max}`");
        let draft = problems.add_pair(at, message);
        draft.help(match (2..=SPARES_MAX).contains(&(min / max)) {
            true => format!("write `{{ min = {max}, max = {min} }}`"),
            false => format!("`max` is 2 to {SPARES_MAX} times `min`"),
        });
    } else if max.value < 2 * min.value {
        let message =
            format!("`max` of {} is less than twice the `min` of {}", max.value, min.value);
        let draft = problems.add_pair(at, message);
        draft.help(format!(
            "a spare parcel has `min` slots, and there must be room for two: write at least \
             `max = {}`; for a fixed capacity leave `adaptive` out and write `slots`",
            2 * min.value
        ));
    }
}

/// `cache.adaptive` keeps to a number of spare parcels that a thread has room for.
pub(crate) fn adaptive_spares_are_few(raw: &Raw, problems: &mut Problems) {
    let Some([min, max]) = raw.bounds() else { return };
    let spares = max.value / min.value;
    if spares > SPARES_MAX {
        let message = format!(
            "`max` of {} is {spares} times the `min` of {}; expected at most {SPARES_MAX} times",
            max.value, min.value
        );
        let draft = problems.add_pair((max.at.as_ref(), min.at.as_ref()), message);
        let (most, least) = (min.value * SPARES_MAX, max.value.div_ceil(SPARES_MAX));
        draft.help(format!("write at most `max = {most}`, or at least `min = {least}`"));
    }
}

/// `cache.slots` is not written beside `cache.adaptive`, whose `min` stands for it.
pub(crate) fn adaptive_replaces_slots(raw: &Raw, problems: &mut Problems) {
    let (Some(adaptive), Some(slots)) = (&raw.adaptive, &raw.slots) else { return };
    let is_own = is_own(slots.at.as_ref(), adaptive.depth());
    if adaptive.value.is_some() && is_own && !raw.has_no_cache() {
        let message =
            format!("`cache.slots` is {}, but `cache.adaptive` says how many slots", slots.value);
        let draft = problems.add_pair((slots.at.as_ref(), adaptive.at.as_ref()), message);
        draft.help(match slots.depth() == adaptive.depth() {
            true => "its `min` is the number of slots: leave one of the two out",
            false => "leave `slots` out, or turn off what the base says: `adaptive = \"none\"`",
        });
    }
}
