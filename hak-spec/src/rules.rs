//! Meaning: one rule, one function, one sentence. Each has a case of its name in `tests/reject`.

use crate::classes;
use crate::names::is_identifier;
use crate::problem::{At, Located, Problems};
use crate::raw::Raw;
use crate::spec::{CLASSES_MAX, UNIT_BYTES};
use crate::units::{show, show_time, show_written};
use crate::words::shown;

/// A spec needs a type name: its own, or one its file's stem yields.
pub(crate) fn name_is_given(raw: &Raw, problems: &mut Problems) {
    if raw.name.is_none() && !is_identifier(&raw.default_name) {
        let start = At { file: 0, span: 0..0 };
        let message = "`allocator.name` is missing, and the file's name yields no Rust type name";
        problems.add(Some(&start), message).help("say it: `allocator.name = \"MyAllocator\"`");
    }
}

/// `allocator.name` is a Rust identifier and not a keyword.
pub(crate) fn name_is_an_identifier(raw: &Raw, problems: &mut Problems) {
    let Some(Some(name)) = &raw.name else { return };
    if !is_identifier(&name.value) {
        let message = format!("`{}` cannot be the name of a Rust type", shown(&name.value));
        let draft = problems.add(name.at.as_ref(), message);
        draft.help("use ASCII letters, digits and `_`, no digit first, no keyword, as in `WebApi`");
    }
}

/// `allocator.summary` is one line.
pub(crate) fn summary_is_one_line(raw: &Raw, problems: &mut Problems) {
    let Some(summary) = &raw.summary else { return };
    if summary.value.contains(char::is_control) {
        let message = "`allocator.summary` is more than one line of plain text";
        let draft = problems.add(summary.at.as_ref(), message);
        draft.help("say it in one sentence; the rest fits in a comment");
    }
}

/// `quantum` is a power of two, so that a request's class is found by a shift.
pub(crate) fn quantum_is_a_power_of_two(raw: &Raw, problems: &mut Problems) {
    let Some(quantum) = raw.ladder.as_ref().and_then(|ladder| ladder.quantum.as_ref()) else {
        return;
    };
    if !quantum.value.is_power_of_two() {
        let (low, high) =
            (quantum.value.next_power_of_two() / 2, quantum.value.next_power_of_two());
        let message = format!("`quantum` of {} is not a power of two", show(quantum.value.into()));
        let draft = problems.add(quantum.at.as_ref(), message);
        draft.help(format!("its neighbours are {low} and {high}"));
    }
}

/// `steps_per_doubling` is a power of two, so that steps are whole quanta.
pub(crate) fn steps_are_a_power_of_two(raw: &Raw, problems: &mut Problems) {
    let Some(steps) = raw.ladder.as_ref().and_then(|ladder| ladder.steps.as_ref()) else { return };
    if !steps.value.is_power_of_two() {
        let message = format!("`steps_per_doubling` is {}", steps.value);
        problems.add(steps.at.as_ref(), format!("{message}; expected 1, 2, 4, 8 or 16"));
    }
}

/// `linear_to` is reached by steps of `quantum`.
pub(crate) fn linear_to_is_a_multiple_of_quantum(raw: &Raw, problems: &mut Problems) {
    let Some([quantum, linear_to, ..]) = raw.ladder_fields() else { return };
    if !linear_to.value.is_multiple_of(quantum.value) {
        let (from, grain) = (show_written(linear_to), show_written(quantum));
        let message =
            format!("`linear_to` of {from} is not a multiple of the `quantum` of {grain}");
        let next = linear_to.value.next_multiple_of(quantum.value);
        let draft = problems.add_pair((linear_to.at.as_ref(), quantum.at.as_ref()), message);
        draft.help(format!("the next that is: `linear_to = {next}`"));
    }
}

