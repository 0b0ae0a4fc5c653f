//! Good specs and the model they become.

use std::fs;
use std::path::{Path, PathBuf};

use hak_spec::{
    Class, Inline, Layers, Likely, Prefault, Purge, PurgeHow, SHARDS_AUTO, Spec, UNIT_BYTES, parse,
};

/// The model of a text; panics with the problems of a bad one.
fn spec(text: &str) -> Spec {
    parse(text, "test.toml", "Test", None).unwrap_or_else(|report| panic!("{report}"))
}

/// `schema = 1` and what the test is about.
fn with(text: &str) -> Spec {
    spec(&format!("schema = 1\n{text}"))
}

fn class(spec: &Spec, bytes: u32) -> &Class {
    spec.classes.iter().find(|class| class.bytes == bytes).expect("a class of the spec")
}

fn sizes(spec: &Spec) -> Vec<u32> {
    spec.classes.iter().map(|class| class.bytes).collect()
}

/// Writes files into a folder of this test's own; gives back the first one's path.
fn files(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&dir).unwrap();
    for (name, text) in files {
        fs::write(dir.join(name), text).unwrap();
    }
    dir.join(files[0].0)
}

fn load(test: &str, texts: &[(&str, &str)]) -> Spec {
    hak_spec::load(&files(test, texts)).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn a_version_is_a_spec() {
    let spec = with("");
    assert_eq!(spec.name, "Test");
    assert_eq!(spec.summary, "");
    assert_eq!(spec.files, Vec::<PathBuf>::new());
    assert_eq!(spec.classes.len(), 40);
    assert_eq!(spec.layers, Layers::Magazine { depot: true });
    let hints = spec.hints;
    assert_eq!(
        (hints.hit, hints.room, hints.small),
        (Likely::Likely, Likely::Likely, Likely::Likely)
    );
    assert_eq!(hints.inline, Inline::Always);
    assert_eq!(spec.cache_limit, Some(64 << 20));
    let terms = spec.superslab;
    let purge = Purge { after_ms: 1000, how: PurgeHow::DontNeed, helper: false };
    assert_eq!((terms.shards, terms.purge, terms.limit), (1, Some(purge), None));
    assert_eq!((terms.huge_pages, terms.prefault), (false, Prefault::Growing));
}

#[test]
fn general_writes_out_the_defaults() {
    let (_, text) = hak_spec::shipped().iter().find(|(name, _)| *name == "general").unwrap();
    let mut general = spec(text);
    assert_eq!(general.name, "General");
    (general.name, general.summary) = ("Test".to_owned(), String::new());
    assert_eq!(general, with(""));
}

/// Nothing of the language is left to be found out from the reference, but the checks and what only
/// they, or a profile, give a meaning.
#[test]
fn general_writes_every_key_that_has_a_default() {
    let (_, text) = hak_spec::shipped().iter().find(|(name, _)| *name == "general").unwrap();
    let checks = |path: &str| path.starts_with("validation.") && path != "validation.level";
    for key in hak_spec::keys::all() {
        let is_of_profile = key.path == "stats.sample_bytes";
        if key.default.is_some() && !checks(key.path) && !is_of_profile {
            assert!(text.contains(&format!("{} = ", key.name())), "{} is not written", key.path);
        }
    }
}

#[test]
fn shipped_specs_are_named_after_their_files() {
    for (name, text) in hak_spec::shipped() {
        let path = format!("../specs/{name}.toml");
        let loaded = hak_spec::load(Path::new(&path)).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(loaded.name.to_lowercase(), *name);
        let absolute = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
        assert_eq!(loaded.files, [absolute]);
        assert_eq!(*text, fs::read_to_string(&path).unwrap());
        assert!(!loaded.summary.is_empty());
    }
}

#[test]
fn the_default_ladder() {
    let sizes = sizes(&with(""));
    assert_eq!(sizes[..12], [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256]);
    assert_eq!(sizes[36..], [20480, 24576, 28672, 32768]);
}

#[test]
fn ladders() {
    let ladder = |keys: &str| sizes(&with(&format!("classes.ladder = {{ {keys} }}")));
    assert_eq!(ladder("linear_to = 16, steps_per_doubling = 1, max = 128"), [16, 32, 64, 128]);
    assert_eq!(
        ladder("linear_to = 64, steps_per_doubling = 2, max = 256"),
        [16, 32, 48, 64, 96, 128, 192, 256]
    );
    assert_eq!(ladder("max = 48"), [16, 32, 48]);
    assert_eq!(ladder("max = 160"), [16, 32, 48, 64, 80, 96, 112, 128, 160]);
    assert_eq!(ladder("quantum = 32, linear_to = 128, max = 192"), [32, 64, 96, 128, 160, 192]);
}

#[test]
fn sizes_stand_beside_a_ladder_or_instead_of_one() {
    assert_eq!(sizes(&with("classes.sizes = [16, 24, 48]")), [16, 24, 48]);
    let both = with("classes = { ladder = { max = 64 }, sizes = [24, 40, 128] }");
    assert_eq!(sizes(&both), [16, 24, 32, 40, 48, 64, 128]);
}

#[test]
fn units_of_sizes() {
    for (text, bytes) in [
        ("0", 0),
        ("0x10_00", 4096),
        ("\"64 B\"", 64),
        ("\"64 KiB\"", 64 << 10),
        ("\"64KiB\"", 64 << 10),
        ("\"3 MiB\"", 3 << 20),
        ("\"2 GiB\"", 2 << 30),
        ("\"1 TiB\"", 1 << 40),
    ] {
        assert_eq!(with(&format!("large.keep = {text}")).keep, bytes, "{text}");
    }
}

#[test]
fn what_is_no_size() {
    for text in ["", " ", "KiB", "64 kib", "64  KiB", "64 KiB ", "-1 KiB", "1e3 B", "٣ B", "64"] {
        let spec = format!("schema = 1\nlarge.keep = \"{text}\"");
        let report = parse(&spec, "test.toml", "Test", None).unwrap_err();
        assert!(report.problems()[0].message().ends_with("is not a size"), "{report}");
    }
}

#[test]
fn units_of_times() {
    for (text, after_ms) in [
        ("0 ms", 0),
        ("500 ms", 500),
        ("500ms", 500),
        ("1 s", 1000),
        ("90 s", 90_000),
        ("2 min", 120_000),
        ("1 h", 3_600_000),
    ] {
        let purge = with(&format!("superslab.purge.after = \"{text}\"")).superslab.purge;
        assert_eq!(purge.map(|purge| purge.after_ms), Some(after_ms), "{text}");
    }
}

#[test]
fn what_is_no_time() {
    for text in ["", " ", "s", "1 S", "1  s", "1 s ", "-1 s", "1e3 s", "٣ s", "500", "1 KiB"] {
        let spec = format!("schema = 1\nsuperslab.purge.after = \"{text}\"");
        let report = parse(&spec, "test.toml", "Test", None).unwrap_err();
        assert!(report.problems()[0].message().ends_with("is not a time"), "{report}");
    }
}

#[test]
fn a_word_stands_for_no_number() {
    let limits = |limit: &str| {
        let spec = with(&format!("cache.limit = {limit}\nsuperslab.limit = {limit}"));
        (spec.cache_limit, spec.superslab.limit)
    };
    assert_eq!(limits("\"none\""), (None, None));
    assert_eq!(limits("\"1 GiB\""), (Some(1 << 30), Some(1 << 30)));
    assert_eq!(limits("1_048_576"), (Some(1 << 20), Some(1 << 20)));
    let shards = |shards: &str| with(&format!("superslab.shards = {shards}")).superslab.shards;
    assert_eq!(["\"auto\"", "1", "64"].map(shards), [SHARDS_AUTO, 1, 64]);
    let by_processors =
        |shards: &str| with(&format!("superslab.shards = {shards}")).superslab.shards_by_processors;
    assert_eq!(["\"auto\"", "8"].map(by_processors), [true, false]);
}

/// One byte less is a case in `tests/reject`.
#[test]
fn limits_hold_what_they_must_and_no_more() {
    let spec = with("cache.limit = \"64 KiB\"\nsuperslab.limit = \"320 KiB\"");
    assert_eq!((spec.cache_limit, spec.superslab.limit), (Some(64 << 10), Some(320 << 10)));
    let small = with("classes.sizes = [16]\ncache = { slots = 1, limit = 16 }");
    assert_eq!(small.cache_limit, Some(16));
}

#[test]
fn memory_goes_back_as_the_spec_says() {
    let spec = with(
        "[superslab]\nhuge_pages = \"advise\"\nprefault = true\n\
         purge = { how = \"free\", after = \"5 s\", helper = true }",
    );
    let purge = Purge { after_ms: 5000, how: PurgeHow::Free, helper: true };
    assert_eq!(spec.superslab.purge, Some(purge));
    assert!(spec.superslab.huge_pages && spec.superslab.prefault == Prefault::All);
    assert_eq!(with("superslab.prefault = false").superslab.prefault, Prefault::None);
    assert_eq!(with("superslab.purge.how = \"never\"").superslab.purge, None);
}

#[test]
fn an_inherited_delay_goes_with_the_purge() {
    let top = "schema = 1\nextends = \"general\"\nsuperslab.purge.how = \"never\"";
    assert_eq!(spec(top).superslab.purge, None);
    let back = "schema = 1\nextends = \"tiny\"\n\
                superslab.purge = { how = \"free\", helper = true }";
    let purge = Purge { after_ms: 1000, how: PurgeHow::Free, helper: true };
    assert_eq!(spec(back).superslab.purge, Some(purge));
}

#[test]
fn slots_keep_to_both_bounds() {
    let spec = with("cache = { slots = 32, bytes = \"2 KiB\" }");
    let slots: Vec<u32> = [16, 64, 128, 1024, 4096].map(|bytes| class(&spec, bytes).slots).into();
    assert_eq!(slots, [32, 32, 16, 2, 1]);
}

#[test]
fn refill_is_own_then_hot_then_mid_then_default() {
    let spec = with(
        "hints.hot = [64, 2048]\n\
         cache = { bytes = \"1 MiB\", refill = { hot = 50, mid = 5, default = 20 } }\n\
         [[classes.tune]]\nsize = 64\nrefill = 7",
    );
    let refill = |bytes| class(&spec, bytes).refill;
    assert_eq!([64, 2048, 4096, 1280, 1024, 16].map(refill), [7, 50, 5, 5, 20, 20]);
    assert_eq!((class(&spec, 64).hot, class(&spec, 2048).hot), (Some(0), Some(1)));
    assert_eq!(class(&spec, 80).hot, None);
}

#[test]
fn shared_counts_shrink_to_the_slots() {
    let text = "cache = { slots = 8, bytes = 256, prewarm = 8, refill = { default = 64 } }";
    let spec = with(text);
    let figures = |class: &Class| (class.slots, class.refill, class.prewarm);
    assert_eq!(figures(class(&spec, 16)), (8, 8, 8));
    assert_eq!(figures(class(&spec, 64)), (4, 4, 4));
}

#[test]
fn prewarm_is_own_then_shared_then_refill() {
    assert_eq!(class(&with("cache.refill.default = 9"), 64).prewarm, 9);
    let spec = with("cache.prewarm = 3\n[[classes.tune]]\nsize = 64\nprewarm = 12");
    assert_eq!((class(&spec, 64).prewarm, class(&spec, 80).prewarm), (12, 3));
}

#[test]
fn the_depot_counts_full_magazines() {
    let spec = with("cache = { slots = 16, depot = \"4 KiB\" }");
    assert_eq!([16, 64, 256].map(|bytes| class(&spec, bytes).depot), [16, 4, 1]);
    let without = with("cache.layers = [\"magazine\"]");
    assert_eq!(without.layers, Layers::Magazine { depot: false });
    assert!(without.classes.iter().all(|class| class.depot == 0));
}

#[test]
fn slabs_hold_enough_blocks_and_waste_little() {
    let spec = with("classes.sizes = [16, 48, 8192, 8208, 32768, 116512, 131072]");
    let slab = |bytes| (class(&spec, bytes).units, class(&spec, bytes).blocks);
    assert_eq!(slab(16), (1, 4096));
    assert_eq!(slab(48), (1, 1365));
    assert_eq!(slab(8192), (1, 8));
    assert_eq!(slab(8208), (2, 15));
    assert_eq!(slab(32768), (4, 8));
    assert_eq!(slab(131_072), (16, 8));
}

#[test]
fn every_class_size_has_a_slab() {
    for first in (16..=131_072).step_by(16 * 64) {
        let list: Vec<String> = (0..64)
            .map(|i| first + 16 * i)
            .filter(|size| *size <= 131_072)
            .map(|size| size.to_string())
            .collect();
        for class in with(&format!("classes.sizes = [{}]", list.join(", "))).classes {
            let slab_bytes = class.units * UNIT_BYTES;
            assert!((8..=4096).contains(&class.blocks) && class.units <= 16, "{class:?}");
            assert!(class.tail() <= slab_bytes / 8, "{class:?}");
        }
    }
}

#[test]
fn hints_are_words() {
    let hints = with("hints = { hit = \"none\", room = \"unlikely\", inline = \"never\" }").hints;
    assert_eq!(
        (hints.hit, hints.room, hints.small),
        (Likely::None, Likely::Unlikely, Likely::Likely)
    );
    assert_eq!(hints.inline, Inline::Never);
}

#[test]
fn what_is_done_anyway_may_be_said() {
    let spec = with(
        "validation = { level = \"off\", guard = false }\n\
         stats.counters = false\nhints.prefetch = false\n\
         [superslab]\nsize = 2_097_152\nshards = 1\nlimit = \"none\"\npurge.how = \"dontneed\"",
    );
    assert_eq!(spec, with(""));
}

#[test]
fn names_of_files_become_names_of_types() {
    for (file, name) in [
        ("web.toml", "Web"),
        ("web-api.toml", "WebApi"),
        ("web_api.v2.toml", "WebApiV2"),
        ("ein Dienst.toml", "EinDienst"),
    ] {
        assert_eq!(load("names", &[(file, "schema = 1")]).name, name);
    }
}

#[test]
fn a_name_of_its_own_goes_first() {
    assert_eq!(with("allocator.name = \"Edge_2\"").name, "Edge_2");
    let odd = load("odd_name", &[("2nd.toml", "schema = 1\nallocator.name = \"Second\"")]);
    assert_eq!(odd.name, "Second");
}

#[test]
fn tables_merge_and_lists_are_replaced() {
    let base = "schema = 1\nallocator = { name = \"Base\", summary = \"base\" }\n\
                cache = { slots = 8, refill = { hot = 3, default = 5 } }\nhints.hot = [16, 32]";
    let top = "schema = 1\nextends = \"base.toml\"\ncache.refill.hot = 4\nhints.hot = [64]";
    let spec = load("merging", &[("top.toml", top), ("base.toml", base)]);
    assert_eq!((spec.name.as_str(), spec.summary.as_str()), ("Top", ""));
    assert_eq!((class(&spec, 64).slots, class(&spec, 64).refill), (8, 4));
    assert_eq!((class(&spec, 16).refill, class(&spec, 16).hot), (5, None));
    let names: Vec<_> = spec.files.iter().map(|file| file.file_name().unwrap()).collect();
    assert_eq!(names, ["top.toml", "base.toml"]);
    assert!(spec.files.iter().all(|file| file.is_absolute()));
}

#[test]
fn tuned_classes_merge_by_size() {
    let base = "schema = 1\n[[classes.tune]]\nsize = 64\nslots = 8\nrefill = 2\n\
                [[classes.tune]]\nsize = 80\nslots = 4";
    let top = "schema = 1\nextends = \"base.toml\"\n[[classes.tune]]\nsize = 64\nslots = 16";
    let spec = load("tuned", &[("top.toml", top), ("base.toml", base)]);
    let tuned = |bytes| (class(&spec, bytes).slots, class(&spec, bytes).refill);
    assert_eq!((tuned(64), tuned(80)), ((16, 2), (4, 4)));
}

#[test]
fn ladder_and_sizes_are_inherited_together() {
    let base = "schema = 1\nclasses = { ladder = { max = 64 }, sizes = [40] }";
    let derived = |test: &str, own: &str| {
        let top = format!("schema = 1\nextends = \"base.toml\"\n{own}");
        sizes(&load(test, &[("top.toml", &top), ("base.toml", base)]))
    };
    assert_eq!(derived("neither", ""), [16, 32, 40, 48, 64]);
    assert_eq!(derived("sizes", "classes.sizes = [16, 96]"), [16, 96]);
    assert_eq!(derived("ladder", "classes.ladder = { quantum = 32, max = 96 }"), [32, 64, 96]);
    assert_eq!(derived("empty_ladder", "classes.ladder = {}").len(), 40);
}

#[test]
fn a_base_may_speak_of_classes_that_are_gone() {
    let base = "schema = 1\nhints.hot = [48, 16]\n[[classes.tune]]\nsize = 48\nslots = 4";
    let top = "schema = 1\nextends = \"base.toml\"\nclasses.sizes = [16, 64]";
    let spec = load("gone", &[("top.toml", top), ("base.toml", base)]);
    assert_eq!((sizes(&spec), class(&spec, 16).hot), (vec![16, 64], Some(0)));
}

#[test]
fn an_inherited_depot_goes_with_its_layer() {
    let top = "schema = 1\nextends = \"general\"\ncache.layers = [\"magazine\"]";
    assert_eq!(spec(top).classes[0].depot, 0);
}

#[test]
fn bases_have_bases() {
    let texts = [
        ("a.toml", "schema = 1\nextends = \"b.toml\""),
        ("b.toml", "schema = 1\nextends = \"tiny\"\nlarge.keep = 1"),
    ];
    let spec = load("chain", &texts);
    assert_eq!((spec.keep, spec.files.len()), (1, 2));
    let (_, tiny) = hak_spec::shipped().iter().find(|(name, _)| *name == "tiny").unwrap();
    assert_eq!(spec.classes, parse(tiny, "tiny.toml", "Tiny", None).unwrap().classes);
}

#[test]
fn an_inline_spec_extends_a_file_of_its_folder() {
    let base = files("inline", &[("base.toml", "schema = 1\nlarge.keep = 7")]);
    let text = "schema = 1\nextends = \"base.toml\"";
    let spec = parse(text, "inline spec", "Inline", base.parent()).unwrap();
    assert_eq!((spec.keep, spec.files), (7, vec![base]));
}

#[test]
fn windows_files_are_read() {
    assert_eq!(spec("\u{feff}schema = 1\r\n\r\n[large]\r\nkeep = 5\r\n").keep, 5);
}
