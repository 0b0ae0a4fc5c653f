//! What may be typed. The doc comments are the help texts.

use std::ffi::OsString;
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
    Build(Build),
    Run(Run),
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

const RUN_STATUS: &str = "\
Exit status: that of the command; 1 the spec has problems, 2 there is no library, 126 the command
cannot be started, 127 it is not there";

/// Make a library for programs in C and C++ from a spec
///
/// The shared library replaces the C library's `malloc` and its like, and the operators `new` and
/// `delete`, in any dynamically linked program that it is loaded into first, by `LD_PRELOAD` or
/// `hak run`; or link your program with either library. It is built by cargo, once for each spec,
/// and kept in `$XDG_CACHE_HOME/hak/c`.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
pub(crate) struct Build {
    /// A file, or the name of a shipped spec: general, web, batch, parallel, tiny, hardened
    #[arg(value_name = "SPEC")]
    pub(crate) spec: PathBuf,

    /// Write the shared library to FILE [default: libhak_NAME.so, unless --static is given]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the static library to FILE
    #[arg(long = "static", value_name = "FILE")]
    pub(crate) archive: Option<PathBuf>,
}

/// Run a command on an allocator from a spec
///
/// Builds the library of the spec if that was not done, and starts the command with it in
/// `LD_PRELOAD`, before what is there. All that the command starts runs on it, too.
#[derive(Debug, clap::Args)]
#[command(after_help = RUN_STATUS)]
pub(crate) struct Run {
    /// A file, or the name of a shipped spec: general, web, batch, parallel, tiny, hardened
    #[arg(value_name = "SPEC")]
    pub(crate) spec: PathBuf,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
