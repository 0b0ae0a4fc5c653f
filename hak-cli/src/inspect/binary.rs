//! The executable of an inspected program: its functions, what addresses are called, and its
//! thread-local storage.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iced_x86::{
    Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, MemorySizeOptions, Register,
    SymbolResolver, SymbolResult,
};
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use super::Result;
use super::names::Name;

/// Longest instruction of x86-64, in bytes.
const INSTRUCTION_BYTES_MAX: usize = 15;

/// An executable.
pub(super) struct Binary {
    text: Vec<u8>,
    start: u64,
    functions: BTreeMap<u64, Symbol>,
    statics: BTreeMap<u64, Symbol>,
    /// By their offset from the thread pointer, which is negative.
    thread_locals: BTreeMap<i64, Symbol>,
}

/// A function or a variable.
pub(super) struct Symbol {
    pub(super) name: Name,
    pub(super) bytes: u64,
}

impl Binary {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let unreadable =
            |why: &dyn std::fmt::Display| format!("cannot read `{}`: {why}", path.display());
        let data = fs::read(path).map_err(|error| unreadable(&error))?;
        let file = object::File::parse(&*data).map_err(|error| unreadable(&error))?;
        if file.architecture() != Architecture::X86_64 {
            return Err(format!(
                "`hak inspect` reads x86-64 only, and cargo builds for {:?}\n   = help: see \
                 `build.target` in cargo's configuration",
                file.architecture()
            ));
        }
        let text = file.section_by_name(".text").ok_or_else(|| unreadable(&"it has no code"))?;
        let code = text.data().map_err(|error| unreadable(&error))?;
        let mut binary = Binary {
            text: code.to_vec(),
            start: text.address(),
            functions: BTreeMap::new(),
            statics: BTreeMap::new(),
            thread_locals: BTreeMap::new(),
        };
        binary.name(&file);
        Ok(binary)
    }

    /// Code at an address, for tests: functions by their start and length, in order.
    #[cfg(test)]
    pub(super) fn of_code(start: u64, text: &[u8], functions: &[(&str, u64, u64)]) -> Self {
        let symbol = |&(name, at, bytes): &(&str, u64, u64)| {
            (start + at, Symbol { name: Name::of_symbol(name), bytes })
        };
        Binary {
            text: text.to_vec(),
            start,
            functions: functions.iter().map(symbol).collect(),
            statics: BTreeMap::new(),
            thread_locals: BTreeMap::from([(-64, symbol(&("CACHE", 0, 48)).1)]),
        }
    }

    fn name(&mut self, file: &object::File<'_>) {
        let tls_bytes = thread_local_bytes(file);
        for symbol in file.symbols().filter(|symbol| !symbol.is_undefined() && symbol.size() > 0) {
            let (Ok(name), bytes) = (symbol.name(), symbol.size()) else { continue };
            let (name, address) = (Name::of_symbol(name), symbol.address());
            let named = Symbol { name, bytes };
            match symbol.kind() {
                SymbolKind::Text => drop(self.functions.insert(address, named)),
                SymbolKind::Tls => {
                    let offset = address.wrapping_sub(tls_bytes).cast_signed();
                    self.thread_locals.insert(offset, named);
                }
                _ => drop(self.statics.insert(address, named)),
            }
        }
    }

    /// The instruction at an address; `None` outside of the executable's own code.
    pub(super) fn instruction(&self, address: u64) -> Option<Instruction> {
        let from = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.text.get(from..)?;
        let bytes = &bytes[..bytes.len().min(INSTRUCTION_BYTES_MAX)];
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let instruction = decoder.can_decode().then(|| decoder.decode())?;
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// All instructions of a function.
    pub(super) fn instructions(&self, function: u64) -> impl Iterator<Item = Instruction> {
        let end = self.functions.get(&function).map_or(function, |symbol| function + symbol.bytes);
        let next = move |before: &Instruction| {
            self.instruction(before.next_ip()).filter(|next| next.ip() < end)
        };
        std::iter::successors(self.instruction(function).filter(|_| end > function), next)
    }

    /// Start and symbol of the function that an address lies in.
    pub(super) fn function_at(&self, address: u64) -> Option<(u64, &Symbol)> {
        containing(&self.functions, address)
    }

    /// Where a function of this name starts.
    pub(super) fn address_of(&self, name: &str) -> Result<u64> {
        let found = self.functions.iter().find(|(_, symbol)| symbol.name.short() == name);
        found.map(|(address, _)| *address).ok_or_else(|| {
            format!("the program that was built has no symbol `{name}`: it was stripped")
        })
    }

    /// The static variable at an address.
    pub(super) fn static_at(&self, address: u64) -> Option<&Symbol> {
        containing(&self.statics, address).map(|(_, symbol)| symbol)
    }

    /// The thread-local variable at an offset from the thread pointer.
    pub(super) fn thread_local_at(&self, offset: i64) -> Option<&Symbol> {
        let (start, symbol) = self.thread_locals.range(..=offset).next_back()?;
        (offset - start < symbol.bytes.cast_signed()).then_some(symbol)
    }

    /// All thread-local variables.
    pub(super) fn thread_locals(&self) -> impl Iterator<Item = &Symbol> {
        self.thread_locals.values()
    }

    /// An instruction as text, addresses by their names.
    pub(super) fn line(&self, instruction: &Instruction) -> String {
        let resolver: Box<dyn SymbolResolver> = Box::new(Resolver(self.names_in(instruction)));
        let mut formatter = IntelFormatter::with_options(Some(resolver), None);
        let options = formatter.options_mut();
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_uppercase_hex(false);
        options.set_space_after_operand_separator(true);
        options.set_memory_size_options(MemorySizeOptions::Minimal);
        options.set_show_branch_size(false);
        let mut text = String::new();
        formatter.format(instruction, &mut text);
        text
    }

    /// What the addresses in an instruction are called, and where they lie in what is called so.
    fn names_in(&self, instruction: &Instruction) -> Vec<(u64, String)> {
        let mut names = Vec::new();
        let target = instruction.near_branch_target();
        if let Some((start, symbol)) = self.function_at(target).filter(|_| target != 0) {
            let is_start = start == target;
            let name = symbol.name.short();
            names.push((target, if is_start { name } else { format!(".{:x}", target - start) }));
        }
        let address = instruction.memory_displacement64();
        let variable = if is_thread_local(instruction) && address != 0 {
            let offset = address.cast_signed();
            let found = self.thread_locals.range(..=offset).next_back();
            found.map(|(start, symbol)| (symbol, offset - start))
        } else if instruction.is_ip_rel_memory_operand() {
            let found = containing(&self.statics, address);
            found.map(|(start, symbol)| (symbol, (address - start).cast_signed()))
        } else {
            None
        };
        names.extend(variable.map(|(symbol, at)| (address, place(&symbol.name.short(), at))));
        names
    }
}

