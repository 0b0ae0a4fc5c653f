//! Kernels of one thread.

mod aligned;
mod burst;
mod huge;
mod list;
mod pair;
pub(crate) mod random_mixed;
mod realloc_growth;

use crate::kernel::Kernel;

pub(crate) fn kernels() -> Vec<Kernel> {
    vec![
        pair::KERNEL,
        burst::KERNEL,
        random_mixed::KERNEL,
        random_mixed::LARGE,
        random_mixed::UP_TO_8K,
        random_mixed::UP_TO_32K,
        list::KERNEL,
        realloc_growth::KERNEL,
        aligned::KERNEL,
        huge::KERNEL,
    ]
}
