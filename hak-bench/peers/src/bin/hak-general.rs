//! An allocator from `specs/general.toml`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../../specs/general.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
