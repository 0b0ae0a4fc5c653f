//! mimalloc 3, in C.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[cfg(feature = "mimalloc2")]
compile_error!("with the feature `mimalloc2` this would be mimalloc 2: leave that feature out");

#[global_allocator]
static ALLOC: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
