//! Kernels that run real code.
//!
//! Each is one file with one library at work, or the collections of the standard library. Their
//! inputs are made from a seed (`text`), or are the repository's own files (`repository`), and are
//! ready before the time is taken. What they make is dropped within it.

mod btree;
mod hashmap;
mod html;
mod json;
mod markdown;
mod query;
mod regex;
mod repository;
mod sql;
mod stop;
mod strings;
mod syn;
mod text;
mod tokio;
mod web;

use crate::kernel::Kernel;

pub(crate) fn kernels() -> Vec<Kernel> {
    vec![
        json::KERNEL,
        regex::KERNEL,
        markdown::KERNEL,
        html::KERNEL,
        sql::KERNEL,
        query::KERNEL,
        syn::KERNEL,
        btree::KERNEL,
        hashmap::KERNEL,
        strings::KERNEL,
        tokio::KERNEL,
        web::KERNEL,
    ]
}

#[cfg(test)]
mod tests {
    use super::kernels;
    use crate::kernel::Kernel;

    /// One pass, or a few hundred operations.
    fn short(kernel: &Kernel) -> Vec<u64> {
        let mut parameters = kernel.defaults();
        parameters[0] = if kernel.parameters[0].name == "passes" { 1 } else { 300 };
        if let Some(size) = parameters.get_mut(1).filter(|_| kernel.parameters[1].name != "seed") {
            *size = 200;
        }
        parameters
    }

    #[test]
    fn a_kernel_does_the_same_in_every_run() {
        for kernel in kernels() {
            let runs = [(); 2].map(|()| (kernel.run)(&short(&kernel)));
            let [first, second] = runs.map(|measured| (measured.operations, measured.checksum));
            assert_eq!(first, second, "{}", kernel.name);
            assert!(first.0 > 0 && first.1 > 0, "{}", kernel.name);
        }
    }

    #[test]
    fn nothing_to_do_is_done() {
        for kernel in kernels() {
            for index in 0..kernel.parameters.len() {
                let mut parameters = short(&kernel);
                parameters[index] = 0;
                let operations = (kernel.run)(&parameters).operations;
                assert!(operations == 0 || index > 0, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn another_seed_is_another_input() {
        for kernel in kernels() {
            let parameters = kernel.parameters;
            let Some(seed) = parameters.iter().position(|it| it.name == "seed") else { continue };
            let mut other = short(&kernel);
            other[seed] += 1;
            let checksums = [short(&kernel), other].map(|it| (kernel.run)(&it).checksum);
            assert_ne!(checksums[0], checksums[1], "{}", kernel.name);
        }
    }
}
