//! A program whose every allocation is made by a generated allocator, started with little address
//! space.

#[path = "support/child.rs"]
mod child;
#[path = "support/limited.rs"]
mod limited;
#[path = "support/system.rs"]
mod system;

use std::collections::{BTreeMap, HashMap};

use hak::hak_allocator;
use system::{GIB, MIB};

hak_allocator!(
    #[global_allocator]
    static ALLOCATOR = "specs/general.toml"
);

/// What a program does: collections that grow, strings, a thread.
fn program() {
    let mut names: HashMap<String, Vec<usize>> = HashMap::new();
    for number in 0..20_000_usize {
        names.entry(format!("name {}", number % 1000)).or_default().push(number);
    }
    assert!(names.values().all(|numbers| numbers.len() == 20));
    let sorted: BTreeMap<_, _> = names.iter().collect();
    assert_eq!(sorted.len(), 1000);
    let ones = std::thread::spawn(|| vec![1u8; 3 * MIB]).join().unwrap();
    assert!(ones.iter().all(|&one| one == 1));
}

#[test]
fn a_program_works_within_64_mib() {
    limited::run(64 * MIB, "a_program_works_within_64_mib", program);
}

#[test]
fn a_program_works_within_256_mib() {
    limited::run(256 * MIB, "a_program_works_within_256_mib", program);
}

#[test]
fn a_program_works_within_1_gib() {
    limited::run(GIB, "a_program_works_within_1_gib", program);
}

#[test]
fn a_program_works_within_8_gib() {
    limited::run(8 * GIB, "a_program_works_within_8_gib", program);
}

/// A vector that cannot grow has its contents, can be read, and is dropped as ever.
#[test]
fn a_vector_that_cannot_grow_is_intact() {
    limited::run(256 * MIB, "a_vector_that_cannot_grow_is_intact", || {
        for step in [1, 100, 5000, 100_000, 1_000_000] {
            let mut numbers: Vec<usize> = Vec::new();
            while numbers.try_reserve_exact(step).is_ok() {
                let next = numbers.len();
                // Some of each step is written, so that it is quick.
                numbers.resize(next + step.min(400_000), next);
            }
            println!("{} MiB by steps of {step}", numbers.len() * 8 / MIB);
            assert!(numbers.len() * 8 > 50 * MIB);
            let intact = (0..numbers.len()).step_by(step).all(|at| numbers[at] <= at);
            assert!(intact, "contents changed");
            numbers.truncate(10);
            numbers.shrink_to_fit();
            assert_eq!(numbers.len(), 10);
        }
        // And there is room again.
        assert_eq!(vec![7u8; 30 * MIB][15 * MIB], 7);
    });
}
