//! From rules and counts as written to classes with every count resolved.

use std::path::PathBuf;

use crate::problem::{At, Located, Problems};
use crate::raw::{Field, Ladder, Raw, Tune};
use crate::spec::{
    Class, Hints, Inline, Layers, Likely, MID_ABOVE_BYTES, SLAB_BLOCKS_MAX, SLAB_BLOCKS_MIN,
    SLAB_UNITS_MAX, Spec, UNIT_BYTES,
};
use crate::terms;
use crate::units::show;

/// Sizes of a ladder up to `max`; without `max` itself when no step reaches it.
pub(crate) fn ladder(quantum: u32, linear_to: u32, steps: u32, max: u32) -> Vec<u32> {
    let mut sizes: Vec<u32> = (1..=linear_to / quantum).map(|i| i * quantum).collect();
    let mut base = linear_to;
    while base < max {
        sizes.extend((1..=steps).map(|i| base + base / steps * i));
        base *= 2;
    }
    sizes.retain(|size| *size <= max);
    sizes
}

impl Ladder {
    /// `quantum`, `linear_to`, `steps_per_doubling` and `max`; `None` when one of them is broken.
    pub(crate) fn fields(&self) -> Option<[&Located<u32>; 4]> {
        let fields = [&self.quantum, &self.linear_to, &self.steps, &self.max];
        let [Some(quantum), Some(linear_to), Some(steps), Some(max)] = fields else { return None };
        Some([quantum, linear_to, steps, max])
    }

    /// The sizes of this ladder; `None` when one of its values is broken.
    pub(crate) fn sizes(&self) -> Option<Vec<u32>> {
        let [quantum, linear_to, steps, max] = self.fields()?.map(|field| field.value);
        Some(ladder(quantum, linear_to, steps, max))
    }
}

/// All class sizes, from small to large; `None` when something they are made of is broken.
pub(crate) fn sizes(raw: &Raw) -> Option<Vec<u32>> {
    let mut sizes = raw.ladder.as_ref().map_or(Some(Vec::new()), Ladder::sizes)?;
    sizes.extend(raw.sizes.as_ref()?.value.iter().map(|size| size.value));
    sizes.sort_unstable();
    Some(sizes)
}

/// Where the size of a class is written: in `sizes`, or as the ladder's `max`.
pub(crate) fn place_of(raw: &Raw, bytes: u32) -> Option<&At> {
    let exact = raw.sizes.iter().flat_map(|sizes| &sizes.value);
    let max = raw.ladder.iter().filter_map(|ladder| ladder.max.as_ref());
    exact.chain(max).find(|size| size.value == bytes)?.at.as_ref()
}

/// Help: the sizes on both sides of one that is not among them.
pub(crate) fn nearest(sizes: &[u32], bytes: u32, what: &str) -> String {
    let below = sizes.iter().rev().find(|size| **size < bytes);
    let above = sizes.iter().find(|size| **size > bytes);
    match (below, above) {
        (Some(below), Some(above)) => format!("the nearest {what} are {below} and {above} bytes"),
        (Some(last), None) => format!("the {what} end at {}", show((*last).into())),
        (None, Some(first)) => format!("the {what} begin at {}", show((*first).into())),
        (None, None) => format!("there are no {what}"),
    }
}

/// A count of blocks that a class's magazine must hold.
pub(crate) fn must_fit_in_slots(
    raw: &Raw,
    tune: &Tune,
    what: &str,
    count: &Located<u32>,
    problems: &mut Problems,
) {
    let bytes = tune.size.value;
    let Some(slots) = slots(raw, bytes).filter(|slots| count.value > *slots) else { return };
    let message = format!(
        "`{what}` of {} is more than the {slots} slots of the class of {bytes} bytes",
        count.value
    );
    let own = tune.slots.as_ref().and_then(|slots| slots.as_ref()?.at.as_ref());
    problems
        .add_pair((count.at.as_ref(), own), message)
        .help(format!("write at most `{what} = {slots}`, or give the class more slots"));
}

/// Units and blocks of the slabs of one class: the fewest units that hold enough blocks and waste
/// little at the end, else those that waste least.
pub(crate) fn slab(bytes: u32) -> (u32, u32) {
    let cut = |units: u32| (units, (units * UNIT_BYTES / bytes).min(SLAB_BLOCKS_MAX));
    let tail = |(units, blocks): (u32, u32)| units * UNIT_BYTES - blocks * bytes;
    let enough = (1..=SLAB_UNITS_MAX).map(cut).filter(|(_, blocks)| *blocks >= SLAB_BLOCKS_MIN);
    let small_tail = enough.clone().find(|slab| tail(*slab) <= slab.0 * UNIT_BYTES / 8);
    // 720720 is a multiple of every number of units, so that the quotients compare exactly.
    let least = || enough.min_by_key(|slab| u64::from(tail(*slab)) * 720_720 / u64::from(slab.0));
    small_tail.or_else(least).expect("the largest class fits the largest slab")
}

