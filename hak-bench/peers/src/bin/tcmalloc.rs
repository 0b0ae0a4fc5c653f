//! Google's TCMalloc, in C++. The crate's documentation also starts a thread that cleans up, by a
//! call that does nothing on Linux.

use std::process::ExitCode;

use tcmalloc_better::TCMalloc;

#[global_allocator]
static ALLOC: TCMalloc = TCMalloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
