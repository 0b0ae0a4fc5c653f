//! What `stats.counters` and `stats.profile` cost on the hit path, as the compiler left it, and
//! that nothing of them is there unless a spec asks for it.
//!
//! `cargo test --test watched_paths -- --nocapture` prints the listings.

#[path = "support/hit_path.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod hit_path;
#[path = "support/listing.rs"]
#[expect(dead_code, reason = "tests/fast_path.rs asks more")]
mod listing;
#[path = "support/probe.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod probe;

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use hit_path::hit_path;
use listing::{Binary, is_thread_local};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

const PROGRAM: &str = include_str!("support/programs/listing.rs");

/// A program on a spec, and what was built.
struct Built {
    executable: PathBuf,
    binary: Binary,
}

static PLAIN: LazyLock<Built> = LazyLock::new(|| Built::new("watched_plain", ""));
static OFF: LazyLock<Built> =
    LazyLock::new(|| Built::new("watched_off", "stats = { counters = false, profile = false }\n"));
static COUNTERS: LazyLock<Built> =
    LazyLock::new(|| Built::new("watched_counters", "stats.counters = true\n"));
static PROFILE: LazyLock<Built> =
    LazyLock::new(|| Built::new("watched_profile", "stats.profile = true\n"));

/// All functions of the program.
const FUNCTIONS: [&str; 9] = [
    "new_box",
    "new_box_uninit",
    "drop_box",
    "new_zeroed",
    "new_vec",
    "drop_vec",
    "alloc_any",
    "dealloc_any",
    "realloc_any",
];

impl Built {
    fn new(name: &str, more: &str) -> Built {
        let spec = probe::folder().join(format!("specs/{name}.toml"));
        let text = format!("schema = 1\nextends = \"general\"\n{more}");
        probe::write_if_changed(&spec, &text);
        let executable = probe::build("listing", PROGRAM, Some(&spec));
        let binary = Binary::read(&executable);
        Built { executable, binary }
    }

    /// Instructions and conditional branches of a function's hit path, which calls nothing.
    fn hit(&self, function: &str) -> [usize; 2] {
        let function = self.binary.function(function);
        let path = hit_path(&function);
        println!("{}: {path}", self.executable.display());
        assert_eq!(path.calls(), 0, "{path}");
        [path.own_instructions(), path.jumps().len()]
    }

    /// The instructions of a function, without what differs by where it stands.
    fn code(&self, function: &str) -> Vec<String> {
        let function = self.binary.function(function);
        function.code.iter().map(|line| format!("{:?}", line.code())).collect()
    }

    /// Names and sections of the symbols that have one of these words in their name.
    fn symbols(&self, words: &[&str]) -> Vec<(String, SectionKind)> {
        let data = fs::read(&self.executable).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let named = file.symbols().filter(|symbol| symbol.size() > 0);
        named
            .filter_map(|symbol| {
                let name = symbol.name().unwrap();
                let section = file.section_by_index(symbol.section_index()?).ok()?;
                let is_meant = words.iter().any(|word| name.contains(word));
                is_meant.then(|| (name.to_owned(), section.kind()))
            })
            .collect()
    }
}

/// What of the runtime and of generated code is there for these keys only.
const COUNTING: [&str; 3] = ["8counters", "COUNTS", "TOTALS"];
const SAMPLING: [&str; 4] = ["7profile", "PROFILER", "SAMPLER", "5ticks"];

#[test]
fn what_is_not_asked_for_is_not_there() {
    for function in FUNCTIONS {
        assert_eq!(OFF.code(function), PLAIN.code(function), "{function}");
    }
    for built in [&*PLAIN, &*OFF] {
        assert_eq!(built.symbols(&COUNTING), []);
        assert_eq!(built.symbols(&SAMPLING), []);
    }
    assert_eq!(COUNTERS.symbols(&SAMPLING), []);
    assert_eq!(PROFILE.symbols(&COUNTING), []);
    // The words are those of symbols that can be found.
    assert_ne!(COUNTERS.symbols(&COUNTING), []);
    assert_ne!(PROFILE.symbols(&SAMPLING), []);
}

/// One instruction more, which adds to memory without a lock prefix; for a class that is not known
/// one that takes part in finding the place.
#[test]
fn a_counter_is_one_instruction() {
    for function in ["new_box", "drop_box", "new_zeroed", "alloc_any", "dealloc_any"] {
        let [plain, branches] = PLAIN.hit(function);
        let most = if function.ends_with("any") { 2 } else { 1 };
        let [counted, still] = COUNTERS.hit(function);
        assert!(counted <= plain + most, "{function}: {counted} instead of {plain}");
        assert_eq!(still, branches, "{function}");
        let function = COUNTERS.binary.function(function);
        let path = hit_path(&function);
        let adds = path.instructions().filter(|line| {
            let name = format!("{:?}", line.mnemonic());
            is_thread_local(line) && (name == "Inc" || name == "Add") && !line.has_lock_prefix()
        });
        assert_eq!(adds.count(), 1, "{path}");
    }
}

/// Two instructions for alloc, a subtraction and a branch. Six for dealloc: two hash an address,
/// three look at its byte, one is a branch.
#[test]
fn a_sampler_is_one_branch() {
    for function in ["new_box", "drop_box", "new_zeroed", "alloc_any", "dealloc_any"] {
        let [plain, branches] = PLAIN.hit(function);
        let most = if function.starts_with('d') { 6 } else { 2 };
        let [sampled, more] = PROFILE.hit(function);
        assert!(sampled <= plain + most, "{function}: {sampled} instead of {plain}");
        assert_eq!(more, branches + 1, "{function}");
    }
}

/// A table of a hundred kilobytes is no part of the program's file.
#[test]
fn a_profiler_is_memory_that_starts_as_zeros() {
    let profilers = PROFILE.symbols(&["8PROFILER"]);
    assert_eq!(profilers.len(), 1, "{profilers:?}");
    assert_eq!(profilers[0].1, SectionKind::UninitializedData, "{profilers:?}");
}
