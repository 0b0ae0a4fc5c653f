//! One hit path: its counts and its branches.

use std::collections::BTreeSet;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory};

use hak_spec::Spec;

use super::binary::Binary;
use super::branch::{self, Operation, Seen};
use super::cold::{self, OtherSide};
use super::names::Name;
use super::origin::{Argument, Origins, reads, writes};
use super::report::{Branch, Called, Counts, PathReport};
use super::trace::{Run, Step};

/// What is known about a function that is looked at.
struct Looked {
    operation: Operation,
    name: &'static str,
    layout: &'static str,
    arguments: &'static [Argument],
}

/// In the order of `LOOKED_AT`.
const LOOKED: [Looked; 5] = {
    use Argument::{Align, Block, NewSize, Size};
    use Operation::{Alloc, Dealloc, Realloc};
    [
        looked(Alloc, "alloc", "constant", &[]),
        looked(Dealloc, "dealloc", "constant", &[Block]),
        looked(Alloc, "alloc", "variable", &[Align, Size]),
        looked(Dealloc, "dealloc", "variable", &[Block, Align, Size]),
        looked(Realloc, "realloc", "variable", &[Block, Align, Size, NewSize]),
    ]
};

const fn looked(
    operation: Operation,
    name: &'static str,
    layout: &'static str,
    arguments: &'static [Argument],
) -> Looked {
    Looked { operation, name, layout, arguments }
}

pub(super) fn report(run: &Run, binary: &Binary, spec: &Spec) -> PathReport {
    let looked = &LOOKED[run.call];
    let mut counts = counted(&run.steps);
    counts.instructions += run.outside;
    PathReport {
        operation: looked.name,
        layout: looked.layout,
        counts,
        branches: Branches::of(run, looked, binary, spec),
        called: called(run, binary),
        listing: listing(&run.steps, binary),
    }
}

/// Whether an instruction belongs to what the spec became, rather than to the runtime below.
fn is_generated(step: &Step, binary: &Binary) -> bool {
    binary.function_at(step.function).is_some_and(|(_, symbol)| symbol.name.is_generated())
}

/// Each stretch outside of the generated code, by the function it begins with.
fn called(run: &Run, binary: &Binary) -> Vec<Called> {
    let stretches = run.steps.chunk_by(|a, b| is_generated(a, binary) == is_generated(b, binary));
    let of_runtime = stretches.filter(|steps| !is_generated(&steps[0], binary));
    let mut all: Vec<_> = of_runtime
        .map(|steps| {
            let counts = counted(steps);
            Called { function: called_name(steps, binary), counts }
        })
        .collect();
    if run.outside > 0 {
        let counts = Counts { instructions: run.outside, ..Counts::default() };
        all.push(Called { function: "shared libraries".to_owned(), counts });
    }
    all
}

/// The runtime's function, rather than one of the standard library around it.
fn called_name(steps: &[Step], binary: &Binary) -> String {
    let functions = steps.iter().filter_map(|step| binary.function_at(step.function));
    let mut names = functions.map(|(_, symbol)| &symbol.name);
    let first = names.clone().next();
    let name = names.find(|name| name.is_allocators()).or(first);
    name.map_or_else(|| "?".to_owned(), Name::short)
}

/// The instructions as text; functions that are entered on the way by their names.
fn listing(steps: &[Step], binary: &Binary) -> Vec<String> {
    let mut lines = Vec::new();
    for stretch in steps.chunk_by(|a, b| a.function == b.function) {
        let function = binary.function_at(stretch[0].function);
        let name = function.map_or_else(|| "?".to_owned(), |(_, symbol)| symbol.name.short());
        lines.push(format!("{name}:"));
        lines.extend(stretch.iter().map(|step| format!("  {}", binary.line(&step.instruction))));
    }
    lines
}

