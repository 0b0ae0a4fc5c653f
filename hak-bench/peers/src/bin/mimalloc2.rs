//! mimalloc 2, in C.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOC: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
