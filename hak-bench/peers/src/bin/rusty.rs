//! rusty_alloc, in Rust: mimalloc's design anew.

use std::process::ExitCode;

use rusty_alloc_api::RustyAlloc;

#[global_allocator]
static ALLOC: RustyAlloc = RustyAlloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
