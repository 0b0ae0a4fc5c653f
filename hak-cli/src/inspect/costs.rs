//! What a spec costs, whatever the program does.

use hak_spec::{Class, Layers, SUPERSLAB_BYTES, Spec, UNIT_BYTES};

use super::binary::Binary;
use super::report::{Costs, Variable};

pub(super) fn of(spec: &Spec, binary: &Binary) -> Costs {
    let variables = binary.thread_locals().filter(|symbol| symbol.name.is_allocators());
    let variables: Vec<_> = variables
        .map(|symbol| Variable { name: symbol.name.short(), bytes: symbol.bytes })
        .collect();
    let depots = u64::from(spec.superslab.shards);
    Costs {
        thread_local_bytes: variables.iter().map(|variable| variable.bytes).sum(),
        thread_local_variables: variables,
        cached_bytes_per_thread_max: sum(spec, |class| cached_blocks(spec, class)),
        cached_bytes_all_threads_max: if spec.layers.has_cache() {
            spec.cache_limit
        } else {
            Some(0)
        },
        depot_bytes_max: depots * sum(spec, |class| class.depot * spec.layers.parcel(class.slots)),
        // The header is as large as a unit, whatever the spec says.
        metadata_bytes_per_superslab: u64::from(UNIT_BYTES),
        superslab_bytes: u64::from(SUPERSLAB_BYTES),
    }
}

/// Bytes of so many blocks of each class.
fn sum(spec: &Spec, blocks: impl Fn(&Class) -> u32) -> u64 {
    spec.classes.iter().map(|class| u64::from(blocks(class)) * u64::from(class.bytes)).sum()
}

/// Blocks of a class that one thread holds at most: those it has loaded, and its spare parcels.
/// Behind an array two chains are as many blocks as it holds.
fn cached_blocks(spec: &Spec, class: &Class) -> u32 {
    let parcels = match spec.layers {
        Layers::None => return 0,
        Layers::MagazineFreelist { .. } => 2,
        Layers::Magazine { .. } | Layers::Freelist { .. } => 1,
    };
    let spares = spec.adaptive.unwrap_or(1) * parcels * spec.layers.parcel(class.slots);
    class.slots + spares + held_back(spec, class)
}

/// Blocks of a class in a thread's quarantine: as many as fit its bytes, but at least one.
fn held_back(spec: &Spec, class: &Class) -> u32 {
    /// Most blocks of one class that wait, as in the runtime.
    const LENGTH_MAX: u32 = 1024;
    let blocks = spec.checks.quarantine_bytes / class.bytes;
    if spec.checks.quarantine { blocks.clamp(1, LENGTH_MAX) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(cache: &str) -> u64 {
        let text = format!("schema = 1\nclasses.sizes = [16]\ncache = {{ {cache} }}\n");
        let spec = hak_spec::parse(&text, "test.toml", "Test", None).unwrap();
        sum(&spec, |class| cached_blocks(&spec, class)) / 16
    }

    #[test]
    fn each_layer_holds_what_is_loaded_and_spare() {
        assert_eq!(cached("layers = []"), 0);
        assert_eq!(cached("layers = [\"magazine\"], slots = 9"), 9 + 9);
        assert_eq!(cached("layers = [\"freelist\", \"depot\"], slots = 9"), 9 + 9);
        assert_eq!(cached("layers = [\"magazine\", \"freelist\"], slots = 9"), 9 + 2 * 5);
        assert_eq!(cached("adaptive = { min = 8, max = 64 }"), 8 + 64);
    }

    #[test]
    fn a_quarantine_counts() {
        let held = |bytes: u32| {
            let text = format!(
                "schema = 1\nclasses.sizes = [16, 4096]\n\
                 validation = {{ quarantine = true, quarantine_bytes = {bytes} }}\n"
            );
            let spec = hak_spec::parse(&text, "test.toml", "Test", None).unwrap();
            [0, 1].map(|class| held_back(&spec, &spec.classes[class]))
        };
        assert_eq!(held(1 << 10), [64, 1]);
        assert_eq!(held(64 << 10), [1024, 16]);
    }
}
