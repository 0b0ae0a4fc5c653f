//! The `hak` command: check a spec, show what it becomes and what that costs, and make a library of
//! it for programs in C and C++.
//!
//! Data goes to stdout, talk to stderr. Exit status: 0 all is well, 1 something was found that is
//! not, 2 the command could not do its work.

mod args;
mod build;
mod cache;
mod check;
mod expand;
mod format;
mod inspect;
mod library;
mod run;
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
        Command::Build(args) => build::run(&args),
        Command::Run(args) => return run::run(&args),
    };
    status.into()
}
