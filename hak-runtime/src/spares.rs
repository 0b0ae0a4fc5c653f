//! What stands behind a bin or a list, on its thread: parcels that wait to be loaded.
//!
//! A fixed number of them, or one that follows the misses (`adaptive`); full magazines, or chains.

mod bound;
mod chains;
mod magazines;
mod one;

pub(crate) use bound::Bound;
pub use bound::{Adaptive, AtMost};
pub use chains::Chains;
pub(crate) use magazines::MagazineSpares;
pub use magazines::Magazines;
pub(crate) use one::OneSpare;
