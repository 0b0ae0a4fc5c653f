//! What the runtime itself keeps of each thread: its number, and whether it is ending.
//!
//! In a Rust program that is the compiler's thread-local storage. A library with the C interface
//! has one pointer in each thread, to all that the thread has; see `pointer`.

#[cfg(feature = "c")]
mod pointer;
#[cfg(not(feature = "c"))]
mod variables;

#[cfg(feature = "c")]
pub use pointer::{Here, here};
#[cfg(feature = "c")]
pub(crate) use pointer::{
    Stage, begin_ending, forget_number, id, is_ending, leave, number, set_here, stage,
};
#[cfg(not(feature = "c"))]
pub(crate) use variables::*;