/// The steps after `linear_to` are multiples of `quantum`, as those before it.
pub(crate) fn first_step_is_a_multiple_of_quantum(raw: &Raw, problems: &mut Problems) {
    let Some([quantum, linear_to, steps, _]) = raw.ladder_fields() else { return };
    let whole = quantum.value * steps.value;
    if !linear_to.value.is_multiple_of(whole) {
        let (from, grain) = (show_written(linear_to), show_written(quantum));
        let count = format!("{} steps per doubling{}", steps.value, steps.origin());
        let message = format!(
            "{count} from a `linear_to` of {from} are not multiples of the `quantum` of {grain}"
        );
        let at = (linear_to.at.as_ref().or(steps.at.as_ref()), quantum.at.as_ref());
        let next = linear_to.value.next_multiple_of(whole);
        problems.add_pair(at, message).help(format!(
            "`linear_to` must be a multiple of {whole} ({} steps of {}): `linear_to = {next}`",
            steps.value, quantum.value
        ));
    }
}

/// `max` is a class of its ladder.
pub(crate) fn max_is_reached(raw: &Raw, problems: &mut Problems) {
    let Some([quantum, linear_to, steps, max]) = raw.ladder_fields() else { return };
    // Twice as far, so that the neighbour above is among them.
    let far = max.value.max(quantum.value) * 2;
    let sizes = classes::ladder(quantum.value, linear_to.value, steps.value, far);
    if !sizes.contains(&max.value) {
        let message = format!("no step of the ladder is a `max` of {}", show_written(max));
        let draft = problems.add_pair((max.at.as_ref(), quantum.at.as_ref()), message);
        draft.help(classes::nearest(&sizes, max.value, "steps"));
    }
}

/// Every class is a multiple of 8.
pub(crate) fn sizes_are_multiples_of_8(raw: &Raw, problems: &mut Problems) {
    for size in raw.sizes.iter().flat_map(|sizes| &sizes.value) {
        if !size.value.is_multiple_of(8) {
            let (low, high) = (size.value / 8 * 8, size.value.next_multiple_of(8));
            let message = format!("class of {} bytes is not a multiple of 8", size.value);
            let draft = problems.add(size.at.as_ref(), message);
            draft.help(format!("its neighbours are {low} and {high}"));
        }
    }
}

/// Sizes grow: each is larger than the one before.
pub(crate) fn sizes_grow(raw: &Raw, problems: &mut Problems) {
    for pair in raw.sizes.iter().flat_map(|sizes| sizes.value.windows(2)) {
        let (before, after) = (&pair[0], &pair[1]);
        if after.value <= before.value {
            let (before, bytes) = (before.value, show(after.value.into()));
            let message = format!("class of {bytes} follows one of {}", show(before.into()));
            let draft = problems.add(after.at.as_ref(), message);
            draft.help("list the sizes from small to large, each once");
        }
    }
}

/// A size is not in the ladder already.
pub(crate) fn sizes_are_not_in_the_ladder(raw: &Raw, problems: &mut Problems) {
    let Some(ladder) = raw.ladder.as_ref().and_then(|ladder| ladder.sizes()) else { return };
    for size in raw.sizes.iter().flat_map(|sizes| &sizes.value) {
        if ladder.contains(&size.value) {
            let message = format!("class of {} is made twice", show(size.value.into()));
            let draft = problems.add(size.at.as_ref(), message);
            draft.help("the ladder already makes it: take it out of `sizes`");
        }
    }
}

/// A spec has a class.
pub(crate) fn there_is_a_class(raw: &Raw, problems: &mut Problems) {
    let (Some(all), Some(sizes)) = (classes::sizes(raw), &raw.sizes) else { return };
    if all.is_empty() {
        let draft = problems.add(sizes.at.as_ref(), "there is no class: `sizes` is empty");
        draft.help("name a size, or write `ladder` too; without both there is the default ladder");
    }
}

/// A spec has at most 128 classes.
pub(crate) fn classes_are_few(raw: &Raw, problems: &mut Problems) {
    let Some(all) = classes::sizes(raw).filter(|all| all.len() > CLASSES_MAX) else { return };
    let ladder = raw.ladder.as_ref();
    let steps = ladder.and_then(|l| {
        [&l.steps, &l.linear_to, &l.quantum, &l.max]
            .into_iter()
            .find_map(|field| field.as_ref()?.at.as_ref())
    });
    let at = steps.or_else(|| raw.sizes.as_ref()?.at.as_ref());
    let message = format!("there are {} classes; expected at most {CLASSES_MAX}", all.len());
    problems.add(at, message).help(match ladder {
        Some(_) => "fewer `steps_per_doubling` or a smaller `linear_to` make fewer classes",
        None => "a block of a class in between fits in the next larger one",
    });
}

