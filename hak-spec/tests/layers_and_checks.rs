//! Layers, adaptive capacity and checks: what is chosen, what is inherited, what is left out.

use std::fs;
use std::path::Path;

use hak_spec::{Checks, Class, GUARD_BYTES, Inline, Layers, Likely, Spec, UNIT_BYTES, parse};

/// The model of `schema = 1` and what the test is about.
fn with(text: &str) -> Spec {
    let text = format!("schema = 1\n{text}");
    parse(&text, "test.toml", "Test", None).unwrap_or_else(|report| panic!("{report}"))
}

/// The model of a spec that extends another one.
fn derived(test: &str, own: &str, base: &str) -> Spec {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("base.toml"), format!("schema = 1\n{base}")).unwrap();
    let own = format!("schema = 1\nextends = \"base.toml\"\n{own}");
    parse(&own, "own.toml", "Own", Some(&dir)).unwrap_or_else(|report| panic!("{report}"))
}

fn class(spec: &Spec, bytes: u32) -> &Class {
    spec.classes.iter().find(|class| class.bytes == bytes).expect("a class of the spec")
}

fn counts(class: &Class) -> [u32; 4] {
    [class.slots, class.refill, class.prewarm, class.depot]
}

/// Names of the checks that are on.
fn on(spec: &Spec) -> Vec<&'static str> {
    let checks = spec.checks;
    let all = [
        ("foreign", checks.foreign),
        ("alignment", checks.alignment),
        ("size", checks.size),
        ("double_free", checks.double_free),
        ("canary", checks.canary),
        ("poison", checks.poison),
        ("zero", checks.zero),
        ("random", checks.random),
        ("quarantine", checks.quarantine),
        ("guard", checks.guard),
    ];
    all.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect()
}

#[test]
fn every_list_of_layers() {
    let layers = |list: &str| with(&format!("cache.layers = {list}")).layers;
    assert_eq!(layers("[]"), Layers::None);
    for depot in [false, true] {
        let list = |names: &str| match depot {
            true => format!("[{names}, \"depot\"]"),
            false => format!("[{names}]"),
        };
        let both = "\"magazine\", \"freelist\"";
        assert_eq!(layers(&list("\"magazine\"")), Layers::Magazine { depot });
        assert_eq!(layers(&list("\"freelist\"")), Layers::Freelist { depot });
        assert_eq!(layers(&list(both)), Layers::MagazineFreelist { depot });
    }
}

#[test]
fn layers_say_what_they_have() {
    let figures = |layers: Layers| {
        (layers.has_cache(), layers.has_magazine(), layers.has_freelist(), layers.has_depot())
    };
    assert_eq!(figures(Layers::None), (false, false, false, false));
    assert_eq!(figures(Layers::Magazine { depot: true }), (true, true, false, true));
    assert_eq!(figures(Layers::Freelist { depot: false }), (true, false, true, false));
    assert_eq!(figures(Layers::MagazineFreelist { depot: true }), (true, true, true, true));
}

#[test]
fn the_depot_counts_parcels() {
    let depot = |layers: &str, slots: u32| {
        let text =
            format!("cache = {{ layers = [{layers}, \"depot\"], slots = {slots}, depot = 4096 }}");
        class(&with(&text), 64).depot
    };
    assert_eq!(depot("\"magazine\"", 16), 4);
    assert_eq!(depot("\"freelist\"", 16), 4);
    assert_eq!(depot("\"magazine\", \"freelist\"", 16), 8);
    // A chain of three, not of two and a half.
    assert_eq!(depot("\"magazine\", \"freelist\"", 5), 21);
}

#[test]
fn without_layers_nothing_is_kept() {
    let spec = with("cache.layers = []");
    assert!(spec.classes.iter().all(|class| counts(class) == [1, 1, 1, 0]));
    assert_eq!((spec.cache_limit, spec.adaptive, spec.superslab.shards), (None, None, 1));
    let hints = spec.hints;
    let expected = (Likely::None, Likely::None, Likely::Likely, false);
    assert_eq!((hints.hit, hints.room, hints.small, hints.prefetch), expected);
}

