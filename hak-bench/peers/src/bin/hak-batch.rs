//! An allocator from `specs/batch.toml`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../../specs/batch.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
