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

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use hit_path::{Path, Question, SlowHalf, hit_path, paths};
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
static CONSTANT: LazyLock<Binary> = LazyLock::new(|| hinted("constant", "inline = 'constant'"));
static PREFETCH: LazyLock<Binary> = LazyLock::new(|| hinted("prefetch", "prefetch = true"));

/// `general` with other hints.
fn hinted(name: &str, hints: &str) -> Binary {
    let spec = probe::folder().join("specs").join(name).with_extension("toml");
    let text = format!("schema = 1\nextends = \"general\"\nhints = {{ {hints} }}\n");
    probe::write_if_changed(&spec, &text);
    build(&spec)
}

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

/// What is likely falls through, and its slow half stands apart. What is unlikely is jumped to.
/// Without a hint a hit falls through as well, which is the compiler's own guess, but the slow half
/// stands where it is written, before what follows. No two of the hints have the same value
/// everywhere, so that none is taken for another.
#[test]
fn a_hint_says_where_the_slow_half_stands() {
    use SlowHalf::{Apart, Between, Next};
    for ([hit, room, small], stands) in [
        (["none", "unlikely", "likely"], [Between, Next, Apart]),
        (["unlikely", "none", "none"], [Next, Between, Between]),
        (["likely", "likely", "unlikely"], [Apart, Apart, Next]),
    ] {
        let hints = format!("hit = '{hit}', room = '{room}', small = '{small}'");
        let binary = hinted(&format!("{hit}-{room}-{small}"), &hints);
        let check = |name: &str, question, stands: SlowHalf| {
            let function = binary.function(name);
            let path = hit_path(&function);
            println!("{hints}: {path}");
            assert_eq!(path.slow_half(question, LARGEST), stands, "{hints}: {path}");
        };
        check("two_allocs", Question::Bin, stands[0]);
        check("two_deallocs", Question::Bin, stands[1]);
        check("two_allocs", Question::Classes, stands[2]);
        check("two_deallocs", Question::Classes, stands[2]);
    }
}

/// The bins of `hints.hot` come first, as the spec lists them; then the others, growing.
#[test]
fn hot_bins_stand_first() {
    let bins = |binary: &Binary, names: &[&str]| -> Vec<u64> {
        let bin = |name: &&str| {
            let function = binary.function(name);
            let bin = hit_path(&function).instructions().find_map(|line| function.bin_of(line));
            bin.unwrap()
        };
        names.iter().map(bin).collect()
    };
    // Six words are a class, too: 48 bytes.
    assert_eq!(bins(&GENERAL, &["new_2", "new_4", "new_box_uninit", "new_8"]), [0, 1, 2, 3]);
    let hot = ["new_4", "new_box_uninit", "new_8", "new_16", "new_32", "new_64"];
    assert_eq!(bins(&WEB, &hot), [0, 1, 2, 3, 4, 5]);
    assert_eq!(bins(&WEB, &["new_2"]), [6], "the smallest of those that are not hot");
}

/// `hints.inline = "constant"` inlines what a constant layout leaves of the path.
#[test]
fn a_constant_layout_is_inlined() {
    for name in ["new_box", "new_box_uninit", "new_zeroed", "drop_box"] {
        check("constant", &CONSTANT.function(name), &[Question::Bin], CONSTANT_MAX);
    }
}

/// It leaves a call where the layout is not constant. What is called is as short as what
/// `"always"` inlines, and has no frame.
#[test]
fn a_variable_layout_is_a_call() {
    for name in ["new_vec", "drop_vec", "zeroed_vec"] {
        calls_only("constant", &CONSTANT.function(name), 1);
    }
    for name in ["two_allocs", "two_deallocs", "two_reallocs"] {
        calls_only("constant", &CONSTANT.function(name), 2);
    }
    let questions = [Question::Classes, Question::Bin];
    for name in ["alloc_any", "dealloc_any"] {
        let function = CONSTANT.function(name);
        let own = check("constant", &function, &questions, VARIABLE_MAX);
        let instructions = hit_path(&function).steps.len();
        assert_eq!(instructions, own + 1, "more than the path and `ret`: {name}");
    }
}

/// The function has nothing of the cache, and calls so often on its longest way.
fn calls_only(spec: &str, function: &Function, calls: usize) {
    assert!(!function.code.iter().any(is_thread_local), "{}", function.listing(&[]));
    let most = paths(function).into_iter().max_by_key(Path::calls).unwrap();
    println!("{spec}: {most}");
    assert_eq!(most.calls(), calls, "{spec}: {most}");
}

/// `hints.prefetch` adds a load, of the slot below the one that is popped, and the prefetch.
#[test]
fn alloc_prefetches_the_next_block() {
    let check_pair = |name: &str, questions: &[Question], own_max: usize| {
        let function = PREFETCH.function(name);
        check("prefetch", &function, questions, own_max + 2);
        let path = hit_path(&function);
        let prefetches: Vec<_> = path.instructions().filter(|line| is_prefetch(line)).collect();
        assert_eq!(prefetches.len(), 1, "{path}");
        let slots = path.instructions().filter(|line| line.mnemonic() == Mnemonic::Mov);
        let slots =
            slots.filter(|line| !is_thread_local(line) && line.memory_base() != Register::None);
        let loads: Vec<_> = slots.filter(|line| line.op0_kind() == OpKind::Register).collect();
        let next = loads.iter().find(|line| line.op0_register() == prefetches[0].memory_base());
        let next = next.unwrap_or_else(|| panic!("what is prefetched is not loaded: {path}"));
        let is_popped = |line: &&&Instruction| {
            line.memory_base() == next.memory_base()
                && line.memory_displacement64() == next.memory_displacement64().wrapping_add(8)
        };
        assert!(loads.iter().any(|line| is_popped(&line)), "no slot above: {path}");
    };
    check_pair("new_box", &[Question::Bin], CONSTANT_MAX);
    check_pair("alloc_any", &[Question::Classes, Question::Bin], VARIABLE_MAX);
    let prefetches = |binary: &Binary, name| binary.function(name).code.iter().any(is_prefetch);
    for name in ["new_box", "alloc_any"] {
        assert!(!prefetches(&GENERAL, name), "without the hint: {name}");
    }
    for name in ["drop_box", "dealloc_any"] {
        assert!(!prefetches(&PREFETCH, name), "{name} asks for nothing");
    }
}

fn is_prefetch(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Prefetcht0 | Mnemonic::Prefetchw)
}

/// `hints.inline = "never"` leaves one call in the caller, and nothing of the cache.
#[test]
fn without_inlining_the_caller_calls() {
    for name in ["new_box", "drop_box", "new_vec", "drop_vec", "zeroed_vec"] {
        calls_only("tiny", &TINY.function(name), 1);
    }
    calls_only("tiny", &TINY.function("two_reallocs"), 2);
}