/// The largest class serves an alignment of 16, so that a request never skips all classes for the
/// alignment that most data has at most.
pub(crate) fn largest_class_is_aligned(raw: &Raw, problems: &mut Problems) {
    let Some(largest) = raw.sizes.as_ref().and_then(|sizes| sizes.value.last()) else { return };
    let is_last = classes::sizes(raw).is_some_and(|all| all.last() == Some(&largest.value));
    if is_last && !largest.value.is_multiple_of(16) {
        let bytes = largest.value;
        let message = format!("the largest class, {bytes} bytes, does not serve alignment 16");
        let draft = problems.add(largest.at.as_ref(), message);
        draft.help(format!(
            "blocks aligned to 16 need a class that is a multiple of 16; end with {}",
            bytes.next_multiple_of(16)
        ));
    }
}

/// `[[classes.tune]]` is about a class of the spec.
pub(crate) fn tune_names_a_class(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let own = raw.tunes.iter().filter(|tune| tune.size.depth() <= raw.classes_depth);
    for size in own.map(|tune| &tune.size).filter(|size| !sizes.contains(&size.value)) {
        let message = format!("there is no class of {} to tune", show(size.value.into()));
        let draft = problems.add(size.at.as_ref(), message);
        draft.help(classes::nearest(sizes, size.value, "classes"));
    }
}

/// One class, one `[[classes.tune]]`.
pub(crate) fn tune_names_a_class_once(raw: &Raw, problems: &mut Problems) {
    for (index, tune) in raw.tunes.iter().enumerate() {
        let same = raw.tunes[..index].iter().find(|other| other.size.value == tune.size.value);
        if let Some(first) = same {
            let message = format!("class of {} is tuned twice", show(tune.size.value.into()));
            let at = (tune.size.at.as_ref(), first.size.at.as_ref());
            problems.add_pair(at, message).help("write all that differs into one entry");
        }
    }
}

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

/// `hints.hot` names classes of the spec.
pub(crate) fn hot_names_a_class(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let Some(hot) = raw.hot.as_ref().filter(|hot| hot.depth() <= raw.classes_depth) else { return };
    for size in hot.value.iter().filter(|size| !sizes.contains(&size.value)) {
        let message = format!("there is no class of {} for `hints.hot`", show(size.value.into()));
        let draft = problems.add(size.at.as_ref(), message);
        draft.help(classes::nearest(sizes, size.value, "classes"));
    }
}

/// `hints.hot` names each class once.
pub(crate) fn hot_names_a_class_once(raw: &Raw, problems: &mut Problems) {
    let Some(hot) = &raw.hot else { return };
    for (index, size) in hot.value.iter().enumerate() {
        if hot.value[..index].iter().any(|other| other.value == size.value) {
            let message = format!("class of {} is hot twice", show(size.value.into()));
            problems.add(size.at.as_ref(), message).help("name it once, where it matters most");
        }
    }
}

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
        let message = "the depot keeps full magazines, and without a layer in front there are none";
        let draft = problems.add(layers.at.as_ref(), message);
        draft.help("write `layers = [\"magazine\", \"depot\"]`");
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
            draft.help("layers are named in look-up order: magazine, freelist, depot");
        }
    }
}

/// Only the layers that are generated today are accepted.
pub(crate) fn layers_are_generated(raw: &Raw, problems: &mut Problems) {
    let (Some(names), Some(layers)) = (raw.layer_names(), &raw.layers) else { return };
    if names != ["magazine"] && names != ["magazine", "depot"] {
        let message = format!("`cache.layers = {names:?}` is not supported yet");
        let expected = "expected `[\"magazine\", \"depot\"]` or `[\"magazine\"]`";
        problems.add(layers.at.as_ref(), format!("{message}; {expected}"));
    }
}

