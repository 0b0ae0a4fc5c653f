//! The price list: what each choice of a spec costs per alloc and dealloc.
//!
//! `cargo run --release --example price_list -- --write docs/price-list.md` takes all figures and
//! writes the page; `-- --help` lists the options. Every allocator of the list is compiled into
//! this one program and called through `GlobalAlloc`, as a program would call it.
//!
//! | file | what is in it |
//! |---|---|
//! | `options.rs` | the command line |
//! | `variants.rs` | the rows: each a spec, and the allocator made from it |
//! | `subject.rs` | what is needed of an allocator to be a row |
//! | `script.rs` | the requests: drawn before anything is counted or timed |
//! | `probes.rs` | functions of one request each, for counting |
//! | `counting.rs` | the run under callgrind: every probe in turn |
//! | `callgrind.rs` | starts that run, and reads what it counted |
//! | `kernels.rs` | loops, for timing |
//! | `timing.rs` | rounds over all kernels, and ratios |
//! | `machine.rs` | what the figures were taken on |
//! | `table.rs`, `page.rs` | a table, and the page |

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use options::Options;
use page::Page;
use variants::Variant;

mod callgrind;
mod counting;
mod kernels;
mod machine;
mod options;
mod page;
mod probes;
mod script;
mod subject;
mod table;
mod timing;
mod variants;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let rows = variants::select(options.only())?;
    if options.is_counted_run() {
        counting::run(&rows);
        return Ok(());
    }
    let text = take(options, rows)?.to_string();
    match options.file() {
        Some(path) => fs::write(path, text)
            .map_err(|error| format!("could not write `{}`: {error}", path.display())),
        None => std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| format!("could not write to stdout: {error}")),
    }
}

/// Takes the figures that the options ask for.
fn take(options: &Options, rows: Vec<&'static Variant>) -> Result<Page, String> {
    let mut counts = None;
    let mut valgrind = None;
    if options.counts() {
        valgrind = callgrind::version();
        if valgrind.is_some() {
            eprintln!("counting {} allocators under callgrind", rows.len());
            counts = Some(callgrind::count(&rows)?);
        } else if options.times() {
            eprintln!("nothing is counted: {}", callgrind::MISSING);
        } else {
            return Err(callgrind::MISSING.to_owned());
        }
    }
    let times = options.times().then(|| timing::time(&rows, options.rounds()));
    let machine = options.machine().map_or_else(machine::describe, str::to_owned);
    let wants_counts = options.counts();
    Ok(Page { rows, machine, valgrind, wants_counts, counts, times })
}