fn counted(steps: &[Step]) -> Counts {
    let mut factory = InstructionInfoFactory::new();
    let mut counts = Counts { instructions: steps.len(), ..Counts::default() };
    for Step { instruction, function } in steps {
        let flow = instruction.flow_control();
        let calls = is_call(instruction, *function, steps);
        counts.calls += usize::from(calls);
        counts.conditional_branches += usize::from(flow == FlowControl::ConditionalBranch);
        if calls || flow == FlowControl::Return {
            continue;
        }
        for memory in factory.info(instruction).used_memory() {
            counts.loads += usize::from(reads(memory.access()));
            counts.stores += usize::from(writes(memory.access()));
        }
    }
    counts
}

/// A call, or a jump to the first instruction of another function.
fn is_call(instruction: &Instruction, function: u64, steps: &[Step]) -> bool {
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall | FlowControl::IndirectBranch => true,
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            let target = instruction.near_branch_target();
            target != function && steps.iter().any(|step| step.function == target)
        }
        _ => false,
    }
}

/// The branches of generated code, gathered in the order in which they ran.
struct Branches<'b> {
    binary: &'b Binary,
    spec: &'b Spec,
    operation: Operation,
    hit_path: BTreeSet<u64>,
    /// Address of each, and what is said about it.
    found: Vec<(u64, Branch)>,
}

impl<'b> Branches<'b> {
    fn of(run: &Run, looked: &Looked, binary: &'b Binary, spec: &'b Spec) -> Vec<Branch> {
        let ran = run.steps.iter().map(|step| step.instruction.ip());
        let hit_path = ran.chain([run.end]).collect();
        let found = Vec::new();
        let operation = looked.operation;
        let mut branches = Branches { binary, spec, operation, hit_path, found };
        let mut origins = Origins::new(binary, looked.arguments);
        for (at, step) in run.steps.iter().enumerate() {
            let is_branch = step.instruction.flow_control() == FlowControl::ConditionalBranch;
            if is_branch && is_generated(step, binary) {
                let next = run.steps.get(at + 1).map_or(run.end, |step| step.instruction.ip());
                branches.add(&step.instruction, next, &origins);
            }
            origins.step(&step.instruction);
        }
        branches.found.into_iter().map(|(_, branch)| branch).collect()
    }

    fn add(&mut self, instruction: &Instruction, next: u64, origins: &Origins<'_>) {
        if let Some((_, again)) = self.found.iter_mut().find(|(ip, _)| *ip == instruction.ip()) {
            again.times += 1;
            return;
        }
        let jumps = next != instruction.next_ip();
        let target = instruction.near_branch_target();
        let other = if jumps { instruction.next_ip() } else { target };
        let side = cold::other_side(self.binary, instruction, other, &self.hit_path);
        let is_loop = target < instruction.ip() && self.hit_path.contains(&target);
        let branch = self.describe(instruction, jumps, is_loop, &side, origins);
        self.found.push((instruction.ip(), branch));
    }

    fn describe(
        &self,
        instruction: &Instruction,
        jumps: bool,
        is_loop: bool,
        side: &OtherSide,
        origins: &Origins<'_>,
    ) -> Branch {
        let (flags, compare) = origins.flags();
        let operation = self.operation;
        let seen = Seen { operation, flags, compare, other_side: side, is_loop };
        let meaning = branch::meaning(&seen, self.spec);
        let compare = compare.map(|compare| self.binary.line(compare)).unwrap_or_default();
        let line = self.binary.line(instruction);
        let hint = meaning.as_ref().and_then(|meaning| meaning.hint);
        Branch {
            recognised: meaning.is_some(),
            layer: meaning.as_ref().and_then(|meaning| meaning.layer),
            tests: meaning.map_or_else(
                || format!("unrecognised: {line} after {compare}"),
                |meaning| meaning.tests,
            ),
            jumps,
            times: 1,
            hint: hint.map(|hint| hint.key),
            hint_value: hint.map(|hint| hint.value),
            otherwise: side.functions.first().map(Name::short),
            compare,
            instruction: line,
        }
    }
}
