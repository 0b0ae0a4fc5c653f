//! What `hak inspect` says: it builds programs, and reads what they run.
//!
//! Expected texts are in `tests/inspect/NAME.txt`; `HAK_BLESS=1 cargo test -p hak-cli` rewrites
//! them. Counts are what the pinned compiler makes today.

#[path = "support/place.rs"]
mod place;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use place::{Place, SMALL, temporary};
use serde_json::Value;

fn golden(name: &str, args: &[&str]) -> String {
    let text = Place::new().text(args);
    let path = Path::new("tests/inspect").join(name).with_extension("txt");
    if std::env::var_os("HAK_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
    text
}

/// The path of an operation and a layout, in the JSON of one spec.
fn path<'j>(json: &'j Value, operation: &str, layout: &str) -> &'j Value {
    let paths = json["specs"][0]["paths"].as_array().unwrap();
    let found = paths.iter().find(|p| p["operation"] == operation && p["layout"] == layout);
    found.unwrap_or_else(|| panic!("no path {operation}, {layout}"))
}

/// What the branches of a path test, each with its hint and its other side.
fn branches(path: &Value) -> Vec<[&str; 3]> {
    let branches = path["branches"].as_array().unwrap();
    let keys = ["tests", "hint", "otherwise"];
    branches.iter().map(|branch| keys.map(|key| text(&branch[key]))).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

const EMPTY: [&str; 3] = ["magazine empty", "hints.hit", "alloc_slow"];
const FULL: [&str; 3] = ["magazine full", "hints.room", "dealloc_slow"];

fn above(largest: u32, otherwise: &str) -> [String; 3] {
    let tests = format!("request above the largest class ({largest} B)");
    [tests, "hints.small".to_owned(), otherwise.to_owned()]
}

#[test]
fn one_spec() {
    golden("one", &["small.toml", "--listing"]);
}

#[test]
fn two_specs_side_by_side() {
    let text = golden("two", &["small.toml", "called.toml"]);
    let widest = text.lines().map(str::len).max().unwrap();
    assert!(widest <= 140, "{widest} columns");
}

/// The guide's example is what the command says.
#[test]
fn the_guide_shows_what_is_said() {
    let guide = fs::read_to_string("../docs/inspect.md").unwrap();
    let text = fs::read_to_string("tests/inspect/two.txt").unwrap();
    for line in text.lines().filter(|line| !line.is_empty()) {
        assert!(guide.contains(line), "docs/inspect.md lacks: {line}");
    }
    assert!(guide.contains(SMALL.lines().last().unwrap()));
}

#[test]
fn constant_layouts_of_general_take_one_branch() {
    let json = Place::new().json("general");
    for (operation, branch) in [("alloc", EMPTY), ("dealloc", FULL)] {
        let path = path(&json, operation, "constant");
        assert_eq!(branches(path), [branch]);
        assert_eq!((&path["instructions"], &path["calls"]), (&6.into(), &0.into()));
        assert_eq!(path["branches"][0]["layer"], "magazine");
        assert_eq!(path["branches"][0]["jumps"], false);
        assert_eq!(path["branches"][0]["hint_value"], "likely");
    }
}

#[test]
fn variable_layouts_of_general_take_two_branches() {
    let json = Place::new().json("general");
    for (operation, large, branch) in
        [("alloc", "alloc_large", EMPTY), ("dealloc", "dealloc_large", FULL)]
    {
        let path = path(&json, operation, "variable");
        let size = above(32 << 10, large);
        assert_eq!(branches(path), [size.each_ref().map(String::as_str), branch]);
        assert_eq!((&path["instructions"], &path["calls"]), (&14.into(), &0.into()));
    }
}

#[test]
fn a_resize_in_place_asks_for_both_sizes_and_their_class() {
    let json = Place::new().json("general");
    let path = path(&json, "realloc", "variable");
    let tests: Vec<_> = branches(path).iter().map(|[tests, ..]| *tests).collect();
    let expected = [
        "old size above the largest class (32768 B)",
        "new size above the largest class (32768 B)",
        "new size in another class",
    ];
    assert_eq!((tests.as_slice(), &path["calls"]), (expected.as_slice(), &0.into()));
}

/// The call is counted, and what it leads to looked at.
#[test]
fn tiny_is_called() {
    let json = Place::new().json("tiny");
    for (operation, large, branch) in
        [("alloc", "alloc_large", EMPTY), ("dealloc", "dealloc_large", FULL)]
    {
        for layout in ["constant", "variable"] {
            let path = path(&json, operation, layout);
            let size = above(4 << 10, large);
            assert_eq!(branches(path), [size.each_ref().map(String::as_str), branch]);
            assert_eq!(path["calls"], 1);
        }
    }
}

/// The hot class is the one that is looked at; its bin is the first.
#[test]
fn hot_classes_are_looked_at() {
    let place = Place::new();
    place.write("hot.toml", "schema = 1\nextends = \"small.toml\"\nhints.hot = [128, 16]\n");
    let text = place.text(&["hot.toml", "--listing"]);
    assert!(text.contains("requests of 128 bytes"), "{text}");
    assert!(text.contains("    mov rax, fs:[CACHE]\n"), "{text}");
}

#[test]
fn unlikely_sides_are_jumped_to() {
    let place = Place::new();
    let hints = "hints = { hit = \"unlikely\", room = \"none\", small = \"unlikely\" }\n";
    place.write("hinted.toml", &format!("schema = 1\nextends = \"small.toml\"\n{hints}"));
    let json = place.json("hinted.toml");
    let hinted = |operation, layout| {
        let branches = path(&json, operation, layout)["branches"].as_array().unwrap().clone();
        let of = |b: &Value| (b["hint_value"].as_str().unwrap().to_owned(), b["jumps"] == true);
        branches.iter().map(of).collect::<Vec<_>>()
    };
    let unlikely = ("unlikely".to_owned(), true);
    assert_eq!(hinted("alloc", "variable"), [unlikely.clone(), unlikely.clone()]);
    assert_eq!(hinted("alloc", "constant"), [unlikely]);
    assert_eq!(hinted("dealloc", "constant")[0].0, "none");
}

/// Such classes need a test of their own, which no hint is for.
#[test]
fn odd_sizes_ask_for_the_alignment() {
    let place = Place::new();
    place.write("odd.toml", "schema = 1\nclasses.sizes = [16, 24, 40, 64]\n");
    let json = place.json("odd.toml");
    let alloc = branches(path(&json, "alloc", "variable"));
    assert_eq!(alloc[0], ["alignment above 8 B", "", "alloc_large"]);
    assert_eq!((alloc.len(), alloc[2]), (3, EMPTY));
    all_are_recognised(&json);
}

fn all_are_recognised(json: &Value) {
    let paths = json["specs"][0]["paths"].as_array().unwrap();
    let mut branches = paths.iter().flat_map(|path| path["branches"].as_array().unwrap());
    assert!(branches.all(|branch| branch["recognised"] == true), "{json:#}");
}

/// Its hit path has the same questions, of a list.
#[test]
fn lists_are_asked_like_magazines() {
    let place = Place::new();
    let layers = "cache.layers = [\"freelist\", \"depot\"]\n";
    place.write("list.toml", &format!("schema = 1\nextends = \"small.toml\"\n{layers}"));
    let json = place.json("list.toml");
    let alloc = path(&json, "alloc", "constant");
    assert_eq!(branches(alloc), [["list empty", "hints.hit", "alloc_slow"]]);
    let dealloc = path(&json, "dealloc", "constant");
    assert_eq!(branches(dealloc), [["list full", "hints.room", "dealloc_slow"]]);
    assert_eq!(alloc["branches"][0]["layer"], "freelist");
}

/// The slabs' own branches are counted, and not listed as if they were the generated code's.
#[test]
fn without_layers_the_slabs_are_called() {
    let place = Place::new();
    place.write("bare.toml", "schema = 1\nextends = \"small.toml\"\ncache.layers = []\n");
    let json = place.json("bare.toml");
    for (operation, function) in [("alloc", "alloc_class"), ("dealloc", "dealloc_class")] {
        let path = path(&json, operation, "constant");
        assert_eq!(branches(path).len(), 0);
        let called = &path["called"][0];
        assert_eq!(called["function"], function);
        assert!(called["instructions"].as_u64() > Some(20), "{path}");
        assert_eq!(called["conditional_branches"], path["conditional_branches"]);
    }
    let spec = &json["specs"][0];
    assert_eq!(spec["costs"]["cached_bytes_per_thread_max"], 0);
    assert_eq!(spec["classes"][0]["slots"], Value::Null);
    let text = place.text(&["bare.toml"]);
    assert!(text.contains("    in alloc_class: "), "{text}");
}

/// A check that is on is in the list; the others, and all of `off`, are not.
#[test]
fn checks_are_in_the_list() {
    let place = Place::new();
    let write = |name: &str, checks: &str| {
        let text = format!("schema = 1\nextends = \"small.toml\"\nvalidation = {{ {checks} }}\n");
        place.write(name, &text);
    };
    write("canary.toml", "canary = true");
    write("boundary.toml", "level = \"boundary\"");
    let checks = |spec: &str| -> BTreeSet<String> {
        let json = place.json(spec);
        let all = branches(path(&json, "dealloc", "variable"));
        let checks = all.iter().filter(|[tests, ..]| tests.starts_with("check: "));
        checks.map(|[tests, ..]| (*tests).to_owned()).collect()
    };
    let only = |check: &str| BTreeSet::from([check.to_owned()]);
    assert_eq!(checks("small.toml"), BTreeSet::new());
    assert_eq!(checks("canary.toml"), only("check: canary changed"));
    assert_eq!(checks("boundary.toml"), only("check: block suspect"));
    // The canary takes 8 of the 64 bytes.
    assert_eq!(place.json("canary.toml")["specs"][0]["request_bytes"], 56);
}

#[test]
fn statistics_are_in_the_list() {
    let place = Place::new();
    let stats = "stats = { counters = true, profile = true }";
    place.write("stats.toml", &format!("schema = 1\nextends = \"small.toml\"\n{stats}\n"));
    let json = place.json("stats.toml");
    let of_stats = |operation, layout| -> Vec<&str> {
        let branches = path(&json, operation, layout)["branches"].as_array().unwrap();
        let of_stats = branches.iter().filter(|branch| branch["layer"] == "stats");
        of_stats.map(|branch| text(&branch["tests"])).collect()
    };
    for layout in ["constant", "variable"] {
        assert_eq!(of_stats("alloc", layout), ["sample due"]);
        assert_eq!(of_stats("dealloc", layout), ["block may be sampled"]);
    }
    assert_eq!(of_stats("realloc", "variable"), ["thread has not counted yet"]);
    all_are_recognised(&json);
}

#[test]
fn costs_follow_from_the_spec() {
    let json = Place::new().json("small.toml");
    let costs = &json["specs"][0]["costs"];
    // Two magazines of 64 slots for each class.
    assert_eq!(costs["cached_bytes_per_thread_max"], 2 * 64 * (16 + 32 + 64 + 128));
    assert_eq!(costs["cached_bytes_all_threads_max"], 64 << 20);
    assert_eq!(costs["metadata_bytes_per_superslab"], 64 << 10);
    assert_eq!(costs["superslab_bytes"], 2 << 20);
    let variables = costs["thread_local_variables"].as_array().unwrap();
    let sum: u64 = variables.iter().map(|v| v["bytes"].as_u64().unwrap()).sum();
    assert_eq!(costs["thread_local_bytes"], sum);
    // A bin of three words and a spare magazine for each class, and the thread's record.
    let cache = variables.iter().find(|variable| variable["name"] == "CACHE").unwrap();
    assert!(cache["bytes"].as_u64().unwrap() > 4 * (3 + 1) * 8, "{cache}");
    let small = json["specs"][0]["classes"].as_array().unwrap();
    let waste: Vec<_> = small.iter().map(|class| &class["worst_waste_percent"]).collect();
    assert_eq!(waste, [93, 46, 48, 49]);
}

const KEYS: &str = "
    schema specs
    specs.spec specs.name specs.inline specs.request_bytes specs.classes specs.paths specs.costs
    specs.classes.bytes specs.classes.blocks_per_slab specs.classes.slots specs.classes.refill
    specs.classes.tail_bytes specs.classes.worst_waste_percent
    specs.paths.operation specs.paths.layout specs.paths.instructions
    specs.paths.conditional_branches specs.paths.loads specs.paths.stores specs.paths.calls
    specs.paths.branches specs.paths.called
    specs.paths.branches.tests specs.paths.branches.recognised specs.paths.branches.layer
    specs.paths.branches.jumps specs.paths.branches.times specs.paths.branches.hint
    specs.paths.branches.hint_value specs.paths.branches.otherwise specs.paths.branches.compare
    specs.paths.branches.instruction
    specs.costs.thread_local_bytes specs.costs.thread_local_variables
    specs.costs.thread_local_variables.name specs.costs.thread_local_variables.bytes
    specs.costs.cached_bytes_per_thread_max specs.costs.cached_bytes_all_threads_max
    specs.costs.depot_bytes_max specs.costs.metadata_bytes_per_superslab
    specs.costs.superslab_bytes
";

fn keys(json: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match json {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                keys(value, &key, found);
                found.insert(key);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, prefix, found)),
        _ => {}
    }
}

