//! Each list of layers as the compiler left it: the hit paths, and nothing of a layer or a check
//! that the spec does not name.
//!
//! `cargo test --test layers -- --nocapture` prints the listings.

#[path = "support/hit_path.rs"]
#[expect(dead_code, reason = "tests/fast_path.rs asks more")]
mod hit_path;
#[path = "support/listing.rs"]
#[expect(dead_code, reason = "tests/fast_path.rs asks more")]
mod listing;
#[path = "support/probe.rs"]
#[expect(dead_code, reason = "specs are made here")]
mod probe;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use hit_path::hit_path;
use listing::Binary;
use object::{Object, ObjectSymbol};

const PROGRAM: &str = include_str!("support/programs/listing.rs");

/// Instructions of a hit with a constant Layout, alloc or dealloc.
const HIT_MAX: usize = 6;

const ADAPTIVE: &str = "cache.adaptive = { min = 16, max = 256 }\n";

/// What a program on a spec was built from, and what was built.
struct Built {
    executable: PathBuf,
    binary: Binary,
}

/// Programs by the names of their layers.
static BUILT: LazyLock<BTreeMap<&str, Built>> = LazyLock::new(|| {
    let lists = [
        ("none", "[]", ""),
        ("freelist", "[\"freelist\"]", ""),
        ("freelist_depot", "[\"freelist\", \"depot\"]", ""),
        ("magazine", "[\"magazine\"]", ""),
        ("magazine_depot", "[\"magazine\", \"depot\"]", ""),
        ("magazine_freelist", "[\"magazine\", \"freelist\"]", ""),
        ("magazine_freelist_depot", "[\"magazine\", \"freelist\", \"depot\"]", ""),
        ("adaptive_magazine", "[\"magazine\"]", ADAPTIVE),
        ("adaptive_freelist", "[\"freelist\"]", ADAPTIVE),
    ];
    lists.map(|(name, layers, more)| (name, Built::new(name, layers, more))).into()
});

impl Built {
    fn new(name: &str, layers: &str, more: &str) -> Built {
        let spec = probe::folder().join(format!("specs/layers_{name}.toml"));
        let text = format!("schema = 1\nextends = \"general\"\ncache.layers = {layers}\n{more}");
        probe::write_if_changed(&spec, &text);
        let executable = probe::build("listing", PROGRAM, Some(&spec));
        let binary = Binary::read(&executable);
        Built { executable, binary }
    }

    /// Instructions and conditional branches of a function's hit path, which calls nothing.
    fn hit(&self, function: &str) -> (usize, usize) {
        let function = self.binary.function(function);
        let path = hit_path(&function);
        println!("{}: {path}", self.executable.display());
        assert_eq!(path.calls(), 0, "{path}");
        (path.own_instructions(), path.jumps().len())
    }

    /// The instructions of a function, without what differs by where it stands.
    fn mnemonics(&self, function: &str) -> Vec<String> {
        let function = self.binary.function(function);
        function.code.iter().map(|line| format!("{:?}", line.code())).collect()
    }

    /// Bytes of all symbols whose names have one of these in it.
    fn bytes_of(&self, words: &[&str]) -> u64 {
        let data = fs::read(&self.executable).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let is_meant = |name: &str| words.iter().any(|word| name.contains(word));
        let symbols = file.symbols().filter(|symbol| symbol.name().is_ok_and(is_meant));
        symbols.map(|symbol| symbol.size()).sum()
    }
}

#[test]
fn a_hit_is_one_branch_in_front_of_any_layer() {
    for (name, built) in BUILT.iter().filter(|(name, _)| **name != "none") {
        for function in ["new_box", "drop_box"] {
            let (instructions, branches) = built.hit(function);
            assert_eq!(branches, 1, "{name}: {function}");
            assert!(instructions <= HIT_MAX, "{name}: {function} takes {instructions}");
        }
    }
}

/// What stands behind the bin does not change what is in front.
#[test]
fn adaptive_capacity_does_not_change_the_hit_path() {
    for (plain, adaptive) in [("magazine", "adaptive_magazine"), ("freelist", "adaptive_freelist")]
    {
        for function in ["new_box", "drop_box", "alloc_any", "dealloc_any"] {
            let [plain, adaptive] = [plain, adaptive].map(|name| BUILT[name].mnemonics(function));
            assert_eq!(plain, adaptive, "{function}");
        }
    }
}

#[test]
fn without_layers_each_request_is_a_call() {
    let none = &BUILT["none"].binary;
    for function in ["new_box", "drop_box"] {
        let function = none.function(function);
        assert!(!function.code.iter().any(listing::is_thread_local), "{}", function.listing(&[]));
    }
}

/// For each layer: what only it has. It is found where the layer is named, and nowhere else.
#[test]
fn a_layer_that_is_not_named_leaves_no_symbol() {
    let marks: [(&str, &[&str]); 4] = [
        ("magazine", &["cache9magazines"]),
        ("freelist", &["cache5lists", "cache7layered"]),
        ("depot", &["6DEPOTS"]),
        ("adaptive", &["look_around"]),
    ];
    for (layer, words) in marks {
        for (name, built) in BUILT.iter() {
            // The statics of what has no contents are a byte.
            let is_there = built.bytes_of(words) > 1;
            assert_eq!(is_there, name.contains(layer), "{layer} in {name}");
        }
    }
    assert_eq!(BUILT["none"].bytes_of(&["5CACHE"]), 0);
    assert!(BUILT["freelist"].bytes_of(&["5CACHE"]) > 0);
}

/// Files of the runtime that are for checks only.
const OF_CHECKS: [&str; 9] = [
    "11address_map",
    "11check_block",
    "13checked_large",
    "5guard",
    "5hooks",
    "6canary",
    "6poison",
    "6random",
    "10quarantine",
];

/// Those of them that a check needs, and no other, are in the program.
#[test]
fn a_check_that_is_off_leaves_no_symbol() {
    let layers = "[\"magazine\", \"depot\"]";
    let of = |name: &str, checks: &str| {
        let built = Built::new(name, layers, &format!("validation = {{ {checks} }}\n"));
        files_of_checks(&built)
    };
    assert_eq!(of("all_checks", "level = \"hardened\""), OF_CHECKS);
    assert_eq!(of("canary", "canary = true"), ["13checked_large", "5hooks", "6canary"]);
    for (name, built) in BUILT.iter() {
        assert!(files_of_checks(built).is_empty(), "{name}");
    }
}

fn files_of_checks(built: &Built) -> Vec<&'static str> {
    let is_there = |file: &&str| built.bytes_of(&[&format!("hak_runtime{file}")]) > 0;
    OF_CHECKS.into_iter().filter(|file| is_there(file)).collect()
}