/// Whether an instruction reads or writes thread-local storage directly.
pub(super) fn is_thread_local(instruction: &Instruction) -> bool {
    instruction.memory_segment() == Register::FS
}

fn place(name: &str, at: i64) -> String {
    if at == 0 { name.to_owned() } else { format!("{name}+{at}") }
}

fn containing(symbols: &BTreeMap<u64, Symbol>, address: u64) -> Option<(u64, &Symbol)> {
    let (&start, symbol) = symbols.range(..=address).next_back()?;
    (address - start < symbol.bytes).then_some((start, symbol))
}

/// Bytes of the thread-local variables of an executable. They end at the thread pointer, rounded
/// up to their alignment.
fn thread_local_bytes(file: &object::File<'_>) -> u64 {
    let is_thread_local = |kind| matches!(kind, SectionKind::Tls | SectionKind::UninitializedTls);
    let sections: Vec<_> = file.sections().filter(|s| is_thread_local(s.kind())).collect();
    let start = sections.iter().map(|s| s.address()).min().unwrap_or(0);
    let end = sections.iter().map(|s| s.address() + s.size()).max().unwrap_or(0);
    let align = sections.iter().map(|s| s.align()).max().unwrap_or(1).max(1);
    (end - start).next_multiple_of(align)
}

/// Names for the addresses of one instruction.
struct Resolver(Vec<(u64, String)>);

impl SymbolResolver for Resolver {
    fn symbol(
        &mut self,
        _instruction: &Instruction,
        _operand: u32,
        _instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        let (_, name) = self.0.iter().find(|(named, _)| *named == address)?;
        Some(SymbolResult::with_str(address, name))
    }
}
