//! Rules about memory from the system: purge, limit, spans.

use crate::classes;
use crate::problem::{Located, Problems, is_own};
use crate::raw::Raw;
use crate::spec::UNIT_BYTES;
use crate::units::{show, show_time, show_written};

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
    if is_own(field.at.as_ref(), how.depth()) {
        let message =
            format!("`superslab.purge.{key}` is {value}, but `superslab.purge.how` is `\"never\"`");
        let draft = problems.add_pair((field.at.as_ref(), how.at.as_ref()), message);
        draft.help("write `how = \"dontneed\"` or `how = \"free\"`, or leave the key out");
    }
}

/// `superslab.limit` has room for a slab of the class whose slabs are largest, and for one more.
pub(crate) fn limit_holds_a_slab(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    let Some(Located { value: Some(limit), at }) = &raw.superslab.limit else { return };
    let guard = raw.is_checked("guard");
    let slab = |size: &u32| (classes::slab(*size, guard).0 * UNIT_BYTES, *size);
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

/// Spans begin where classes end, where there are spans.
pub(crate) fn spans_reach_above_classes(raw: &Raw, sizes: &[u32], problems: &mut Problems) {
    if raw.maps_large() {
        return;
    }
    let (Some(spans_to), Some(largest)) = (&raw.spans_to, sizes.last()) else { return };
    if spans_to.value < *largest {
        let (most, class) = (show_written(spans_to), show((*largest).into()));
        let message = format!("`large.spans_to` of {most} is below the largest class of {class}");
        let at = (spans_to.at.as_ref(), classes::place_of(raw, *largest));
        let least = show(largest.next_multiple_of(UNIT_BYTES).into());
        problems.add_pair(at, message).help(format!("write at least `spans_to = \"{least}\"`"));
    }
}
