//! Divisions in the kernels' own code.
//!
//! A division takes longer than many requests, and one by a constant becomes a multiplication
//! where the compiler sees the constant: on one allocator it might see it, and on another not. So
//! there is to be none in what is timed. Code of an allocator that was inlined is none of the
//! kernels': each division is judged by the line it is from, and by those of the calls that it was
//! inlined through.

use std::collections::BTreeSet;

use iced_x86::{Instruction, Mnemonic};

use super::KERNELS_FOLDER;
use super::program::{Call, Program};

/// Modules of the kernels' crate whose code is timed. Those of the programs run other people's
/// code, which may divide.
const MODULES: [&str; 4] = ["block", "patterns", "random", "threads"];
/// The function of a kernel that prepares its run, which is not timed.
const PREPARES: &str = "run";

/// How many functions of kernels a program has: none where its symbols are gone.
pub(super) fn functions_of_kernels(program: &Program) -> usize {
    let names = program.functions.iter().map(|function| function.name.as_str());
    names.filter(|name| name.contains("hak_bench_kernels::patterns::")).count()
}

/// The line and the function of each division.
pub(super) fn find(program: &Program) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    for function in &program.functions {
        for division in program.instructions(function).iter().filter(|it| is_division(it)) {
            if let Some(line) = own_line(&program.calls(division.ip())?) {
                found.insert(format!("{line}, in `{}`", function.name));
            }
        }
    }
    Ok(found)
}

/// Of integers.
fn is_division(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)
}

/// The line of the kernels that an instruction is from, whose innermost call stands first.
/// Nothing where it came from an allocator, or is of what is not timed.
fn own_line(calls: &[Call]) -> Option<String> {
    let own = calls.iter().position(|call| call.file.contains(KERNELS_FOLDER))?;
    // What a kernel calls of the standard library is as good as its own.
    let is_library = |call: &Call| call.file.contains("/library/");
    let prepares = |call: &Call| call.function == PREPARES && is_timed(&call.file);
    let is_timed = calls.iter().any(|call| is_timed(&call.file)) && !calls.iter().any(prepares);
    let line = format!("{}:{}", calls[own].file, calls[own].line);
    (is_timed && calls[..own].iter().all(is_library)).then_some(line)
}

/// Whether a file is that of a module whose code is timed, or below it.
fn is_timed(file: &str) -> bool {
    let Some((_, inside)) = file.split_once(KERNELS_FOLDER) else { return false };
    let module = inside.split(['/', '.']).next();
    module.is_some_and(|module| MODULES.contains(&module))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use iced_x86::{Decoder, DecoderOptions};

    use super::{Program, find, is_division, is_timed};

    /// A kernel as a program of its own. What it divides by is not known to the compiler.
    const KERNEL: &str = r#"
        #[path = "FOLDER/allocator.rs"]
        mod allocator;
        fn main() {
            std::process::exit(run(std::env::args().count()) as i32);
        }
        #[inline(always)]
        fn run(by: usize) -> usize {
            let prepared = 1000 / by;
            work(prepared, by)
        }
        #[inline(never)]
        fn work(sum: usize, by: usize) -> usize {
            let chunks = [0_u8; 64][..sum & 63].chunks(by).len();
            let bytes = allocator::alloc(sum, by);
            chunks + bytes +
                sum % by
        }
    "#;
    const ALLOCATOR: &str = r#"
        #[inline(always)]
        pub fn alloc(bytes: usize, by: usize) -> usize {
            (bytes + 7) / by
        }
    "#;

    /// Built as the subjects are.
    fn built(folder: &Path) -> Vec<u8> {
        let kernel = folder.join("hak-bench/kernels/src/patterns/kernel.rs");
        fs::create_dir_all(kernel.parent().unwrap()).unwrap();
        fs::write(&kernel, KERNEL.replace("FOLDER", folder.to_str().unwrap())).unwrap();
        fs::write(folder.join("allocator.rs"), ALLOCATOR).unwrap();
        let output = Command::new("rustc")
            .args(["-O", "-C", "debuginfo=line-tables-only", "--edition=2024", "-o"])
            .args([&folder.join("kernel"), &kernel])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(folder.join("kernel")).unwrap()
    }

    /// Neither what prepares, nor what an allocator divides, is in the way.
    #[test]
    fn what_a_kernel_divides_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let data = built(folder.path());
        let found = find(&Program::read(&data).unwrap()).unwrap();
        let places = found.iter().map(|place| place.rsplit('/').next().unwrap());
        let places: Vec<_> = places.map(|place| place.split(',').next().unwrap()).collect();
        assert_eq!(places, ["kernel.rs:14", "kernel.rs:17"]);
    }

    #[test]
    fn a_division_is_found_by_its_instruction() {
        let divisions = |code: &[u8]| {
            let decoder = Decoder::new(64, code, DecoderOptions::NONE);
            decoder.into_iter().filter(is_division).map(|it| it.ip()).collect::<Vec<_>>()
        };
        // mov rax, rdi; xor edx, edx; div rsi; ret; cdq; idiv ecx
        let code = [0x48, 0x89, 0xf8, 0x31, 0xd2, 0x48, 0xf7, 0xf6, 0xc3, 0x99, 0xf7, 0xf9];
        assert_eq!(divisions(&code), [5, 10]);
        // mul rsi; shr rax, 3
        assert_eq!(divisions(&[0x48, 0xf7, 0xe6, 0x48, 0xc1, 0xe8, 3]), [0; 0]);
    }

    #[test]
    fn what_is_timed_is_known_by_its_module() {
        assert!(is_timed("/hak/hak-bench/kernels/src/patterns/pair.rs"));
        assert!(is_timed("hak-bench/kernels/src/block.rs"));
        assert!(!is_timed("/hak/hak-bench/kernels/src/programs/json.rs"));
        assert!(!is_timed("/hak/hak-bench/kernels/src/blocks.rs"));
        assert!(!is_timed("/hak/hak-runtime/src/random.rs"));
    }
}
