//! An allocator from `specs/hardened.toml`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../../specs/hardened.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
