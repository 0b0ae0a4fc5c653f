//! What a conditional branch tests, for which layer, and which hint says so.
//!
//! A branch is recognised by two witnesses: what the tested flags were made from, and where its
//! other side leads. What they do not agree on is reported as unrecognised, never guessed.

use iced_x86::{Instruction, Mnemonic, OpKind};

use hak_spec::{Likely, Spec};

use super::canary_bytes;
use super::cold::OtherSide;
use super::names::Name;
use super::origin::{Argument, Origin};

/// The variable in which a thread's bins are.
const CACHE: &str = "CACHE";
/// The table that maps sizes to classes.
const CLASS_TABLE: &str = "CLASS_OF";
/// The variables of `stats`: how far a thread's next sample is, what was sampled, and what a thread
/// has counted.
const SAMPLER: &str = "SAMPLER";
const PROFILER: &str = "PROFILER";
const COUNTS: &str = "COUNTS";

/// What a function under inspection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Alloc,
    Dealloc,
    Realloc,
}

/// A branch as it ran.
pub(super) struct Seen<'s> {
    pub(super) operation: Operation,
    /// What the flags were made from, and by which instruction.
    pub(super) flags: &'s Origin,
    pub(super) compare: Option<&'s Instruction>,
    pub(super) other_side: &'s OtherSide,
    /// Whether it jumps back to what ran before.
    pub(super) is_loop: bool,
}

/// What a branch is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) tests: String,
    pub(super) layer: Option<&'static str>,
    pub(super) hint: Option<Hint>,
}

/// A hint of the spec, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) key: &'static str,
    pub(super) value: &'static str,
}

/// The rules, the most certain first.
pub(super) fn meaning(seen: &Seen<'_>, spec: &Spec) -> Option<Meaning> {
    bin(seen, spec)
        .or_else(|| largest_class(seen, spec))
        .or_else(|| alignment(seen))
        .or_else(|| same_class(seen))
        .or_else(|| out_of_memory(seen))
        .or_else(|| check(seen))
        .or_else(|| set_up(seen))
        .or_else(|| stats(seen))
        .or_else(|| a_loop(seen))
        .or_else(|| detour(seen))
}

/// Whether the thread's bin has a block, or room for one.
fn bin(seen: &Seen<'_>, spec: &Spec) -> Option<Meaning> {
    let (slow, hint) = match seen.operation {
        Operation::Alloc => ("alloc_slow", hint("hints.hit", spec.hints.hit)),
        Operation::Dealloc => ("dealloc_slow", hint("hints.room", spec.hints.room)),
        Operation::Realloc => return None,
    };
    let reads_bins = seen.flags.thread_locals.contains(CACHE);
    if !reads_bins || !seen.leads_to(slow) || !spec.layers.has_cache() {
        return None;
    }
    let (layer, [empty, full]) = if spec.layers.has_magazine() {
        ("magazine", ["magazine empty", "magazine full"])
    } else {
        ("freelist", ["list empty", "list full"])
    };
    let tests = if seen.operation == Operation::Alloc { empty } else { full };
    Some(Meaning { tests: tests.to_owned(), layer: Some(layer), hint: Some(hint) })
}

/// Whether the request is within the classes.
fn largest_class(seen: &Seen<'_>, spec: &Spec) -> Option<Meaning> {
    let largest = u64::from(spec.classes[spec.classes.len() - 1].bytes);
    if !seen.flags.is_layout() || !seen.flags.statics.is_empty() {
        return None;
    }
    let is_bound = match seen.immediate()? {
        (Mnemonic::Cmp, bound) => is_near(bound, largest, u64::from(canary_bytes(spec))),
        (Mnemonic::Test, mask) => largest.is_power_of_two() && mask == !(largest - 1),
        (Mnemonic::Shr, shift) => largest.is_power_of_two() && shift == u64::from(largest.ilog2()),
        _ => false,
    };
    let way_out = if seen.operation == Operation::Realloc { "realloc_slow" } else { "large" };
    if !is_bound || !seen.leads_to(way_out) || seen.is_about_alignment() {
        return None;
    }
    let is_new = seen.flags.arguments.contains(&Argument::NewSize);
    let request = match (seen.operation, is_new) {
        (Operation::Realloc, true) => "new size",
        (Operation::Realloc, false) => "old size",
        _ => "request",
    };
    Some(Meaning {
        tests: format!("{request} above the largest class ({largest} B)"),
        layer: Some("classes"),
        hint: Some(hint("hints.small", spec.hints.small)),
    })
}

