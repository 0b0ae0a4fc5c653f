//! The hit path of a function: the instructions that run when the thread's bin has what is needed.
//!
//! A walk follows both sides of each conditional branch, from the entry to a return or to a jump
//! out of the function. A side is given up where it calls one of the functions that only a miss,
//! a large request or a failure needs. Of the paths that remain, the hit path is the one that
//! uses the thread's bin.

use std::fmt::{self, Display};

use iced_x86::{FlowControl, Instruction, Mnemonic, Register};

use crate::listing::{Function, is_thread_local};

/// Functions that no hit path calls; the first three are for what is sampled.
const COLD: [&str; 12] = [
    "alloc_due",
    "alloc_zeroed_due",
    "dealloc_known",
    "alloc_slow",
    "dealloc_slow",
    "realloc_slow",
    "alloc_large",
    "dealloc_large",
    "resize_large",
    "handle_alloc_error",
    "handle_error",
    "capacity_overflow",
];

/// One way through a function.
pub(crate) struct Path<'f> {
    pub(crate) function: &'f Function,
    /// Indices of its instructions, in the order in which they run.
    pub(crate) steps: Vec<usize>,
}

/// What a conditional branch asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Whether the thread's bin has a block, or room for one.
    Bin,
    /// Whether the request is within the classes.
    Classes,
    /// Something else: the caller's own, such as whether a `Vec` has a capacity.
    Other,
}

/// Where the slow half of a question stands, in a function that asks it twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowHalf {
    /// Right behind the question: who hits jumps over it.
    Next,
    /// Jumped to, but before the question is asked again.
    Between,
    /// Jumped to, behind all that, or another function.
    Apart,
}

/// All ways through a function that meet no cold call.
pub(crate) fn paths(function: &Function) -> Vec<Path<'_>> {
    let mut found = Vec::new();
    walk(function, 0, Vec::new(), &mut found);
    found.into_iter().map(|steps| Path { function, steps }).collect()
}

/// The hit path.
pub(crate) fn hit_path(function: &Function) -> Path<'_> {
    let mut hits = paths(function);
    hits.retain(|path| path.instructions().any(is_thread_local));
    let listing = || function.listing(&[]);
    assert_eq!(hits.len(), 1, "paths through the bin in `{}`:\n{}", function.name, listing());
    hits.remove(0)
}

fn walk(function: &Function, entry: usize, taken: Vec<usize>, found: &mut Vec<Vec<usize>>) {
    let mut steps = taken;
    let mut at = entry;
    loop {
        // Nothing that is looked at here loops.
        assert!(!steps.contains(&at), "`{}` has a loop", function.name);
        steps.push(at);
        let instruction = &function.code[at];
        let target = instruction.near_branch_target();
        at += 1;
        match instruction.flow_control() {
            FlowControl::Call if is_cold(function, target) => return,
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => {}
            FlowControl::ConditionalBranch => match function.index_of(target) {
                Some(other) => walk(function, other, steps.clone(), found),
                None if is_cold(function, target) => {}
                None => found.push(steps.clone()),
            },
            FlowControl::UnconditionalBranch => match function.index_of(target) {
                Some(other) => at = other,
                None if is_cold(function, target) => return,
                None => return found.push(steps),
            },
            FlowControl::Return | FlowControl::IndirectBranch => return found.push(steps),
            // A trap: code that is never reached.
            _ => return,
        }
    }
}

fn is_cold(function: &Function, address: u64) -> bool {
    COLD.contains(&function.name_of(address))
}

impl Path<'_> {
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.steps.iter().map(|&index| &self.function.code[index])
    }

    /// Calls, and jumps out of the function.
    pub(crate) fn calls(&self) -> usize {
        let leaves = |line: &Instruction| match line.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall | FlowControl::IndirectBranch => true,
            FlowControl::UnconditionalBranch => {
                self.function.index_of(line.near_branch_target()).is_none()
            }
            _ => false,
        };
        self.instructions().filter(|line| leaves(line)).count()
    }

    /// What each conditional branch asks, in order. `largest` is the largest class.
    pub(crate) fn questions(&self, largest: u64) -> Vec<Question> {
        let places = (0..self.steps.len()).filter(|&place| self.is_branch(place));
        places.map(|place| self.question(place, largest)).collect()
    }

    /// Whether each conditional branch jumps, in order.
    pub(crate) fn jumps(&self) -> Vec<bool> {
        let places = (0..self.steps.len()).filter(|&place| self.is_branch(place));
        places.map(|place| self.steps[place + 1] != self.steps[place] + 1).collect()
    }

    /// Where the slow half of the first of two branches stands that ask `question`.
    pub(crate) fn slow_half(&self, question: Question, largest: u64) -> SlowHalf {
        let asks =
            |place: &usize| self.is_branch(*place) && self.question(*place, largest) == question;
        let places: Vec<_> = (0..self.steps.len()).filter(asks).collect();
        let [first, second] = places[..] else { panic!("not two branches ask: {self}") };
        let [branch, hit, second] = [first, first + 1, second].map(|place| self.steps[place]);
        if hit != branch + 1 {
            return SlowHalf::Next;
        }
        let slow = self.function.index_of(self.function.code[branch].near_branch_target());
        if slow.is_some_and(|slow| slow < second) { SlowHalf::Between } else { SlowHalf::Apart }
    }

    fn is_branch(&self, place: usize) -> bool {
        let instruction = &self.function.code[self.steps[place]];
        instruction.flow_control() == FlowControl::ConditionalBranch
    }

    /// Answered by the instruction that set the flags.
    fn question(&self, place: usize, largest: u64) -> Question {
        let before = self.steps[..place].iter().rev().map(|&index| &self.function.code[index]);
        let compare = before.into_iter().find(|line| line.rflags_modified() != 0);
        let compare = compare.expect("flags are set before they are tested");
        if is_thread_local(compare) {
            return Question::Bin;
        }
        let is_bound = |bound: u64| (largest - 1..=largest + 1).contains(&bound);
        let constant = (compare.mnemonic() == Mnemonic::Cmp).then(|| compare.try_immediate(1).ok());
        if constant.flatten().is_some_and(is_bound) { Question::Classes } else { Question::Other }
    }

    /// How many of the instructions are the allocator's own, where caller and allocator stand in
    /// one function: not the frame (push, pop, what moves the stack pointer, ret), and not the
    /// caller's write to its new block, which goes through vector registers.
    pub(crate) fn own_instructions(&self) -> usize {
        self.instructions().filter(|line| !is_frame(line) && !uses_vector(line)).count()
    }
}

fn is_frame(instruction: &Instruction) -> bool {
    instruction.is_stack_instruction()
        || (instruction.op_count() > 0 && instruction.op0_register() == Register::RSP)
}

fn uses_vector(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_register(operand).is_vector_register())
}

/// The counts, and the function with the path marked.
impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, steps) = (&self.function.name, self.steps.len());
        let (own, branches, calls) = (self.own_instructions(), self.jumps().len(), self.calls());
        write!(f, "{name}: hit path of {steps} instructions, ")?;
        write!(f, "{own} without frame and initialisation, ")?;
        writeln!(f, "{branches} of them conditional branches, {calls} calls")?;
        f.write_str(&self.function.listing(&self.steps))
    }
}
