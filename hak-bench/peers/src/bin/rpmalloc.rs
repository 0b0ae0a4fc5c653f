//! rpmalloc 1, in C.

use std::process::ExitCode;

use rpmalloc::RpMalloc;

#[global_allocator]
static ALLOC: RpMalloc = RpMalloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
