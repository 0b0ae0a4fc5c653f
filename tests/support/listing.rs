//! Functions of an executable, disassembled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use iced_x86::{
    Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, MemorySizeOptions, OpKind,
    Register, SymbolResolver, SymbolResult,
};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// The code of an executable, and what its addresses are called.
pub(crate) struct Binary {
    code: Vec<u8>,
    start: u64,
    names: BTreeMap<u64, String>,
    /// Start and size of each function.
    functions: BTreeMap<u64, u64>,
    cache: Cache,
}

/// One function.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) code: Vec<Instruction>,
    names: Names,
}

/// What a listing calls an address: the name of a symbol, or of a place in the function itself.
#[derive(Clone)]
struct Names {
    symbols: BTreeMap<u64, String>,
    cache: Cache,
}

/// Words of a bin.
const BIN_WORDS: u64 = 3;

/// Where the allocator's thread-local cache begins, as an offset from the thread pointer, and its
/// bytes.
#[derive(Clone, Copy)]
struct Cache {
    start: u64,
    bytes: u64,
}

impl Binary {
    pub(crate) fn read(path: &Path) -> Self {
        let data = fs::read(path).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let text = file.section_by_name(".text").unwrap();
        let mut names = BTreeMap::new();
        let mut functions = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.is_definition() && symbol.size() > 0) {
            names.insert(symbol.address(), short_name(symbol.name().unwrap()));
            if symbol.kind() == SymbolKind::Text {
                functions.insert(symbol.address(), symbol.size());
            }
        }
        let (code, start) = (text.data().unwrap().to_vec(), text.address());
        Binary { code, start, names, functions, cache: Cache::of(&file) }
    }

    /// The function of a name. Where it only hands on to another, that one.
    pub(crate) fn function(&self, name: &str) -> Function {
        let is_wanted = |address: &&u64| self.names[address] == name;
        let address = self.functions.keys().find(is_wanted);
        let address = *address.unwrap_or_else(|| panic!("no function `{name}`"));
        let code = self.disassemble(address);
        let function = match jumps_on(&code[0]).filter(|to| self.functions.contains_key(to)) {
            Some(target) => self.disassemble(target),
            None => code,
        };
        Function::new(name, function, &self.names, self.cache)
    }

    fn disassemble(&self, address: u64) -> Vec<Instruction> {
        let from = (address - self.start) as usize;
        let bytes = &self.code[from..from + self.functions[&address] as usize];
        Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter().collect()
    }
}

fn jumps_on(instruction: &Instruction) -> Option<u64> {
    instruction.is_jmp_short_or_near().then(|| instruction.near_branch_target())
}

impl Function {
    fn new(
        name: &str,
        code: Vec<Instruction>,
        names: &BTreeMap<u64, String>,
        cache: Cache,
    ) -> Self {
        let mut names = names.clone();
        let (start, end) = (code[0].ip(), code[code.len() - 1].next_ip());
        let is_jump = |line: &&Instruction| line.is_jcc_short_or_near() || jumps_on(line).is_some();
        let jumps = code.iter().filter(is_jump);
        let targets: BTreeSet<_> = jumps.map(Instruction::near_branch_target).collect();
        for (place, &target) in targets.range(start..end).enumerate() {
            names.insert(target, format!(".{}", place + 1));
        }
        Function { name: name.to_owned(), code, names: Names { symbols: names, cache } }
    }

