//! jemalloc, in C: what FreeBSD has, and many servers.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOC: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