#[test]
fn without_layers_what_a_base_says_of_a_cache_is_left_out() {
    let base = "[cache]\nbytes = \"2 KiB\"\nrefill.hot = 4\nprewarm = 9\ndepot = 1\n\
                limit = \"64 KiB\"\nadaptive = { min = 4, max = 16 }\n\
                [hints]\nhit = \"unlikely\"\nroom = \"none\"\nprefetch = true\n\
                [validation]\nrandom = true\nquarantine = true\nzero = true\n\
                quarantine_bytes = 64\nseed = 1\n\
                [superslab]\nshards = \"auto\"\n\
                [[classes.tune]]\nsize = 64\nslots = 8\nrefill = 8";
    let spec = derived("no_layers", "cache.layers = []", base);
    let plain = with("cache.layers = []\nvalidation.zero = true");
    assert_eq!(Spec { name: plain.name.clone(), files: Vec::new(), ..spec }, plain);
}

/// What asks for nothing may be said.
#[test]
fn without_layers_nothing_may_be_asked_for() {
    let text = "cache = { layers = [], limit = \"none\", adaptive = \"none\" }\n\
                hints = { hit = \"none\", room = \"none\", prefetch = false }\n\
                superslab.shards = 1\nvalidation = { random = false, quarantine = false }";
    assert_eq!(with(text), with("cache.layers = []"));
}

#[test]
fn adaptive_bounds_are_slots_and_spares() {
    let spec = with("cache.adaptive = { min = 16, max = 100 }");
    assert_eq!((spec.adaptive, class(&spec, 64).slots), (Some(6), 16));
    // Bytes bound them as they bound slots.
    assert_eq!(class(&spec, 16 << 10).slots, 4);
    assert_eq!(with("").adaptive, None);
    assert_eq!(with("cache.adaptive = { min = 8, max = 16 }").adaptive, Some(2));
    assert_eq!(with("cache.adaptive = { min = 1024, max = 65536 }").adaptive, Some(64));
    assert_eq!(with("cache.adaptive = { min = 16, max = 1039 }").adaptive, Some(64));
}

#[test]
fn a_class_has_slots_of_its_own_beside_adaptive_ones() {
    let spec =
        with("cache.adaptive = { min = 16, max = 64 }\n[[classes.tune]]\nsize = 64\nslots = 32");
    assert_eq!((class(&spec, 64).slots, class(&spec, 80).slots), (32, 16));
}

#[test]
fn adaptive_is_inherited_whole_or_turned_off() {
    let base = "cache.adaptive = { min = 16, max = 256 }";
    assert_eq!(derived("adaptive_kept", "", base).adaptive, Some(16));
    let off = derived("adaptive_off", "cache = { adaptive = \"none\", slots = 32 }", base);
    assert_eq!((off.adaptive, class(&off, 64).slots), (None, 32));
    let slots = "cache.slots = 128";
    let on = derived("adaptive_on", "cache.adaptive = { min = 8, max = 32 }", slots);
    assert_eq!((on.adaptive, class(&on, 64).slots), (Some(4), 8));
}

/// One byte less is a case in `tests/reject`.
#[test]
fn a_limit_holds_an_adaptive_parcel() {
    let text =
        "cache = { bytes = \"64 KiB\", limit = \"64 KiB\", adaptive = { min = 4, max = 8 } }";
    assert_eq!(with(text).cache_limit, Some(64 << 10));
}

#[test]
fn hints_that_are_about_code() {
    let hints = with("hints = { inline = \"constant\", prefetch = true }").hints;
    assert_eq!((hints.inline, hints.prefetch), (Inline::Constant, true));
    assert!(!with("").hints.prefetch);
}

#[test]
fn statistics_are_asked_for() {
    let asked = |text: &str| (with(text).counters, with(text).profile);
    assert_eq!(asked(""), (false, false));
    assert_eq!(asked("stats.counters = true"), (true, false));
    assert_eq!(asked("stats.profile = true"), (false, true));
}