    /// The index of the instruction at an address, if the function has it.
    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        self.code.binary_search_by_key(&address, Instruction::ip).ok()
    }

    /// What the symbol at an address is called.
    pub(crate) fn name_of(&self, address: u64) -> &str {
        self.names.symbols.get(&address).map_or("", String::as_str)
    }

    /// One instruction as text.
    pub(crate) fn line(&self, index: usize) -> String {
        let mut formatter = IntelFormatter::with_options(Some(Box::new(self.names.clone())), None);
        let options = formatter.options_mut();
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_uppercase_hex(false);
        options.set_space_after_operand_separator(true);
        options.set_memory_size_options(MemorySizeOptions::Minimal);
        options.set_show_branch_size(false);
        let mut text = String::new();
        formatter.format(&self.code[index], &mut text);
        text
    }

    /// The number of the bin that an instruction reads or writes, counted from the first in
    /// thread-local storage.
    pub(crate) fn bin_of(&self, instruction: &Instruction) -> Option<u64> {
        is_thread_local(instruction)
            .then(|| self.names.cache.word(instruction.memory_displacement64()) / BIN_WORDS)
    }

    /// The whole function, `>` before the instructions of a path.
    pub(crate) fn listing(&self, path: &[usize]) -> String {
        let line = |index: usize| {
            let mark = if path.contains(&index) { '>' } else { ' ' };
            let label = self.name_of(self.code[index].ip());
            let label = if label.starts_with('.') { format!("{label}:") } else { String::new() };
            format!("  {mark} {label:<4}{}\n", self.line(index))
        };
        (0..self.code.len()).map(line).collect()
    }
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _operand: u32,
        instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        let is_memory = instruction_operand
            .is_some_and(|operand| instruction.op_kind(operand) == OpKind::Memory);
        if is_memory && is_thread_local(instruction) {
            let field = self.cache.field(address);
            return field.map(|field| SymbolResult::with_str(address, field));
        }
        let is_code = instruction.near_branch_target() == address;
        let is_data = is_memory && instruction.is_ip_rel_memory_operand();
        let name = self.symbols.get(&address).filter(|_| is_code || is_data)?;
        Some(SymbolResult::with_str(address, name))
    }
}

/// Whether an instruction reads or writes the thread's own memory.
pub(crate) fn is_thread_local(instruction: &Instruction) -> bool {
    instruction.memory_segment() == Register::FS
}

impl Cache {
    /// An executable's thread-local variables end at the thread pointer, rounded up to their
    /// alignment. A binary without a cache is one in which no address is read so.
    fn of(file: &object::File<'_>) -> Self {
        let sections: Vec<_> = file.sections().filter(|s| is_thread_local_data(s.kind())).collect();
        let start = sections.iter().map(|s| s.address()).min().unwrap_or(0);
        let end = sections.iter().map(|s| s.address() + s.size()).max().unwrap_or(0);
        let align = sections.iter().map(|s| s.align()).max().unwrap_or(1);
        let size = (end - start).next_multiple_of(align);
        let mut variables = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Tls);
        // The variable itself stands in an item that is called like it.
        let cache = variables.find(|symbol| symbol.name().unwrap().contains("5CACHE"));
        Cache {
            start: cache.as_ref().map_or(0, |cache| cache.address().wrapping_sub(size)),
            bytes: cache.map_or(0, |cache| cache.size()),
        }
    }

    /// The field of a bin at an offset from the thread pointer. The runtime's `Bin` has the same
    /// order.
    fn field(self, offset: u64) -> Option<&'static str> {
        let fields = ["bin.top", "bin.low", "bin.high"];
        let is_in_cache = offset.wrapping_sub(self.start) < self.bytes;
        is_in_cache.then(|| fields[(self.word(offset) % BIN_WORDS) as usize])
    }

    /// Which word of the cache stands at an offset from the thread pointer.
    fn word(self, offset: u64) -> u64 {
        offset.wrapping_sub(self.start) / 8
    }
}

fn is_thread_local_data(kind: SectionKind) -> bool {
    matches!(kind, SectionKind::Tls | SectionKind::UninitializedTls)
}

/// The last identifier of a mangled name, in either mangling: what the source calls a function.
/// A name that is not mangled is left as it is.
fn short_name(symbol: &str) -> String {
    if !symbol.starts_with("_ZN") && !symbol.starts_with("_R") {
        return symbol.to_owned();
    }
    let mut rest = symbol;
    let mut last = symbol;
    while let Some(digit) = rest.find(|char: char| char.is_ascii_digit()) {
        let number = &rest[digit..];
        let end = number.find(|char: char| !char.is_ascii_digit()).unwrap_or(number.len());
        let length: usize = number[..end].parse().unwrap_or(0);
        let identifier = number[end..].get(..length).unwrap_or("");
        rest = &number[end + identifier.len()..];
        if !identifier.is_empty() && !is_hash(identifier) {
            last = identifier;
        }
    }
    last.to_owned()
}

fn is_hash(identifier: &str) -> bool {
    identifier.len() == 17 && identifier[1..].chars().all(|char| char.is_ascii_hexdigit())
}
