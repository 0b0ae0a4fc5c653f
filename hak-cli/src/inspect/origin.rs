//! What registers and flags hold, as far as it matters to what a branch tests: which arguments,
//! variables and memory a value was made from.
//!
//! The instructions that ran are gone through in order. A value written was made from all that its
//! instruction read; values in stack slots are followed, other memory is not.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use super::binary::Binary;

/// What a value was made from.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// Arguments of the function that is looked at.
    pub(super) arguments: BTreeSet<Argument>,
    /// Thread-local variables that were read, by name.
    pub(super) thread_locals: BTreeSet<String>,
    /// Static variables that were read.
    pub(super) statics: BTreeSet<String>,
    /// Whether other memory was read.
    pub(super) memory: bool,
    /// Whether a constant of the instructions is in it.
    pub(super) constant: bool,
    /// The comparison whose outcome it is, as 0 or 1.
    pub(super) outcome_of: Option<Instruction>,
    /// Of an address of static variables: which.
    pub(super) points_to: BTreeSet<String>,
    /// Of an address in thread-local storage: its offset from the thread pointer, that of what it
    /// was made from when the rest is not known.
    pub(super) thread_offset: Option<i64>,
}

/// An argument of a function that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Argument {
    Block,
    Size,
    Align,
    NewSize,
}

impl Origin {
    /// A size, an alignment or both, and nothing that was looked up.
    pub(super) fn is_layout(&self) -> bool {
        (self.constant || !self.arguments.is_empty())
            && !self.arguments.contains(&Argument::Block)
            && self.thread_locals.is_empty()
            && !self.memory
    }

    fn add(&mut self, other: &Origin) {
        self.arguments.extend(&other.arguments);
        self.thread_locals.extend(other.thread_locals.iter().cloned());
        self.statics.extend(other.statics.iter().cloned());
        self.points_to.extend(other.points_to.iter().cloned());
        self.memory |= other.memory;
        self.constant |= other.constant;
        self.outcome_of = self.outcome_of.or(other.outcome_of);
        self.thread_offset = self.thread_offset.or(other.thread_offset);
    }
}

/// Registers, flags and stack slots while the instructions are gone through.
pub(super) struct Origins<'b> {
    binary: &'b Binary,
    factory: InstructionInfoFactory,
    registers: BTreeMap<Register, Origin>,
    slots: BTreeMap<i64, Origin>,
    /// The stack pointer, from where it was at first.
    stack: i64,
    flags: Origin,
    flags_from: Option<Instruction>,
}

/// The first arguments of a function, in the order of the C calling convention.
const ARGUMENT_REGISTERS: [Register; 4] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX];

impl<'b> Origins<'b> {
    /// At a function's first instruction.
    pub(super) fn new(binary: &'b Binary, arguments: &[Argument]) -> Self {
        let of = |argument: &Argument| Origin {
            arguments: BTreeSet::from([*argument]),
            ..Origin::default()
        };
        let registers = ARGUMENT_REGISTERS.into_iter().zip(arguments.iter().map(of)).collect();
        Origins {
            binary,
            factory: InstructionInfoFactory::new(),
            registers,
            slots: BTreeMap::new(),
            stack: 0,
            flags: Origin::default(),
            flags_from: None,
        }
    }

    /// What the flags were made from, and the comparison that set them: of a value that is the
    /// outcome of an earlier one, that one.
    pub(super) fn flags(&self) -> (&Origin, Option<&Instruction>) {
        let from = self.flags_from.as_ref();
        let is_truth = from.is_some_and(|from| {
            from.mnemonic() == Mnemonic::Test && from.op0_register() == from.op1_register()
        });
        let outcome_of = self.flags.outcome_of.as_ref().filter(|_| is_truth);
        (&self.flags, outcome_of.or(from))
    }

    /// Goes past an instruction.
    pub(super) fn step(&mut self, instruction: &Instruction) {
        let info = self.factory.info(instruction).clone();
        let value = self.value(instruction, &info);
        for memory in info.used_memory().iter().filter(|used| writes(used.access())) {
            if let Some(slot) = self.slot(memory) {
                self.slots.insert(slot, value.clone());
            }
        }
        for written in info.used_registers().iter().filter(|used| writes(used.access())) {
            self.write(written.register(), written.access(), &value);
        }
        if instruction.rflags_modified() != 0 {
            self.flags = value;
            self.flags_from = Some(*instruction);
        }
        self.stack += stack_moves_by(instruction);
    }

