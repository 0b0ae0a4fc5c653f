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

const WITH_CLASSES: [ClassRule; 4] =
    [tune_names_a_class, hot_names_a_class, limit_holds_a_slab, spans_reach_above_classes];

/// These are about counts that have no meaning without a cache.
const WITH_A_CACHE: [ClassRule; 5] = [
    tuned_slots_fit_in_bytes,
    tuned_refill_fits_in_slots,
    prewarm_fits_in_slots,
    tuned_prewarm_fits_in_slots,
    cache_limit_holds_a_magazine,
];

/// Each of these relies on those before it.
const LAYERS: [Rule; 4] =
    [layers_are_named_once, depot_has_a_layer_in_front, layers_are_in_order, depot_is_used];

/// Each of these relies on those before it.
const ADAPTIVE: [Rule; 3] =
    [adaptive_has_both_bounds, adaptive_bounds_grow, adaptive_spares_are_few];

const CHECKS: [Rule; 8] = [
    alignment_and_size_need_foreign,
    canary_and_poison_go_without_freelist,
    random_needs_magazines,
    random_and_quarantine_need_a_layer,
    seed_is_used,
    quarantine_bytes_are_used,
    spans_to_is_used,
    keep_is_used,
];

const REST: [Rule; 12] = [
    name_is_given,
    name_is_an_identifier,
    summary_is_one_line,
    tune_names_a_class_once,
    hot_names_a_class_once,
    purge_after_is_used,
    purge_helper_is_used,
    spans_are_whole_units,
    cache_keys_need_a_layer,
    tuned_counts_need_a_layer,
    adaptive_replaces_slots,
    sample_bytes_are_used,
];

/// Applies every rule; gives back the class sizes when those about them hold.
pub(crate) fn check(raw: &Raw, problems: &mut Problems) -> Option<Vec<u32>> {
    REST.iter().for_each(|rule| rule(raw, problems));
    CHECKS.iter().for_each(|rule| rule(raw, problems));
    until_broken(&LAYERS, raw, problems);
    until_broken(&ADAPTIVE, raw, problems);
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
    if !raw.has_no_cache() {
        WITH_A_CACHE.iter().for_each(|rule| rule(raw, &sizes, problems));
    }
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
