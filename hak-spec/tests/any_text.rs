//! Whatever stands in a spec: no panic, no empty report, and every place lies in its text.

use hak_spec::{Checks, GUARD_BYTES, Layers, SHARDS_MAX, Spec, UNIT_BYTES, parse, shipped};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Reads a text; checks what must hold of every answer.
fn read(text: &str) {
    match parse(text, "any.toml", "Any", None) {
        Ok(spec) => {
            assert!(!spec.classes.is_empty());
            for class in &spec.classes {
                let least = if spec.checks.guard { 7 } else { 8 };
                assert!(class.bytes % 8 == 0 && class.blocks >= least && class.units <= 16);
                assert!((1..=class.slots).contains(&class.refill));
                assert!((1..=class.slots).contains(&class.prewarm));
            }
            terms_hold(&spec);
            layers_hold(&spec);
            checks_hold(&spec);
        }
        Err(report) => {
            assert!(!report.problems().is_empty());
            for problem in report.problems() {
                assert!(!problem.render().is_empty() && !problem.message().contains('\n'));
                if problem.file() == Some(0) {
                    assert!(text.get(problem.span().unwrap()).is_some(), "{problem}");
                }
            }
        }
    }
}

/// Each class can have a magazine and a slab within the limits.
fn terms_hold(spec: &Spec) {
    let terms = spec.superslab;
    assert!((1..=SHARDS_MAX).contains(&terms.shards));
    assert!(terms.purge.is_none_or(|purge| purge.after_ms <= 3_600_000));
    for class in &spec.classes {
        let (magazine, slab) = (class.slots * class.bytes, class.units * UNIT_BYTES);
        assert!(spec.cache_limit.is_none_or(|limit| limit >= magazine.into()));
        assert!(terms.limit.is_none_or(|limit| limit > slab.into()));
    }
}

/// What has no meaning without a layer is not there.
fn layers_hold(spec: &Spec) {
    assert!(spec.adaptive.is_none_or(|spares| (2..=64).contains(&spares)));
    assert!(spec.layers.has_depot() || spec.classes.iter().all(|class| class.depot == 0));
    if spec.layers == Layers::None {
        assert!(spec.classes.iter().all(|class| class.slots == 1));
        assert_eq!((spec.adaptive, spec.cache_limit, spec.superslab.shards), (None, None, 1));
        assert!(!spec.hints.prefetch);
    }
}

/// Each check has what it needs.
fn checks_hold(spec: &Spec) {
    let Checks { foreign, alignment, size, canary, poison, .. } = spec.checks;
    assert!(foreign || !(alignment || size));
    assert!(!spec.layers.has_freelist() || !(canary || poison));
    assert!(spec.layers.has_magazine() || !spec.checks.random);
    assert!(spec.layers.has_cache() || !spec.checks.quarantine);
    assert_eq!(spec.checks.quarantine, spec.checks.quarantine_bytes > 0);
    assert!(spec.checks.random || spec.checks.seed.is_none());
    if spec.checks.maps_large() {
        assert_eq!((spec.spans_to, spec.keep), (0, 0));
    } else {
        assert!(spec.spans_to >= spec.classes.last().unwrap().bytes);
    }
    let guard = if spec.checks.guard { GUARD_BYTES } else { 0 };
    assert!(spec.classes.iter().all(|class| class.tail() >= guard));
}

