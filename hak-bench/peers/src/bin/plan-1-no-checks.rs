//! An allocator from `hak-bench/specs/plan/plan-1-no-checks.toml`: a step of `hak-bench plan`.

use std::process::ExitCode;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "../specs/plan/plan-1-no-checks.toml"
);

fn main() -> ExitCode {
    hak_bench_kernels::main()
}
