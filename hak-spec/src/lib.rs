//! Reads and checks hak's spec language: TOML in, a checked model out.
//!
//! ```text
//! text ─► load: file and bases ─► read: shape, by `keys` ─► raw: as written, merged
//!      ─► rules: meaning ─► classes, checks, terms: counts resolved ─► Spec
//! ```
//!
//! Every problem of a spec is found in one go; [`Report`] holds them in source order.
//!
//! ```
//! let spec = hak_spec::parse("schema = 1\nclasses.sizes = [16, 64]", "demo.toml", "Demo", None)?;
//! assert_eq!((spec.name.as_str(), spec.classes.len()), ("Demo", 2));
//! # Ok::<(), hak_spec::Report>(())
//! ```

mod check;
mod checks;
mod classes;
#[cfg(feature = "describe")]
pub mod describe;
mod file;
pub mod keys;
mod load;
mod names;
mod problem;
mod raw;
mod read;
mod rules;
mod shipped;
mod source;
mod spec;
mod terms;
mod units;
mod words;

pub use load::{load, load_as, parse};
pub use names::{is_identifier, type_name};
pub use problem::{Problem, Report};
pub use shipped::shipped;
pub use spec::*;
