//! How many instructions of the kernels' own lines are executed for each operation.
//!
//! The kernels' source is the same for every allocator, but what the compiler makes of it is not
//! quite: where a request is a call, values are put aside and fetched again that stay in registers
//! where it is inlined. So what only moves a value between registers and the stack is not counted;
//! with it, two allocators differ by up to five instructions. Of the rest, ten patterns on eleven
//! allocators were equal but for these: `aligned` took 2.9 of 59 instructions more where hak's
//! requests are inlined, since a truth value is made a number before it is added; `list` counts
//! with one addition of 9 more on one peer; and a vector of `realloc-growth` takes one of 1100
//! more on some. [`allowed`] leaves room for as much. Half of a random number would be more.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::callgrind::Counted;

use super::KERNELS_FOLDER;
use super::program::Program;

/// Instructions for each operation. An error where the program is not the one that was counted.
pub(super) fn count(counted: &Counted, program: &Program) -> Result<f64, String> {
    let mut sum = 0;
    let executed = counted.report.instructions.iter();
    for executed in executed.filter(|executed| executed.file.contains(KERNELS_FOLDER)) {
        let address = executed.address;
        let instruction = program.instruction(address);
        let instruction =
            instruction.ok_or_else(|| format!("there is no instruction at {address:#x}"))?;
        if !only_moves(&instruction) {
            sum += executed.times;
        }
    }
    Ok(sum as f64 / counted.outcome.operations as f64)
}

/// By how many instructions an operation may differ from one that takes `count`: one, and a
/// twentieth of those, but no more than four.
pub(super) fn allowed(count: f64) -> f64 {
    (1.0 + count / 20.0).min(4.0)
}

/// Whether it moves a value between registers and the stack and does nothing else.
fn only_moves(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Push | Mnemonic::Pop => true,
        Mnemonic::Mov
        | Mnemonic::Movzx
        | Mnemonic::Movsx
        | Mnemonic::Movsxd
        | Mnemonic::Movd
        | Mnemonic::Movq
        | Mnemonic::Movaps
        | Mnemonic::Movups
        | Mnemonic::Movdqa
        | Mnemonic::Movdqu => {
            let reaches_memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
            !reaches_memory || instruction.memory_base() == Register::RSP
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::{allowed, only_moves};

    #[test]
    fn moves_stay_between_registers_and_the_stack() {
        let is_move =
            |code: &[u8]| only_moves(&Decoder::new(64, code, DecoderOptions::NONE).decode());
        assert!(is_move(&[0x48, 0x89, 0xf8]), "mov rax, rdi");
        assert!(is_move(&[0x48, 0x89, 0x44, 0x24, 8]), "mov [rsp+8], rax");
        assert!(is_move(&[0x0f, 0x29, 0x04, 0x24]), "movaps [rsp], xmm0");
        assert!(is_move(&[0x53]), "push rbx");
        assert!(!is_move(&[0x48, 0x89, 0x07]), "mov [rdi], rax");
        assert!(!is_move(&[0x48, 0x03, 0x44, 0x24, 8]), "add rax, [rsp+8]");
        assert!(!is_move(&[0x48, 0x01, 0xf8]), "add rax, rdi");
    }

    #[test]
    fn longer_operations_may_differ_by_more() {
        assert_eq!([1.0, 20.0, 1000.0].map(allowed), [1.05, 2.0, 4.0]);
    }
}
