//! A kernel does the same work each time: what it tells depends on its parameters alone.

use hak_bench_kernels::{Group, Kernel, Parameter, kernels};

/// Patterns of requests; real programs have inputs of their own, and a test of their own.
fn patterns() -> impl Iterator<Item = Kernel> {
    kernels().into_iter().filter(|kernel| kernel.group != Group::Program)
}

/// Parameters for a short run.
fn few(kernel: &Kernel) -> Vec<u64> {
    let few = |parameter: &Parameter| match parameter.name {
        "seed" | "threads" => parameter.default,
        _ => parameter.default.min(30),
    };
    kernel.parameters.iter().map(few).collect()
}

/// What a run tells but for its time.
fn told(kernel: &Kernel, numbers: &[u64]) -> (u64, u64) {
    let measured = (kernel.run)(numbers);
    (measured.operations, measured.checksum)
}

#[test]
fn two_runs_tell_the_same() {
    for kernel in patterns() {
        let numbers = few(&kernel);
        assert_eq!(told(&kernel, &numbers), told(&kernel, &numbers), "{}", kernel.name);
    }
}

#[test]
fn the_first_parameter_says_how_much_is_done() {
    for kernel in patterns() {
        let numbers = few(&kernel);
        let mut fewer = numbers.clone();
        fewer[0] -= 1;
        let ((all, sum), (part, part_sum)) = (told(&kernel, &numbers), told(&kernel, &fewer));
        assert_eq!(all / numbers[0], part / fewer[0], "operations of {}", kernel.name);
        assert_ne!(sum, part_sum, "checksum of {}", kernel.name);
    }
}

#[test]
fn defaults_are_within_bounds() {
    for kernel in patterns() {
        for Parameter { name, default, least, most } in kernel.parameters {
            assert!((least..=most).contains(&default), "`{name}` of {}", kernel.name);
        }
    }
}

#[test]
fn names_differ() {
    let mut names: Vec<_> = kernels().iter().map(|kernel| kernel.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