/// Pieces from which a text looks almost like a spec.
const PIECES: [&str; 60] = [
    "schema = 1\n",
    "extends = ",
    "\"general\"",
    "\"web\"",
    "[allocator]\n",
    "name = ",
    "[classes]\n",
    "classes.",
    "ladder = ",
    "sizes = ",
    "quantum = ",
    "linear_to = ",
    "steps_per_doubling = ",
    "max = ",
    "[[classes.tune]]\n",
    "size = ",
    "slots = ",
    "[cache]\n",
    "layers = ",
    "depot = ",
    "[hints]\n",
    "hot = ",
    "hit = ",
    "[large]\n",
    "spans_to = ",
    "[superslab]\n",
    "shards = ",
    "purge = ",
    "purge.",
    "how = ",
    "after = ",
    "helper = ",
    "limit = ",
    "huge_pages = ",
    "\"none\"",
    "\"never\"",
    "\"1 s\"",
    "true",
    "keep = ",
    "{ ",
    " }",
    "[",
    "]",
    ", ",
    "\n",
    "16",
    "64",
    "\"64 KiB\"",
    "\"magazine\"",
    "\"freelist\"",
    "adaptive = ",
    "min = ",
    "prefetch = ",
    "inline = ",
    "\"constant\"",
    "[validation]\n",
    "level = ",
    "\"hardened\"",
    "canary = ",
    "[stats]\n",
];

/// A shipped spec of which one part is replaced.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![select(&PIECES[..]).prop_map(str::to_owned), ".{0,4}"];
    (0..shipped().len(), any::<usize>(), 0..40_usize, piece).prop_map(|(index, at, cut, piece)| {
        let text = shipped()[index].1;
        let start = text.floor_char_boundary(at % text.len());
        let end = text.floor_char_boundary((start + cut).min(text.len()));
        format!("{}{piece}{}", &text[..start], &text[end..])
    })
}

/// A spec of good shape, its numbers chosen freely.
fn numbers() -> impl Strategy<Value = String> {
    let power = (4..18_u32).prop_map(|exponent| 1_u32 << exponent);
    let any_size = prop_oneof![power, 1..140_000_u32];
    (vec(any_size, 7), 0..20_u32, proptest::bool::ANY).prop_map(|(n, steps, hot)| {
        let hot = if hot { format!("hints.hot = [{}]", n[3]) } else { String::new() };
        format!(
            "schema = 1\nlarge.spans_to = {}\ncache = {{ slots = {}, bytes = {} }}\n{hot}\n\
                 classes.sizes = [{}]\n\
                 classes.ladder = {{ quantum = {}, linear_to = {}, steps_per_doubling = {steps}, \
                 max = {} }}",
            n[0] * 8,
            n[1] % 2000,
            n[2],
            n[3],
            n[4] % 5000,
            n[5],
            n[6]
        )
    })
}

/// A spec of good shape that extends another one and chooses layers and checks freely.
fn choices() -> impl Strategy<Value = String> {
    let lines = [
        "cache.layers = []",
        "cache.layers = [\"freelist\"]",
        "cache.layers = [\"magazine\", \"freelist\", \"depot\"]",
        "cache.slots = 8",
        "cache.adaptive = { min = 4, max = 64 }",
        "cache.depot = \"1 MiB\"",
        "hints.prefetch = true",
        "superslab.shards = 4",
        "large.spans_to = \"64 KiB\"",
        "classes.sizes = [16, 40, 131072]",
        "validation.level = \"boundary\"",
        "validation.level = \"full\"",
        "validation.level = \"hardened\"",
        "validation.foreign = false",
        "validation.size = true",
        "validation.poison = false",
        "validation.canary = false",
        "validation.random = true",
        "validation.random = false",
        "validation.guard = true",
        "validation.quarantine_bytes = 64",
        "validation.seed = 3",
    ];
    let bases = ["", "extends = \"general\"\n", "extends = \"tiny\"\n"];
    (select(bases.to_vec()), subsequence(lines.to_vec(), 0..6))
        .prop_map(|(base, lines)| format!("schema = 1\n{base}{}", lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn pieces_of_specs(pieces in vec(select(&PIECES[..]), 0..40)) {
        read(&pieces.concat());
    }

    #[test]
    fn damaged_specs(text in damaged()) {
        read(&text);
    }

    #[test]
    fn any_choices(text in choices()) {
        read(&text);
    }

    #[test]
    fn any_numbers(text in numbers()) {
        read(&text);
    }
}