    /// What an instruction's result is made from.
    fn value(&self, instruction: &Instruction, info: &InstructionInfo) -> Origin {
        let mut value = Origin::default();
        if is_zeroing(instruction) {
            return value;
        }
        for read in info.used_registers().iter().filter(|used| reads(used.access())) {
            value.add(&self.register(read.register()));
        }
        for memory in info.used_memory().iter().filter(|used| reads(used.access())) {
            // What is read is no address because it was found by one.
            value = Origin { points_to: BTreeSet::new(), thread_offset: None, ..value };
            value.add(&self.read(memory, instruction));
        }
        match instruction.mnemonic() {
            Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
                let symbol = self.binary.static_at(instruction.memory_displacement64());
                value.points_to.extend(symbol.map(|symbol| symbol.name.short()));
            }
            Mnemonic::Lea => {
                let displacement = instruction.memory_displacement64().cast_signed();
                value.thread_offset = value.thread_offset.map(|offset| offset + displacement);
            }
            Mnemonic::Mov => value.constant |= instruction.try_immediate(1).is_ok(),
            _ => {}
        }
        if instruction.rflags_read() != 0 {
            value.add(&self.flags);
            value.outcome_of = self.flags_from;
        }
        value
    }

    fn register(&self, register: Register) -> Origin {
        self.registers.get(&register.full_register()).cloned().unwrap_or_default()
    }

    /// Part of a register keeps what the rest was made from.
    fn write(&mut self, register: Register, access: OpAccess, value: &Origin) {
        let full = register.full_register();
        if full == Register::RSP {
            return;
        }
        let is_whole = register.size() >= 4 && access != OpAccess::CondWrite;
        let mut value = value.clone();
        if !is_whole {
            value.add(&self.register(full));
        }
        self.registers.insert(full, value);
    }

    /// What is read from memory, besides what its address was made from.
    fn read(&self, memory: &UsedMemory, instruction: &Instruction) -> Origin {
        if let Some(slot) = self.slot(memory) {
            return self.slots.get(&slot).cloned().unwrap_or_default();
        }
        let displacement = memory.displacement().cast_signed();
        let base = self.register(memory.base());
        let is_direct = memory.segment() == Register::FS;
        let offset = base.thread_offset.or(is_direct.then_some(0)).map(|at| at + displacement);
        let mut value = Origin::default();
        if is_direct && displacement == 0 && memory.base() == Register::None {
            value.thread_offset = Some(0);
        } else if let Some(offset) = offset {
            let symbol = self.binary.thread_local_at(offset);
            let name = symbol.map_or_else(|| "?".to_owned(), |symbol| symbol.name.short());
            value.thread_locals.insert(name);
        } else if instruction.is_ip_rel_memory_operand() {
            let symbol = self.binary.static_at(instruction.memory_displacement64());
            let name = symbol.map_or_else(|| "?".to_owned(), |symbol| symbol.name.short());
            value.statics.insert(name);
        } else {
            let index = self.register(memory.index());
            value.statics.extend(base.points_to.iter().chain(&index.points_to).cloned());
            value.memory = value.statics.is_empty();
        }
        value
    }

    /// The stack slot that a memory operand is, from where the stack pointer was at first.
    fn slot(&self, memory: &UsedMemory) -> Option<i64> {
        let is_slot = memory.base() == Register::RSP && memory.index() == Register::None;
        is_slot.then(|| self.stack + memory.displacement().cast_signed())
    }
}

/// `xor eax, eax` reads nothing.
fn is_zeroing(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
        && instruction.op1_kind() == OpKind::Register
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == instruction.op1_register()
}

fn stack_moves_by(instruction: &Instruction) -> i64 {
    let moves_stack = instruction.op_count() == 2
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::RSP;
    match (instruction.mnemonic(), instruction.try_immediate(1)) {
        (Mnemonic::Sub, Ok(bytes)) if moves_stack => -bytes.cast_signed(),
        (Mnemonic::Add, Ok(bytes)) if moves_stack => bytes.cast_signed(),
        _ => i64::from(instruction.stack_pointer_increment()),
    }
}

pub(super) fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