/// The bound itself, or less by the bytes of a canary, or one off.
fn is_near(bound: u64, largest: u64, canary: u64) -> bool {
    [largest, largest - canary].iter().any(|near| near.abs_diff(bound) <= 1)
}

/// Whether the alignment is above what every class serves.
fn alignment(seen: &Seen<'_>) -> Option<Meaning> {
    let is_alignment = seen.flags.is_layout() && seen.is_about_alignment();
    let (Mnemonic::Cmp, bound) = seen.immediate()? else { return None };
    let served = [bound, bound.wrapping_add(1)].into_iter().find(|b| b.is_power_of_two())?;
    let tests = format!("alignment above {served} B");
    let layer = Some("classes");
    is_alignment.then_some(Meaning { tests, layer, hint: None })
}

/// Whether a resized block stays in its class.
fn same_class(seen: &Seen<'_>) -> Option<Meaning> {
    let arguments = &seen.flags.arguments;
    let compares = seen.compare.is_some_and(|compare| {
        let is_constant = compare.op_count() < 2
            || (compare.op1_kind() != OpKind::Register && compare.op1_kind() != OpKind::Memory);
        matches!(compare.mnemonic(), Mnemonic::Cmp | Mnemonic::Xor | Mnemonic::Sub) && !is_constant
    });
    let both = [Argument::Size, Argument::NewSize].iter().all(|size| arguments.contains(size));
    let is_class = seen.flags.statics.iter().all(|name| name == CLASS_TABLE)
        && seen.flags.thread_locals.is_empty()
        && !seen.flags.memory
        && !arguments.contains(&Argument::Block);
    let is_realloc = seen.operation == Operation::Realloc && seen.leads_to("realloc_slow");
    (is_realloc && compares && both && is_class).then(|| Meaning {
        tests: "new size in another class".to_owned(),
        layer: Some("classes"),
        hint: None,
    })
}

/// Whether there is a block for the program: a null pointer is handed on as it is.
fn out_of_memory(seen: &Seen<'_>) -> Option<Meaning> {
    let is_null_test = seen.compare.is_some_and(|compare| {
        compare.mnemonic() == Mnemonic::Test && compare.op0_register() == compare.op1_register()
    });
    let is_block = seen.flags.thread_locals.contains(CACHE) && seen.flags.memory;
    let is_alloc = seen.operation == Operation::Alloc;
    (is_alloc && is_null_test && is_block && seen.only_returns()).then(|| Meaning {
        tests: "out of memory".to_owned(),
        layer: None,
        hint: None,
    })
}

/// Where the runtime's checks are, and what they look at.
const CHECKS: [(&str, &str); 4] = [
    ("::canary::", "canary "),
    ("::poison::", "poison "),
    ("::check_block::", "block "),
    // A method of the heap, as one of the two manglings tells it.
    ("::suspect", "block "),
];

/// Whether something is wrong: the other side never returns, or goes to a check's slow half.
fn check(seen: &Seen<'_>) -> Option<Meaning> {
    let side = seen.other_side;
    let subject = |name: &Name| CHECKS.iter().find(|(part, _)| name.path().contains(part));
    let ending = side.ends_in.first().filter(|_| !side.may_return);
    let of_check = side.functions.first().filter(|name| subject(name).is_some());
    let name = of_check.or(ending)?;
    let short = name.short();
    let what = short.rsplit("::").next().unwrap_or(&short).replace('_', " ");
    let subject = subject(name).map_or("", |(_, subject)| subject);
    let layer = name.is_allocators().then_some("validation");
    Some(Meaning { tests: format!("check: {subject}{what}"), layer, hint: None })
}

