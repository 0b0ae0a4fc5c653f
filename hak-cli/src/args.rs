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
    Inspect(Inspect),
}

/// Say what is wrong with specs, or that nothing is
///
/// A line for each good spec goes to stdout; all problems of all others go to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
pub(crate) struct Check {
    /// Files, or names of shipped specs: general, web, batch, parallel, tiny, hardened
    #[arg(required = true, value_name = "SPEC")]
    pub(crate) specs: Vec<PathBuf>,
}

/// Show the Rust code that a spec becomes
///
/// It is what `hak::hak_allocator!` declares, formatted, as a public type.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
pub(crate) struct Expand {
    /// A file, or the name of a shipped spec: general, web, batch, parallel, tiny, hardened
    #[arg(value_name = "SPEC")]
    pub(crate) spec: PathBuf,

    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write nothing; fail when FILE differs from the code
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) check: Option<PathBuf>,
}

/// Show which branches a request takes, and what a spec costs
///
/// Builds a small program on the allocator and lets it step through its hit paths. Prints the
/// classes, the instructions and branches of each hit path, and bytes per thread and superslab; for
/// two specs side by side. What is built is kept in `$XDG_CACHE_HOME/hak/inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
pub(crate) struct Inspect {
    /// One or two files, or names of shipped specs: general, web, batch, parallel, tiny, hardened
    #[arg(required = true, num_args = 1..=2, value_name = "SPEC")]
    pub(crate) specs: Vec<PathBuf>,

    /// Print JSON; its keys are described in docs/inspect.md
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the instructions of each hit path too
    #[arg(long, conflicts_with = "json")]
    pub(crate) listing: bool,

    /// Build on the checkout of hak in PATH; also the environment variable HAK_SOURCE
    #[arg(long, value_name = "PATH")]
    pub(crate) hak: Option<PathBuf>,
}