/// The model of a spec that passed every rule; `None` when a value of it is broken.
pub(crate) fn resolve(raw: &Raw, sizes: &[u32], files: Vec<PathBuf>) -> Option<Spec> {
    let layers = layers(raw)?;
    let hot = hot(raw, sizes)?;
    let classes = sizes.iter().map(|bytes| class(raw, *bytes, layers, &hot));
    let name = match &raw.name {
        Some(name) => name.as_ref()?.value.clone(),
        None => raw.default_name.clone(),
    };
    Some(Spec {
        name,
        summary: raw.summary.as_ref()?.value.clone(),
        classes: classes.collect::<Option<_>>()?,
        layers,
        hints: hints(raw)?,
        spans_to: raw.spans_to.as_ref()?.value,
        keep: raw.keep.as_ref()?.value,
        cache_limit: raw.cache_limit.as_ref()?.value,
        superslab: terms::superslab(&raw.superslab)?,
        files,
    })
}

/// The hot classes in their order; those that only a base knows are left out.
fn hot(raw: &Raw, sizes: &[u32]) -> Option<Vec<u32>> {
    let named = raw.hot.as_ref()?.value.iter().map(|size| size.value);
    Some(named.filter(|size| sizes.contains(size)).collect())
}

fn class(raw: &Raw, bytes: u32, layers: Layers, hot: &[u32]) -> Option<Class> {
    let tune = raw.tune(bytes);
    let hot = hot.iter().position(|size| *size == bytes);
    let slots = slots(raw, bytes)?;
    let refill = match own(tune, |tune| &tune.refill)? {
        Some(own) => own,
        None => shared_refill(raw, bytes, hot.is_some())?.min(slots),
    };
    let prewarm = match (own(tune, |tune| &tune.prewarm)?, &raw.prewarm) {
        (Some(own), _) => own,
        (None, Some(shared)) => shared.as_ref()?.value.min(slots),
        (None, None) => refill,
    };
    let depot = match layers {
        Layers::Magazine => 0,
        Layers::MagazineDepot => raw.depot.as_ref()?.value / u64::from(slots * bytes),
    };
    let (units, blocks) = slab(bytes);
    let (hot, depot) = (hot.and_then(|at| u32::try_from(at).ok()), u32::try_from(depot).ok()?);
    Some(Class { bytes, slots, refill, prewarm, depot, units, blocks, hot })
}

/// Blocks of one magazine of the class.
pub(crate) fn slots(raw: &Raw, bytes: u32) -> Option<u32> {
    if let Some(own) = own(raw.tune(bytes), |tune| &tune.slots)? {
        return Some(own);
    }
    let room = raw.bytes.as_ref()?.value / bytes;
    Some(raw.slots.as_ref()?.value.min(room).max(1))
}

fn shared_refill(raw: &Raw, bytes: u32, is_hot: bool) -> Option<u32> {
    let refill = &raw.refill;
    let field = match bytes {
        _ if is_hot => &refill.hot,
        bytes if bytes > MID_ABOVE_BYTES => &refill.mid,
        _ => &refill.default,
    };
    field.as_ref().map(|located| located.value)
}

/// A class's own value: `Some(None)` when it has none, `None` when it is broken.
fn own(tune: Option<&Tune>, field: impl Fn(&Tune) -> &Option<Field<u32>>) -> Option<Option<u32>> {
    match tune.and_then(|tune| field(tune).as_ref()) {
        Some(Some(Located { value, .. })) => Some(Some(*value)),
        Some(None) => None,
        None => Some(None),
    }
}

impl Raw {
    /// What is tuned for one class.
    pub(crate) fn tune(&self, bytes: u32) -> Option<&Tune> {
        self.tunes.iter().find(|tune| tune.size.value == bytes)
    }

    /// The fields of the ladder, when there is one and none is broken.
    pub(crate) fn ladder_fields(&self) -> Option<[&Located<u32>; 4]> {
        self.ladder.as_ref()?.fields()
    }

    /// The names of the layers; `None` when they are broken.
    pub(crate) fn layer_names(&self) -> Option<Vec<&str>> {
        Some(self.layers.as_ref()?.value.iter().map(|layer| layer.value.as_str()).collect())
    }
}

fn layers(raw: &Raw) -> Option<Layers> {
    match raw.layer_names()?.as_slice() {
        ["magazine"] => Some(Layers::Magazine),
        ["magazine", "depot"] => Some(Layers::MagazineDepot),
        _ => None,
    }
}

fn hints(raw: &Raw) -> Option<Hints> {
    let inline = match raw.inline.as_ref()?.value.as_str() {
        "never" => Inline::Never,
        _ => Inline::Always,
    };
    Some(Hints {
        hit: likely(&raw.hit)?,
        room: likely(&raw.room)?,
        small: likely(&raw.small)?,
        inline,
    })
}

fn likely(field: &Field<String>) -> Option<Likely> {
    Some(match field.as_ref()?.value.as_str() {
        "likely" => Likely::Likely,
        "unlikely" => Likely::Unlikely,
        _ => Likely::None,
    })
}