/// What a thread sets up at its first use, by where the code of that is.
const SET_UP: [(&str, &str); 2] =
    [("::quarantine::", "quarantine not set up"), ("::random::", "random numbers not seeded")];

/// Whether something that a check needs is there.
fn set_up(seen: &Seen<'_>) -> Option<Meaning> {
    let path = seen.other_side.functions.first()?.path();
    let (_, tests) = SET_UP.iter().find(|(part, _)| path.contains(part))?;
    let layer = Some("validation");
    Some(Meaning { tests: (*tests).to_owned(), layer, hint: None })
}

/// Whether a request is sampled, or where it is counted.
fn stats(seen: &Seen<'_>) -> Option<Meaning> {
    let Origin { thread_locals, statics, .. } = seen.flags;
    let tests = match seen.operation {
        Operation::Alloc if thread_locals.contains(SAMPLER) && seen.leads_to("_due") => {
            "sample due"
        }
        Operation::Dealloc if statics.contains(PROFILER) && seen.leads_to("dealloc_known") => {
            "block may be sampled"
        }
        Operation::Realloc if thread_locals.contains(COUNTS) && seen.only_returns() => {
            "thread has not counted yet"
        }
        _ => return None,
    };
    Some(Meaning { tests: tests.to_owned(), layer: Some("stats"), hint: None })
}

/// Whether a loop goes on.
fn a_loop(seen: &Seen<'_>) -> Option<Meaning> {
    let tests = "loop goes on".to_owned();
    seen.is_loop.then_some(Meaning { tests, layer: None, hint: None })
}

/// Whether it makes no difference to where the hit path goes.
fn detour(seen: &Seen<'_>) -> Option<Meaning> {
    let tests = "goes on either way".to_owned();
    seen.other_side.is_detour.then_some(Meaning { tests, layer: None, hint: None })
}

impl Seen<'_> {
    /// Whether the other side calls a function whose name holds this part.
    fn leads_to(&self, part: &str) -> bool {
        let names = self.other_side.functions.iter().map(Name::short);
        names.into_iter().any(|name| name.contains(part))
    }

    /// Whether the other side calls nothing, and returns.
    fn only_returns(&self) -> bool {
        self.other_side.functions.is_empty() && self.other_side.may_return
    }

    fn is_about_alignment(&self) -> bool {
        let mut arguments = self.flags.arguments.iter();
        arguments.len() > 0 && arguments.all(|argument| *argument == Argument::Align)
    }

    /// The constant that the tested value is compared with.
    fn immediate(&self) -> Option<(Mnemonic, u64)> {
        let compare = self.compare?;
        let last = compare.op_count().checked_sub(1)?;
        Some((compare.mnemonic(), compare.try_immediate(last).ok()?))
    }
}

