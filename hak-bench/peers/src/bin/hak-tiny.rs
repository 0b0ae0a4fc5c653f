//! An allocator from `specs/tiny.toml`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../../specs/tiny.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
