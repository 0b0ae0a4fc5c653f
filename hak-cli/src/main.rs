//! The `hak` command: check a spec, show what it becomes and what that costs.
//!
//! Data goes to stdout, talk to stderr. Exit status: 0 all is well, 1 something was found that is
//! not, 2 the command could not do its work.

mod args;
mod check;
mod expand;
mod format;
mod inspect;
mod source;
mod status;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};

fn main() -> ExitCode {
    let status = match Args::parse().command {
        Command::Check(args) => check::run(&args),
        Command::Expand(args) => expand::run(&args),
        Command::Inspect(args) => inspect::run(&args),
    };
    status.into()
}
