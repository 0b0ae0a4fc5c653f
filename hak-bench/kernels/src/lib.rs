//! What `hak-bench` runs on each allocator.
//!
//! A *kernel* is one pattern of requests or one real program, with inputs that depend on its
//! parameters alone. A *subject* is a program that has all kernels and one global allocator:
//! `hak-bench-peers` has a subject for each peer, and each is no more than the allocator's
//! declaration and a call of [`main`].
//!
//! | module | what is in it |
//! |---|---|
//! | `kernel` | what a kernel is: name, parameters, what it reports |
//! | `listed` | a kernel as a subject tells of it |
//! | `measure` | the timed part |
//! | `usage` | what the process used of the machine |
//! | `subject` | a subject's command line and its report |
//! | `random`, `block` | numbers from a seed; one allocation of a size known at run time only |
//! | `patterns` | kernels of one thread |
//! | `threads` | kernels of several threads |
//! | `programs` | kernels that run real code (feature `programs`) |

mod block;
mod kernel;
mod listed;
mod measure;
mod patterns;
#[cfg(feature = "programs")]
mod programs;
mod random;
mod subject;
mod threads;
mod usage;

pub use kernel::{Group, Kernel, Parameter};
pub use listed::{Listed, ListedParameter};
pub use measure::MEASURED_SYMBOL;
pub use subject::{Outcome, main};

/// All kernels, in the order of the tables.
pub fn kernels() -> Vec<Kernel> {
    let groups = [
        patterns::kernels(),
        threads::kernels(),
        #[cfg(feature = "programs")]
        programs::kernels(),
    ];
    groups.concat()
}
