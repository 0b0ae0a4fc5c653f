//! A subject's program: its instructions, and the lines that they are from.

use std::borrow::Cow;
use std::fmt::Display;

use addr2line::Context;
use addr2line::gimli::{self, Dwarf, EndianSlice, LittleEndian, SectionId};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Architecture, File, Object as _, ObjectSection as _, ObjectSymbol as _};
use object::{SectionKind, SymbolKind};

/// An executable of x86-64 with line tables.
pub(super) struct Program<'a> {
    /// Address and bytes of each section.
    code: Vec<(u64, &'a [u8])>,
    pub(super) functions: Vec<Function>,
    lines: Context<Reader<'a>>,
}

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// A function that the program has.
pub(super) struct Function {
    pub(super) name: String,
    address: u64,
    bytes: usize,
}

/// One call that an instruction was inlined through, or the instruction itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) function: String,
    pub(super) file: String,
    pub(super) line: u32,
}

impl<'a> Program<'a> {
    /// Of what is in its file. An error says what is wrong with it.
    pub(super) fn read(data: &'a [u8]) -> Result<Program<'a>, String> {
        let unreadable = |why: &dyn Display| format!("could not read the program: {why}");
        let file = File::parse(data).map_err(|error| unreadable(&error))?;
        if file.architecture() != Architecture::X86_64 {
            return Err(unreadable(&"its instructions are not those of x86-64"));
        }
        let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let code = sections.map(|section| Ok((section.address(), section.data()?)));
        let code = code.collect::<object::Result<_>>().map_err(|error| unreadable(&error))?;
        let lines = lines(&file).map_err(|error| unreadable(&error))?;
        Ok(Program { code, functions: functions(&file), lines })
    }

    /// The bytes of a piece of code, or fewer where its section ends.
    fn bytes(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        self.code.iter().find_map(|(start, code)| {
            let rest = code.get(usize::try_from(address.checked_sub(*start)?).ok()?..)?;
            Some(&rest[..bytes.min(rest.len())])
        })
    }

    /// The instruction at an address, if that is one of the program's.
    pub(super) fn instruction(&self, address: u64) -> Option<Instruction> {
        const INSTRUCTION_BYTES_MAX: usize = 15;
        decoded(self.bytes(address, INSTRUCTION_BYTES_MAX)?, address).next()
    }

    pub(super) fn instructions(&self, function: &Function) -> Vec<Instruction> {
        let bytes = self.bytes(function.address, function.bytes).unwrap_or_default();
        decoded(bytes, function.address).collect()
    }

    /// The line that an instruction is from, and behind it those of the calls that it was inlined
    /// through.
    pub(super) fn calls(&self, address: u64) -> Result<Vec<Call>, String> {
        let calls = self.frames(address);
        calls.map_err(|error| format!("could not read the line tables: {error}"))
    }

    fn frames(&self, address: u64) -> Result<Vec<Call>, gimli::Error> {
        let mut frames = self.lines.find_frames(address).skip_all_loads()?;
        let mut calls = Vec::new();
        while let Some(frame) = frames.next()? {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let name = name.unwrap_or(Cow::Borrowed(""));
            let place = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
            let (file, line) = place.unwrap_or_default();
            calls.push(Call { function: demangled(&name), file, line });
        }
        Ok(calls)
    }
}

fn decoded(bytes: &[u8], address: u64) -> impl Iterator<Item = Instruction> {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter()
}

fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

fn functions(file: &File) -> Vec<Function> {
    let symbols = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let function = |symbol: object::Symbol| {
        let bytes = usize::try_from(symbol.size()).ok()?;
        Some(Function { name: demangled(symbol.name().ok()?), address: symbol.address(), bytes })
    };
    symbols.filter_map(function).collect()
}

fn lines<'a>(file: &File<'a>) -> Result<Context<Reader<'a>>, gimli::Error> {
    let section = |id: SectionId| {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok::<_, gimli::Error>(EndianSlice::new(data, LittleEndian))
    };
    Context::from_dwarf(Dwarf::load(section)?)
}