fn hint(key: &'static str, likely: Likely) -> Hint {
    let value = match likely {
        Likely::Likely => "likely",
        Likely::Unlikely => "unlikely",
        Likely::None => "none",
    };
    Hint { key, value }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    /// `cmp rax, fs:[rcx]`, whatever it reads.
    const CMP_MEMORY: &[u8] = &[0x64, 0x48, 0x3b, 0x01];
    /// `cmp rax, 64`
    const CMP_64: &[u8] = &[0x48, 0x83, 0xf8, 0x40];
    /// `test rax, rax`
    const TEST: &[u8] = &[0x48, 0x85, 0xc0];
    /// `cmp al, [rsi]`
    const CMP_BYTES: &[u8] = &[0x3a, 0x06];

    fn spec(keys: &str) -> Spec {
        let text = format!("schema = 1\nclasses.sizes = [16, 64]\n{keys}\n");
        hak_spec::parse(&text, "test.toml", "Test", None).unwrap()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn leads_to(symbol: &str) -> OtherSide {
        let functions = vec![Name::of_symbol(symbol)];
        OtherSide { functions, may_return: true, ..OtherSide::default() }
    }

    /// What is said: the question, and the hint's value.
    fn said(
        operation: Operation,
        flags: &Origin,
        compare: &[u8],
        other_side: &OtherSide,
        spec: &Spec,
    ) -> Option<(String, Option<&'static str>)> {
        let compare = Decoder::new(64, compare, DecoderOptions::NONE).decode();
        let compare = Some(&compare);
        let seen = Seen { operation, flags, compare, other_side, is_loop: false };
        meaning(&seen, spec).map(|said| (said.tests, said.hint.map(|hint| hint.value)))
    }

    fn cached() -> Origin {
        Origin { thread_locals: set(&["CACHE"]), ..Origin::default() }
    }

    fn layout(arguments: &[Argument]) -> Origin {
        Origin { arguments: arguments.iter().copied().collect(), ..Origin::default() }
    }

    #[test]
    fn bins_are_called_after_the_first_layer() {
        for (layers, empty, full) in [
            ("\"magazine\"", "magazine empty", "magazine full"),
            ("\"magazine\", \"freelist\"", "magazine empty", "magazine full"),
            ("\"freelist\"", "list empty", "list full"),
        ] {
            let spec = spec(&format!("cache.layers = [{layers}]\nhints.room = \"none\""));
            let slow = leads_to("alloc_slow");
            let alloc = said(Operation::Alloc, &cached(), CMP_MEMORY, &slow, &spec);
            assert_eq!(alloc, Some((empty.to_owned(), Some("likely"))));
            let slow = leads_to("dealloc_slow");
            let dealloc = said(Operation::Dealloc, &cached(), CMP_MEMORY, &slow, &spec);
            assert_eq!(dealloc, Some((full.to_owned(), Some("none"))));
        }
    }

    /// One witness is not enough.
    #[test]
    fn what_leads_elsewhere_is_not_a_bins() {
        let elsewhere = leads_to("sample");
        let alloc =
            |flags: &Origin, side| said(Operation::Alloc, flags, CMP_MEMORY, side, &spec(""));
        assert_eq!(alloc(&cached(), &elsewhere), None);
        assert_eq!(alloc(&Origin::default(), &leads_to("alloc_slow")), None);
    }

    #[test]
    fn the_largest_class_is_known_by_its_size() {
        let key = layout(&[Argument::Size, Argument::Align]);
        let large = leads_to("alloc_large");
        let alloc =
            |flags: &Origin, spec: &Spec| said(Operation::Alloc, flags, CMP_64, &large, spec);
        let expected = ("request above the largest class (64 B)".to_owned(), Some("likely"));
        assert_eq!(alloc(&key, &spec("")), Some(expected.clone()));
        // Called with constants.
        let constant = Origin { constant: true, ..Origin::default() };
        assert_eq!(alloc(&constant, &spec("")), Some(expected));
        // Compared with another size.
        let other = "schema = 1\nclasses.sizes = [16, 128]\n";
        let other = hak_spec::parse(other, "test.toml", "Test", None).unwrap();
        assert_eq!(alloc(&key, &other), None);
    }

    #[test]
    fn an_alignment_alone_is_no_size() {
        let align = layout(&[Argument::Align]);
        let large = leads_to("alloc_large");
        let alloc = said(Operation::Alloc, &align, CMP_64, &large, &spec(""));
        assert_eq!(alloc, Some(("alignment above 64 B".to_owned(), None)));
    }

    #[test]
    fn classes_are_compared_in_a_resize_only() {
        let arguments = [Argument::Size, Argument::NewSize, Argument::Align];
        let classes = Origin { statics: set(&["CLASS_OF"]), ..layout(&arguments) };
        let slow = leads_to("realloc_slow");
        let of = |operation| said(operation, &classes, CMP_BYTES, &slow, &spec(""));
        let expected = Some(("new size in another class".to_owned(), None));
        assert_eq!(of(Operation::Realloc), expected);
        assert_eq!(of(Operation::Dealloc), None);
    }

    /// Whatever a branch reads, it is a check if its other side ends the program.
    #[test]
    fn checks_never_return() {
        let mut side = leads_to("_ZN11hak_runtime5class11double_free17h92627df0b1fdeefbE");
        let block = Origin { memory: true, ..layout(&[Argument::Block]) };
        let dealloc =
            |side: &OtherSide| said(Operation::Dealloc, &block, CMP_MEMORY, side, &spec(""));
        assert_eq!(dealloc(&side), None);
        side.ends_in.clone_from(&side.functions);
        side.may_return = false;
        assert_eq!(dealloc(&side), Some(("check: double free".to_owned(), None)));
    }

    /// A slow half that finds all is well comes back.
    #[test]
    fn checks_have_slow_halves() {
        let side = leads_to("_ZN11hak_runtime6canary7changed17h92627df0b1fdeefbE");
        let block = Origin { memory: true, ..layout(&[Argument::Block]) };
        let dealloc = said(Operation::Dealloc, &block, CMP_MEMORY, &side, &spec(""));
        assert_eq!(dealloc, Some(("check: canary changed".to_owned(), None)));
    }

    #[test]
    fn what_checks_need_is_set_up_once() {
        let side = leads_to("_ZN11hak_runtime6random4seed17h92627df0b1fdeefbE");
        let state = Origin { thread_locals: set(&["RANDOM"]), ..Origin::default() };
        let alloc = said(Operation::Alloc, &state, TEST, &side, &spec(""));
        assert_eq!(alloc, Some(("random numbers not seeded".to_owned(), None)));
    }

    /// Reads a branch that changes nothing for the hit path as that, and as nothing else.
    #[test]
    fn a_detour_is_no_way_out() {
        let value = Origin { memory: true, ..Origin::default() };
        let detour = OtherSide { is_detour: true, comes_back: true, ..OtherSide::default() };
        let free = |side: &OtherSide| {
            said(Operation::Dealloc, &value, CMP_MEMORY, side, &spec("")).map(|(tests, _)| tests)
        };
        assert_eq!(free(&detour), Some("goes on either way".to_owned()));
        assert_eq!(free(&OtherSide { is_detour: false, ..detour }), None);
    }

    /// One witness is not enough: where the other side leads, or what is read.
    #[test]
    fn statistics_are_known_by_their_variables() {
        let sampler = Origin { thread_locals: set(&["SAMPLER"]), ..Origin::default() };
        let profiler = Origin { statics: set(&["PROFILER"]), ..layout(&[Argument::Block]) };
        let counts = Origin { thread_locals: set(&["COUNTS"]), ..Origin::default() };
        let returns = OtherSide { may_return: true, ..OtherSide::default() };
        for (operation, flags, side, tests) in [
            (Operation::Alloc, &sampler, leads_to("alloc_zeroed_due"), "sample due"),
            (Operation::Dealloc, &profiler, leads_to("dealloc_known"), "block may be sampled"),
            (Operation::Realloc, &counts, returns, "thread has not counted yet"),
        ] {
            let question = |flags: &Origin, side: &OtherSide| {
                said(operation, flags, CMP_MEMORY, side, &spec("")).map(|(tests, _)| tests)
            };
            assert_eq!(question(flags, &side), Some(tests.to_owned()));
            assert_eq!(question(&Origin::default(), &side), None, "{tests}");
            assert_eq!(question(flags, &leads_to("elsewhere")), None, "{tests}");
        }
    }

    #[test]
    fn no_memory_is_handed_on() {
        let block = Origin { memory: true, ..cached() };
        let side = OtherSide { may_return: true, ..OtherSide::default() };
        let alloc = |compare| said(Operation::Alloc, &block, compare, &side, &spec(""));
        assert_eq!(alloc(TEST), Some(("out of memory".to_owned(), None)));
        assert_eq!(alloc(CMP_64), None);
    }
}
