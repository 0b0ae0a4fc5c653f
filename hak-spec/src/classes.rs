//! From rules and counts as written to classes with every count resolved.

use std::path::PathBuf;

use crate::checks;
use crate::problem::{At, Located, Problems};
use crate::raw::{Bounds, Field, Ladder, Raw, Tune};
use crate::spec::{
    Class, GUARD_BYTES, Hints, Inline, Layers, Likely, MID_ABOVE_BYTES, SLAB_BLOCKS_MAX,
    SLAB_BLOCKS_MIN, SLAB_UNITS_MAX, Spec, UNIT_BYTES,
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
/// little at the end, else those that waste least. With `guard` a page at the end stays free.
pub(crate) fn slab(bytes: u32, guard: bool) -> (u32, u32) {
    let guard = if guard { GUARD_BYTES } else { 0 };
    let cut = |units: u32| (units, ((units * UNIT_BYTES - guard) / bytes).min(SLAB_BLOCKS_MAX));
    let tail = |(units, blocks): (u32, u32)| units * UNIT_BYTES - blocks * bytes;
    // A guard page takes the largest classes one block below the least: then no slab is larger.
    let is_enough = |slab: &(u32, u32)| slab.1 >= SLAB_BLOCKS_MIN || slab.0 == SLAB_UNITS_MAX;
    let enough = (1..=SLAB_UNITS_MAX).map(cut).filter(is_enough);
    let small_tail = enough.clone().find(|slab| tail(*slab) <= slab.0 * UNIT_BYTES / 8);
    // 720720 is a multiple of every number of units, so that the quotients compare exactly.
    let least = || enough.min_by_key(|slab| u64::from(tail(*slab)) * 720_720 / u64::from(slab.0));
    small_tail.or_else(least).expect("the largest class fits the largest slab")
}

/// The model of a spec that passed every rule; `None` when a value of it is broken.
pub(crate) fn resolve(raw: &Raw, sizes: &[u32], files: Vec<PathBuf>) -> Option<Spec> {
    let (layers, checks) = (layers(raw)?, checks::resolve(raw)?);
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
        adaptive: spares(raw, layers)?,
        hints: hints(raw, layers)?,
        spans_to: if checks.maps_large() { 0 } else { raw.spans_to.as_ref()?.value },
        keep: if checks.maps_large() { 0 } else { raw.keep.as_ref()?.value },
        checks,
        counters: raw.counters.as_ref()?.value,
        profile: raw.profile.as_ref()?.value,
        sample_bytes: raw.sample_bytes.as_ref()?.value,
        cache_limit: raw.cache_limit.as_ref()?.value.filter(|_| layers.has_cache()),
        superslab: terms::superslab(&raw.superslab, layers)?,
        files,
    })
}

/// Most spare parcels: `Some(None)` when their number is fixed, `None` when a bound is broken.
fn spares(raw: &Raw, layers: Layers) -> Option<Option<u32>> {
    match raw.adaptive.as_ref()?.value.as_ref().filter(|_| layers.has_cache()) {
        Some(bounds) => bounds.both().map(|[min, max]| Some(max.value / min.value)),
        None => Some(None),
    }
}

/// The hot classes in their order; those that only a base knows are left out.
fn hot(raw: &Raw, sizes: &[u32]) -> Option<Vec<u32>> {
    let named = raw.hot.as_ref()?.value.iter().map(|size| size.value);
    Some(named.filter(|size| sizes.contains(size)).collect())
}

fn class(raw: &Raw, bytes: u32, layers: Layers, hot: &[u32]) -> Option<Class> {
    let hot = hot.iter().position(|size| *size == bytes);
    let [slots, refill, prewarm, depot] = match layers.has_cache() {
        true => counts(raw, bytes, layers, hot.is_some())?,
        false => [1, 1, 1, 0],
    };
    let (units, blocks) = slab(bytes, raw.is_checked("guard"));
    let hot = hot.and_then(|at| u32::try_from(at).ok());
    Some(Class { bytes, slots, refill, prewarm, depot, units, blocks, hot })
}

/// Slots, refill, prewarm and parcels in the depot.
fn counts(raw: &Raw, bytes: u32, layers: Layers, is_hot: bool) -> Option<[u32; 4]> {
    let (tune, slots) = (raw.tune(bytes), slots(raw, bytes)?);
    let refill = match own(tune, |tune| &tune.refill)? {
        Some(own) => own,
        None => shared_refill(raw, bytes, is_hot)?.min(slots),
    };
    let prewarm = match (own(tune, |tune| &tune.prewarm)?, &raw.prewarm) {
        (Some(own), _) => own,
        (None, Some(shared)) => shared.as_ref()?.value.min(slots),
        (None, None) => refill,
    };
    let parcel = u64::from(layers.parcel(slots) * bytes);
    let depot = if layers.has_depot() { raw.depot.as_ref()?.value / parcel } else { 0 };
    Some([slots, refill, prewarm, u32::try_from(depot).ok()?])
}

/// Blocks of one magazine, or of one chain without magazines, of the class.
pub(crate) fn slots(raw: &Raw, bytes: u32) -> Option<u32> {
    if let Some(own) = own(raw.tune(bytes), |tune| &tune.slots)? {
        return Some(own);
    }
    let shared = match &raw.adaptive.as_ref()?.value {
        Some(bounds) => bounds.min.as_ref()?,
        None => &raw.slots,
    };
    let room = raw.bytes.as_ref()?.value / bytes;
    Some(shared.as_ref()?.value.min(room).max(1))
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

    /// The bounds of `cache.adaptive`, when there are two and none is broken.
    pub(crate) fn bounds(&self) -> Option<[&Located<u32>; 2]> {
        self.adaptive.as_ref()?.value.as_ref()?.both()
    }

    /// Whether there is no layer at all.
    pub(crate) fn has_no_cache(&self) -> bool {
        self.layers.as_ref().is_some_and(|layers| layers.value.is_empty())
    }
}

impl Bounds {
    /// `min` and `max`; `None` when one of them is missing or broken.
    pub(crate) fn both(&self) -> Option<[&Located<u32>; 2]> {
        Some([self.min.as_ref()?.as_ref()?, self.max.as_ref()?.as_ref()?])
    }
}

fn layers(raw: &Raw) -> Option<Layers> {
    let names = raw.layer_names()?;
    let depot = names.contains(&"depot");
    match (names.contains(&"magazine"), names.contains(&"freelist")) {
        (true, true) => Some(Layers::MagazineFreelist { depot }),
        (true, false) => Some(Layers::Magazine { depot }),
        (false, true) => Some(Layers::Freelist { depot }),
        (false, false) => names.is_empty().then_some(Layers::None),
    }
}

/// Without a cache nothing is found in it, or finds room there.
fn hints(raw: &Raw, layers: Layers) -> Option<Hints> {
    let inline = match raw.inline.as_ref()?.value.as_str() {
        "never" => Inline::Never,
        "constant" => Inline::Constant,
        _ => Inline::Always,
    };
    let small = likely(&raw.small)?;
    if !layers.has_cache() {
        let (hit, room) = (Likely::None, Likely::None);
        return Some(Hints { hit, room, small, inline, prefetch: false });
    }
    let (hit, room) = (likely(&raw.hit)?, likely(&raw.room)?);
    Some(Hints { hit, room, small, inline, prefetch: raw.prefetch.as_ref()?.value })
}

fn likely(field: &Field<String>) -> Option<Likely> {
    Some(match field.as_ref()?.value.as_str() {
        "likely" => Likely::Likely,
        "unlikely" => Likely::Unlikely,
        _ => Likely::None,
    })
}