pub(super) fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the flags were made from when the code has run, and the comparison.
    fn flags(arguments: &[Argument], code: &[u8]) -> (Origin, Mnemonic) {
        let binary = Binary::of_code(0, code, &[("f", 0, code.len() as u64)]);
        let mut origins = Origins::new(&binary, arguments);
        for instruction in binary.instructions(0) {
            origins.step(&instruction);
        }
        let (flags, from) = origins.flags();
        (flags.clone(), from.unwrap().mnemonic())
    }

    fn arguments(origin: &Origin) -> Vec<Argument> {
        origin.arguments.iter().copied().collect()
    }

    const LAYOUT: [Argument; 2] = [Argument::Align, Argument::Size];

    #[test]
    fn values_are_followed_through_registers() {
        // lea rax, [rdi-1]; lea rcx, [rsi-1]; or rax, rcx; cmp rax, 64
        let code = [0x48, 0x8d, 0x47, 0xff, 0x48, 0x8d, 0x4e, 0xff, 0x48, 0x09, 0xc8];
        let (origin, from) = flags(&LAYOUT, &[&code[..], &[0x48, 0x83, 0xf8, 0x40]].concat());
        assert_eq!(arguments(&origin), [Argument::Size, Argument::Align]);
        assert_eq!(from, Mnemonic::Cmp);
        assert!(origin.is_layout() && !origin.memory);
    }

    #[test]
    fn values_are_followed_through_the_stack() {
        // push rsi; sub rsp, 16; xor esi, esi; mov rax, [rsp+16]; test rax, rax
        let code = [0x56, 0x48, 0x83, 0xec, 0x10, 0x31, 0xf6, 0x48, 0x8b, 0x44, 0x24, 0x10];
        let (origin, _) = flags(&LAYOUT, &[&code[..], &[0x48, 0x85, 0xc0]].concat());
        assert_eq!(arguments(&origin), [Argument::Size]);
        // … and not to the register that was cleared: test esi, esi
        let (origin, _) = flags(&LAYOUT, &[&code[..], &[0x85, 0xf6]].concat());
        assert_eq!(origin, Origin::default());
    }

    #[test]
    fn thread_locals_are_named() {
        // cmp rax, fs:[-56]
        let direct = [0x64, 0x48, 0x3b, 0x04, 0x25, 0xc8, 0xff, 0xff, 0xff];
        // mov rax, fs:[0]; lea rcx, [rax-64]; cmp rdx, [rcx+8]
        let by_address =
            [0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x8d, 0x48, 0xc0, 0x48, 0x3b, 0x51, 8];
        for code in [&direct[..], &by_address] {
            let (origin, _) = flags(&[], code);
            assert_eq!(origin.thread_locals, BTreeSet::from(["CACHE".to_owned()]));
            assert!(!origin.is_layout());
        }
    }

    /// A block is found through a bin. The bin is thread-local, the block is not.
    #[test]
    fn what_is_read_is_no_address_of_what_it_was_read_from() {
        // mov rax, fs:[0]; mov rax, [rax-64]; mov rax, [rax-64]; test rax, rax
        let code = [
            0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x8b, 0x40, 0xc0, 0x48, 0x8b, 0x40,
            0xc0, 0x48, 0x85, 0xc0,
        ];
        let (origin, _) = flags(&[], &code);
        assert_eq!(origin.thread_locals, BTreeSet::from(["CACHE".to_owned()]));
        assert!(origin.memory && origin.thread_offset.is_none());
        // Up to the bin.
        let (origin, _) = flags(&[], &[&code[..13], &code[17..]].concat());
        assert!(!origin.memory);
    }

    /// What a comparison found may be tested later.
    #[test]
    fn an_outcome_is_tested_as_its_comparison() {
        // cmp rsi, 64; setb al; test al, al
        let code = [0x48, 0x83, 0xfe, 0x40, 0x0f, 0x92, 0xc0, 0x84, 0xc0];
        let (origin, from) = flags(&LAYOUT, &code);
        assert_eq!((arguments(&origin), from), (vec![Argument::Size], Mnemonic::Cmp));
    }

    #[test]
    fn memory_behind_a_block_is_memory() {
        // cmp qword ptr [rdi], 0
        let (origin, _) = flags(&[Argument::Block], &[0x48, 0x83, 0x3f, 0]);
        assert!(origin.memory);
        assert_eq!(arguments(&origin), [Argument::Block]);
    }
}
