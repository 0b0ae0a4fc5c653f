//! The fast path as the compiler left it: instructions, branches and calls, by disassembly.
//!
//! A program is built in release mode with fat LTO for each spec, and the hit path of its functions
//! is followed. `cargo test --test fast_path -- --nocapture` prints the listings, with the
//! instructions of the hit path marked by `>`.
//!
//! Bounds are what the pinned compiler makes today: who needs more has to raise them and say why.

#[path = "support/hit_path.rs"]
mod hit_path;
#[path = "support/listing.rs"]
mod listing;
#[path = "support/probe.rs"]
mod probe;

use std::path::Path as FilePath;
use std::sync::LazyLock;

use hit_path::{Path, Question, hit_path, paths};
use listing::{Binary, Function, is_thread_local};

const PROGRAM: &str = include_str!("support/programs/listing.rs");

/// Instructions for a constant Layout, alloc or dealloc.
const CONSTANT_MAX: usize = 6;
/// Instructions for a Layout of which nothing is known: six more, without a branch, for the class,
/// and two for the branch to what is above the classes.
const VARIABLE_MAX: usize = 14;
/// The same with what `Vec` does itself, which is not told apart.
const NEW_VEC_MAX: usize = 20;
const DROP_VEC_MAX: usize = 16;
/// Instructions of a realloc that leaves the block where it is.
const REALLOC_MAX: usize = 18;

/// `classes.max` of general and of web.
const LARGEST: u64 = 32 << 10;

static GENERAL: LazyLock<Binary> = LazyLock::new(|| build(&probe::shipped("general")));
static WEB: LazyLock<Binary> = LazyLock::new(|| build(&probe::shipped("web")));
static TINY: LazyLock<Binary> = LazyLock::new(|| build(&probe::shipped("tiny")));
static UNLIKELY: LazyLock<Binary> = LazyLock::new(|| {
    let spec = probe::folder().join("specs/unlikely.toml");
    let text = "schema = 1\nextends = \"general\"\n\
        hints = { hit = \"unlikely\", room = \"unlikely\", small = \"unlikely\" }\n";
    probe::write_if_changed(&spec, text);
    build(&spec)
});

fn build(spec: &FilePath) -> Binary {
    Binary::read(&probe::build("listing", PROGRAM, Some(spec)))
}

/// The shipped specs that inline their fast path.
fn inlined() -> [(&'static str, &'static Binary); 2] {
    [("general", &GENERAL), ("web", &WEB)]
}

/// The hit path of a function, checked: what its branches ask, in order, and its own instructions
/// at most. No hit path calls anything.
fn check(spec: &str, function: &Function, questions: &[Question], own_max: usize) -> usize {
    let path = hit_path(function);
    println!("{spec}: {path}");
    assert_eq!(path.questions(LARGEST), questions, "{spec}: {path}");
    assert_eq!(path.calls(), 0, "{spec}: {path}");
    assert!(path.own_instructions() <= own_max, "{spec}: more than {own_max}: {path}");
    path.own_instructions()
}

/// One question for each: the bin's. The caller's test for a null pointer is gone.
#[test]
fn constant_layouts_take_one_branch() {
    for (spec, binary) in inlined() {
        let check = |name| check(spec, &binary.function(name), &[Question::Bin], CONSTANT_MAX);
        let uninit = check("new_box_uninit");
        assert_eq!(check("new_box"), uninit, "initialisation was told apart wrongly");
        assert_eq!(check("new_zeroed"), uninit, "initialisation was told apart wrongly");
        check("drop_box");
    }
}

/// The size's range is asked about once, whether it is within the classes. The class is found
/// without a branch.
#[test]
fn variable_layouts_take_two_branches() {
    let questions = [Question::Classes, Question::Bin];
    for (spec, binary) in inlined() {
        for name in ["alloc_any", "dealloc_any"] {
            check(spec, &binary.function(name), &questions, VARIABLE_MAX);
        }
    }
}

/// `Vec` asks twice when it is made, whether the capacity is too large and whether it is 0, and
/// once when it is dropped.
#[test]
fn a_vec_adds_only_its_own_branches() {
    use Question::{Bin, Classes, Other};
    for (spec, binary) in inlined() {
        check(spec, &binary.function("new_vec"), &[Other, Other, Classes, Bin], NEW_VEC_MAX);
        check(spec, &binary.function("drop_vec"), &[Other, Classes, Bin], DROP_VEC_MAX);
    }
}

/// What the programs print as `bin.low` and `bin.high` are those fields.
#[test]
fn alloc_compares_with_low_and_dealloc_with_high() {
    let compares = |name: &str, with: &str| {
        let function = GENERAL.function(name);
        let path = hit_path(&function);
        let compare = |&&index: &&usize| function.line(index).starts_with("cmp");
        let line = function.line(*path.steps.iter().find(compare).unwrap());
        assert!(line.ends_with(with), "{line} in {path}");
    };
    compares("new_box", "fs:[bin.low]");
    compares("drop_box", "fs:[bin.high]");
}

/// A block that stays in its class is found to do so without a call. All else is out of line.
#[test]
fn realloc_in_place_calls_nothing() {
    for (spec, binary) in inlined() {
        let function = binary.function("realloc_any");
        let all = paths(&function);
        assert_eq!(all.len(), 1, "{spec}:\n{}", function.listing(&[]));
        println!("{spec}, in place: {}", all[0]);
        let questions = [Question::Classes, Question::Classes, Question::Other];
        assert_eq!(all[0].questions(LARGEST), questions, "{spec}: {}", all[0]);
        assert_eq!(all[0].calls(), 0, "{spec}: {}", all[0]);
        let instructions = all[0].instructions().count();
        assert!(instructions <= REALLOC_MAX, "{spec}: {}", all[0]);
    }
}

/// Hints say which side of a branch follows it: what is unlikely is jumped to.
#[test]
fn an_unlikely_hit_is_jumped_to() {
    let jumps = |binary: &Binary, name: &str| {
        let function = binary.function(name);
        let path = hit_path(&function);
        println!("{path}");
        path.jumps()
    };
    for name in ["new_box", "drop_box"] {
        assert_eq!(jumps(&GENERAL, name), [false], "likely, {name}");
        assert_eq!(jumps(&UNLIKELY, name), [true], "unlikely, {name}");
    }
    // Not for `dealloc_any`: there a conditional jump leads straight to the slow function, which
    // takes the same arguments, and no layout is better than that.
    assert_eq!(jumps(&GENERAL, "alloc_any"), [false, false], "likely");
    assert_eq!(jumps(&UNLIKELY, "alloc_any"), [true, true], "unlikely");
}

/// `hints.inline = "never"` leaves one call in the caller, and nothing of the cache.
#[test]
fn without_inlining_the_caller_calls() {
    for name in ["new_box", "drop_box", "new_vec", "drop_vec"] {
        let function = TINY.function(name);
        assert!(!function.code.iter().any(is_thread_local), "{}", function.listing(&[]));
        let most = paths(&function).into_iter().max_by_key(Path::calls).unwrap();
        println!("tiny: {most}");
        assert_eq!(most.calls(), 1, "{most}");
    }
}
