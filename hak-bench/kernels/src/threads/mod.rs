//! Kernels of several threads.

mod churn;
mod false_sharing;
mod idle_after_burst;
mod larson;
mod ring;
mod swap;
mod team;
mod xmalloc;

use crate::kernel::Kernel;

pub(crate) fn kernels() -> Vec<Kernel> {
    vec![
        larson::KERNEL,
        xmalloc::KERNEL,
        ring::KERNEL,
        swap::KERNEL,
        false_sharing::ACTIVE,
        false_sharing::PASSIVE,
        churn::KERNEL,
        idle_after_burst::KERNEL,
    ]
}
