//! What may be typed. The doc comments are the help texts.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const STATUS: &str = "\
Exit status: 0 all is well, 1 a spec has problems or a file differs, 2 could not run";

/// A TOML file becomes a memory allocator
#[derive(Debug, Parser)]
#[command(name = "hak", version, after_help = STATUS, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Expand(Expand),
}

/// Say what is wrong with specs, or that nothing is
///
/// A line for each good spec goes to stdout; all problems of all others go to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
pub(crate) struct Check {
    /// Files, or names of shipped specs: general, web, tiny, hardened
    #[arg(required = true, value_name = "SPEC")]
    pub(crate) specs: Vec<PathBuf>,
}

/// Show the Rust code that a spec becomes
///
/// It is what `hak::hak_allocator!` declares, formatted, as a public type.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
pub(crate) struct Expand {
    /// A file, or the name of a shipped spec: general, web, tiny, hardened
    #[arg(value_name = "SPEC")]
    pub(crate) spec: PathBuf,

    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write nothing; fail when FILE differs from the code
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) check: Option<PathBuf>,
}
