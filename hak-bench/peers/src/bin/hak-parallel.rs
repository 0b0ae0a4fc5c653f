//! An allocator from `specs/parallel.toml`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../../specs/parallel.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
