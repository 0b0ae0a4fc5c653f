//! The end of a kernel that cannot be carried out.

use std::fmt::Display;
use std::process;

/// Says why on stderr, and ends the process with exit code 1.
pub(super) fn stop(why: impl Display) -> ! {
    eprintln!("error: {why}");
    process::exit(1)
}