/// Whoever takes a key away, or adds one, changes the guide; the first counts up `schema`.
#[test]
fn json_has_the_keys_that_the_guide_describes() {
    let json = Place::new().json("small.toml");
    assert_eq!(json["schema"], 1);
    let mut found = BTreeSet::new();
    keys(&json, "", &mut found);
    let expected: BTreeSet<_> = KEYS.split_whitespace().map(str::to_owned).collect();
    assert_eq!(found, expected);
    let guide = fs::read_to_string("../docs/inspect.md").unwrap();
    for key in expected.iter().map(|key| key.rsplit('.').next().unwrap()) {
        assert!(guide.contains(&format!("`{key}`")), "docs/inspect.md lacks `{key}`");
    }
}

/// The second run takes what the first built; an edit is seen.
#[test]
fn only_what_changed_is_built() {
    let place = Place::new();
    let spec = place.write("again.toml", SMALL);
    let built = || {
        let folder = temporary().join("hak/inspect");
        let packages = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let code = |package: &PathBuf| fs::read_to_string(package.join("src/allocator.rs"));
        let is_ours = |p: &PathBuf| code(p).is_ok_and(|code| code.contains("Again"));
        let newest = packages.filter(is_ours).map(|package| {
            let name = package.file_name().unwrap().to_owned();
            let program = package.parent().unwrap().join("target/inspect").join(name);
            fs::metadata(program).unwrap().modified().unwrap()
        });
        newest.max().unwrap()
    };
    let first = place.text(&["again.toml"]);
    let at = built();
    assert_eq!(place.text(&["again.toml"]), first);
    assert_eq!(built(), at, "it was built again");
    fs::write(&spec, SMALL.replace("128", "96")).unwrap();
    let edited = place.text(&["again.toml"]);
    assert!(edited.contains("request above the largest class (96 B)?"), "{edited}");
}
