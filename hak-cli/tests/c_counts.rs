//! What a hit of `malloc` and `free` takes: instructions and branches of the built library, and the
//! room that it takes in every thread.

mod c_support;

use std::fs;

use c_support::library;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Register};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// What stands between a function's first instruction and its return, when no branch is taken.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    instructions: usize,
    branches: usize,
    calls: usize,
}

/// The hit path of a function: branches are to what is out of line, and not taken.
fn hit_path(library: &[u8], function: &str) -> (Counts, Vec<Instruction>) {
    let file = object::File::parse(library).unwrap();
    let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(function));
    let start = symbol.unwrap_or_else(|| panic!("`{function}` is not exported")).address();
    let text = file.section_by_name(".text").unwrap();
    let offset = usize::try_from(start - text.address()).unwrap();
    let code = &text.data().unwrap()[offset..];
    let (mut counts, mut path) = (Counts::default(), Vec::new());
    for instruction in &mut Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
        counts.instructions += 1;
        path.push(instruction);
        match instruction.flow_control() {
            FlowControl::Return => return (counts, path),
            FlowControl::ConditionalBranch => counts.branches += 1,
            FlowControl::Call | FlowControl::IndirectCall => counts.calls += 1,
            FlowControl::Next => {}
            other => panic!("`{function}` goes elsewhere, {other:?}: {instruction}"),
        }
    }
    panic!("`{function}` does not return")
}

fn counts_of(spec: &str) -> [Counts; 3] {
    let library = fs::read(library(spec, "").shared).unwrap();
    ["malloc", "free", "_Znwm"].map(|function| {
        let (counts, path) = hit_path(&library, function);
        println!("{spec}: {function}: {counts:?}");
        path.iter().for_each(|instruction| println!("    {instruction}"));
        counts
    })
}

/// The bounds of the project: 12 instructions and two branches, 16 and three.
#[test]
fn hits_are_short() {
    for spec in ["general", "batch", "parallel", "web", "tiny"] {
        let [malloc, free, new] = counts_of(spec);
        assert!(malloc.instructions <= 12 && malloc.branches <= 2, "{spec}: {malloc:?}");
        assert!(free.instructions <= 16 && free.branches <= 3, "{spec}: {free:?}");
        assert_eq!(malloc, new, "{spec}");
        assert_eq!([malloc.calls, free.calls], [0, 0]);
    }
}

/// As the documents have it.
#[test]
fn hits_of_general_are_as_short_as_is_said() {
    let [malloc, free, _] = counts_of("general");
    assert_eq!(malloc, Counts { instructions: 12, branches: 2, calls: 0 });
    assert_eq!(free, Counts { instructions: 15, branches: 2, calls: 0 });
}

/// A thread is found by one pointer, read without a call.
#[test]
fn a_thread_has_eight_bytes_of_the_librarys() {
    for spec in ["general", "hardened", "parallel"] {
        let data = fs::read(library(spec, "").shared).unwrap();
        let file = object::elf::FileHeader64::<object::Endianness>::parse(&*data).unwrap();
        let endian = file.endian().unwrap();
        let headers = file.program_headers(endian, &*data).unwrap();
        let sizes: Vec<_> = headers
            .iter()
            .filter(|header| header.p_type(endian) == object::elf::PT_TLS)
            .map(|header| header.p_memsz(endian))
            .collect();
        assert_eq!(sizes, [8], "{spec}");
    }
    let library = fs::read(library("general", "").shared).unwrap();
    for function in ["malloc", "free"] {
        let (_, path) = hit_path(&library, function);
        let reads = path.iter().filter(|instruction| instruction.segment_prefix() == Register::FS);
        assert_eq!(reads.count(), 1, "{function}");
    }
}
