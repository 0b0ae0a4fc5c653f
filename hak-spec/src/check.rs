//! Runs the rules: which need which, so that no problem makes a second one appear.

use crate::classes;
use crate::problem::Problems;
use crate::raw::Raw;
use crate::rules::*;

/// A rule about what is written.
type Rule = fn(&Raw, &mut Problems);
/// A rule that needs to know the classes.
type ClassRule = fn(&Raw, &[u32], &mut Problems);

/// Two figures of the ladder, each by itself.
const FIGURES: [Rule; 2] = [quantum_is_a_power_of_two, steps_are_a_power_of_two];

/// Each of these relies on those before it, and on sound figures.
const LADDER: [Rule; 3] =
    [linear_to_is_a_multiple_of_quantum, first_step_is_a_multiple_of_quantum, max_is_reached];

const SIZES: [Rule; 2] = [sizes_are_multiples_of_8, sizes_grow];

/// These rely on a sound ladder and sound sizes, and on those before them.
const TOGETHER: [Rule; 4] =
    [sizes_are_not_in_the_ladder, there_is_a_class, classes_are_few, largest_class_is_aligned];

const WITH_CLASSES: [ClassRule; 8] = [
    tune_names_a_class,
    tuned_slots_fit_in_bytes,
    tuned_refill_fits_in_slots,
    tuned_prewarm_fits_in_slots,
    cache_limit_holds_a_magazine,
    hot_names_a_class,
    limit_holds_a_slab,
    spans_reach_above_classes,
];

/// Each of these relies on those before it.
const LAYERS: [Rule; 5] = [
    layers_are_named_once,
    depot_has_a_layer_in_front,
    layers_are_in_order,
    layers_are_generated,
    depot_is_used,
];

const REST: [Rule; 8] = [
    name_is_given,
    name_is_an_identifier,
    summary_is_one_line,
    tune_names_a_class_once,
    hot_names_a_class_once,
    purge_after_is_used,
    purge_helper_is_used,
    spans_are_whole_units,
];

/// Applies every rule; gives back the class sizes when those about them hold.
pub(crate) fn check(raw: &Raw, problems: &mut Problems) -> Option<Vec<u32>> {
    REST.iter().for_each(|rule| rule(raw, problems));
    until_broken(&LAYERS, raw, problems);
    let before = problems.len();
    FIGURES.iter().for_each(|rule| rule(raw, problems));
    if problems.len() == before {
        until_broken(&LADDER, raw, problems);
    }
    SIZES.iter().for_each(|rule| rule(raw, problems));
    if problems.len() == before {
        until_broken(&TOGETHER, raw, problems);
    }
    let sizes = classes::sizes(raw).filter(|_| problems.len() == before)?;
    WITH_CLASSES.iter().for_each(|rule| rule(raw, &sizes, problems));
    Some(sizes)
}

fn until_broken(rules: &[Rule], raw: &Raw, problems: &mut Problems) {
    let before = problems.len();
    for rule in rules {
        if problems.len() == before {
            rule(raw, problems);
        }
    }
}
