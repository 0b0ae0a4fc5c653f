//! smalloc, in Rust.

use std::process::ExitCode;

use smmalloc::Smalloc;

#[global_allocator]
static ALLOC: Smalloc = Smalloc::new();

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
