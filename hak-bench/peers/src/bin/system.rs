//! The allocator of the C library.

use std::alloc::System;
use std::process::ExitCode;

#[global_allocator]
static ALLOC: System = System;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
