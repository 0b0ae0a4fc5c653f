//! An allocator from `hak-bench/specs/plan/plan-0-all-wrong.toml`: a step of `hak-bench plan`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../specs/plan/plan-0-all-wrong.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