/// `cache.depot` is not written where there is no depot.
pub(crate) fn depot_is_used(raw: &Raw, problems: &mut Problems) {
    let (Some(names), Some(layers), Some(depot)) = (raw.layer_names(), &raw.layers, &raw.depot)
    else {
        return;
    };
    if !names.contains(&"depot") && depot.at.is_some() && depot.depth() <= layers.depth() {
        let bytes = show(depot.value);
        let message = format!("`cache.depot` is {bytes}, but `cache.layers` is `{names:?}`");
        let draft = problems.add_pair((depot.at.as_ref(), layers.at.as_ref()), message);
        draft.help("name the layer `depot`, or leave the key out");
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
        let message = format!(
            "`cache.limit` of {} is below one magazine of the class of {}: {slots} slots, {least}",
            show(most),
            show(size.into())
        );
        let draft = problems.add_pair((limit.at.as_ref(), bytes.at.as_ref()), message);
        draft.help(format!("write at least `limit = \"{least}\"`, or make magazines smaller"));
    }
}

/// `superslab.purge.after` is not written where nothing is purged.
pub(crate) fn purge_after_is_used(raw: &Raw, problems: &mut Problems) {
    let Some(after) = &raw.superslab.purge.after else { return };
    must_purge(raw, after, ("after", &show_time(after.value)), problems);
}

/// `superslab.purge.helper` is not written where nothing is purged.
pub(crate) fn purge_helper_is_used(raw: &Raw, problems: &mut Problems) {
    let Some(helper) = &raw.superslab.purge.helper else { return };
    must_purge(raw, helper, ("helper", &format!("`{}`", helper.value)), problems);
}

fn must_purge<T>(
    raw: &Raw,
    field: &Located<T>,
    (key, value): (&str, &str),
    problems: &mut Problems,
) {
    let Some(how) = raw.superslab.purge.how.as_ref().filter(|how| how.value == "never") else {
        return;
    };
    if field.at.is_some() && field.depth() <= how.depth() {
        let message =
            format!("`superslab.purge.{key}` is {value}, but `superslab.purge.how` is `\"never\"`");
        let draft = problems.add_pair((field.at.as_ref(), how.at.as_ref()), message);
        draft.help("write `how = \"dontneed\"` or `how = \"free\"`, or leave the key out");
    }
}

/// `superslab.limit` has room for a slab of the class whose slabs are largest, and for one more.
pub(crate) fn limit_holds_a_slab(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let Some(Located { value: Some(limit), at }) = &raw.superslab.limit else { return };
    let slab = |size: &u32| (classes::slab(*size).0 * UNIT_BYTES, *size);
    let Some((slab, size)) = sizes.iter().map(slab).max() else { return };
    let (least, place) = (slab + UNIT_BYTES, classes::place_of(raw, size));
    if *limit < least.into() {
        let [limit, least] = [*limit, least.into()].map(show);
        let [size, slab] = [size, slab].map(|bytes| show(bytes.into()));
        let message = format!(
            "`superslab.limit` of {limit} is below {least}: a slab of the class of {size} takes \
             {slab}, and anything else at least 64 KiB more"
        );
        let draft = problems.add_pair((at.as_ref(), place), message);
        draft.help(format!("write at least `limit = \"{least}\"`"));
    }
}

/// `large.spans_to` is a whole number of units.
pub(crate) fn spans_are_whole_units(raw: &Raw, problems: &mut Problems) {
    let Some(spans_to) = &raw.spans_to else { return };
    if !spans_to.value.is_multiple_of(UNIT_BYTES) {
        let bytes = show(spans_to.value.into());
        let message = format!("`large.spans_to` of {bytes} is not a multiple of 64 KiB");
        let low = show((spans_to.value / UNIT_BYTES * UNIT_BYTES).into());
        let high = show(spans_to.value.next_multiple_of(UNIT_BYTES).into());
        problems
            .add(spans_to.at.as_ref(), message)
            .help(format!("its neighbours are {low} and {high}"));
    }
}

/// Spans begin where classes end.
pub(crate) fn spans_reach_above_classes(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let (Some(spans_to), Some(largest)) = (&raw.spans_to, sizes.last()) else { return };
    if spans_to.value < *largest {
        let (most, class) = (show_written(spans_to), show((*largest).into()));
        let message = format!("`large.spans_to` of {most} is below the largest class of {class}");
        let at = (spans_to.at.as_ref(), classes::place_of(raw, *largest));
        let least = show(largest.next_multiple_of(UNIT_BYTES).into());
        problems.add_pair(at, message).help(format!("write at least `spans_to = \"{least}\"`"));
    }
}
