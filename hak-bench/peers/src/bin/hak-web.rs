//! An allocator from `specs/web.toml`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../../specs/web.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
