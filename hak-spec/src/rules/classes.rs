//! Rules about sizes: the ladder, `sizes`, and who names a class.

use crate::classes;
use crate::problem::Problems;
use crate::raw::Raw;
use crate::spec::CLASSES_MAX;
use crate::units::{show, show_written};

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