const BOUNDARY: [&str; 4] = ["foreign", "alignment", "size", "double_free"];
const FULL: [&str; 6] = ["foreign", "alignment", "size", "double_free", "canary", "poison"];

#[test]
fn a_level_is_a_sum() {
    let level = |level: &str| on(&with(&format!("validation.level = \"{level}\"")));
    assert_eq!(with("").checks, Checks::OFF);
    assert_eq!(level("off"), [""; 0]);
    assert_eq!(level("boundary"), BOUNDARY);
    assert_eq!(level("full"), FULL);
    let more = ["zero", "random", "quarantine", "guard"];
    assert_eq!(level("hardened"), [&FULL[..], &more[..]].concat());
}

#[test]
fn checks_are_added_and_taken_away() {
    let spec = with("validation = { level = \"boundary\", zero = true, double_free = false }");
    assert_eq!(on(&spec), ["foreign", "alignment", "size", "zero"]);
    for check in ["foreign", "double_free", "canary", "poison", "zero", "random", "quarantine"] {
        assert_eq!(on(&with(&format!("validation.{check} = true"))), [check]);
    }
}

#[test]
fn a_level_of_its_own_takes_no_checks_from_a_base() {
    let base = "validation = { level = \"full\", canary = false, zero = true }";
    let checks = |test: &str, own: &str| on(&derived(test, own, base));
    let kept = ["foreign", "alignment", "size", "double_free", "poison", "zero"];
    assert_eq!(checks("checks_kept", ""), kept);
    assert_eq!(checks("level", "validation.level = \"full\""), FULL);
    assert_eq!(checks("level_off", "validation.level = \"off\""), [""; 0]);
    let added = checks("added", "validation = { canary = true, zero = false }");
    assert_eq!(added, FULL);
}

#[test]
fn figures_go_with_their_checks() {
    let hardened = with("validation.level = \"hardened\"").checks;
    assert_eq!((hardened.quarantine_bytes, hardened.seed), (16 << 10, None));
    let text = "level = \"hardened\", quarantine_bytes = \"1 MiB\", seed = 42";
    let hardened = with(&format!("validation = {{ {text} }}")).checks;
    assert_eq!((hardened.quarantine_bytes, hardened.seed), (1 << 20, Some(42)));
    let off =
        derived("figures", "validation.level = \"off\"", &format!("validation = {{ {text} }}"));
    assert_eq!(off.checks, Checks::OFF);
}

#[test]
fn mappings_that_go_back_are_not_kept() {
    for check in ["poison", "guard"] {
        let on = format!("validation.{check} = true");
        let spec = with(&on);
        assert_eq!((spec.spans_to, spec.keep), (0, 0));
        let spec = derived("maps", &on, "large = { spans_to = \"64 KiB\", keep = 1 }\n");
        assert_eq!((spec.spans_to, spec.keep), (0, 0));
        assert_eq!(with(&format!("{on}\nlarge.keep = 0")).keep, 0);
    }
    // Spans that are no more need not reach above the classes.
    let own = "validation.poison = true\nclasses.sizes = [131072]";
    assert_eq!(derived("maps_all", own, "large.spans_to = \"64 KiB\"").spans_to, 0);
    assert_eq!(with("validation.level = \"boundary\"").spans_to, 1 << 20);
}

#[test]
fn guarded_slabs_end_with_a_free_page() {
    let sizes = "classes.sizes = [16, 64, 4096, 8192, 32768, 131072]";
    let (plain, guarded) = (with(sizes), with(&format!("{sizes}\nvalidation.guard = true")));
    let slabs = |spec: &Spec| -> Vec<_> {
        spec.classes.iter().map(|class| (class.units, class.blocks)).collect()
    };
    assert_eq!(slabs(&plain), [(1, 4096), (1, 1024), (1, 16), (1, 8), (4, 8), (16, 8)]);
    assert_eq!(slabs(&guarded), [(1, 3840), (1, 960), (1, 15), (2, 15), (5, 9), (16, 7)]);
    for class in &guarded.classes {
        assert!(class.tail() >= GUARD_BYTES && class.tail() <= class.units * UNIT_BYTES / 8);
    }
}
