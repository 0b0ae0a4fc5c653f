//! snmalloc, in C++.

use std::process::ExitCode;

use snmalloc_rs::SnMalloc;

#[global_allocator]
static ALLOC: SnMalloc = SnMalloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
