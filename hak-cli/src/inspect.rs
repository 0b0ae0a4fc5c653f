//! `hak inspect`: which instructions a request takes, and what a spec costs.
//!
//! ```text
//! spec ─► package ─► cargo ─► executable ─► binary: functions, names, thread-local storage
//!                                 └─ run ─► trace: the instructions that ran
//! binary + trace ─► origin: what registers hold ─► branch: what is tested ─► report ─► text, JSON
//! ```
//!
//! A hit path is not guessed from the code: the program runs it, a step at a time, and notes where
//! it was.

mod binary;
mod branch;
mod cold;
mod columns;
mod costs;
mod hak_source;
mod names;
mod origin;
mod package;
mod path;
mod program;
mod report;
mod text;
mod trace;

use std::fmt::Write as _;
use std::path::Path;

use hak_spec::{CANARY_BYTES, Spec};

use crate::args::Inspect;
use crate::source::{self, Problems};
use crate::status::{self, Status, fail};
use hak_source::HakSource;
use report::{Inspected, Report};

/// Why something could not be done, in the words of an error message.
type Result<T> = std::result::Result<T, String>;

pub(crate) fn run(args: &Inspect) -> Status {
    let (mut specs, mut problems, mut worst) = (Vec::new(), Problems::default(), Status::Fine);
    for path in &args.specs {
        match source::load(path) {
            Ok(spec) => specs.push((path, spec)),
            Err(report) => worst = worst.max(problems.show(&report)),
        }
    }
    if worst != Status::Fine {
        return worst;
    }
    let inspected: Result<Vec<_>> = HakSource::find(args.hak.as_deref())
        .and_then(|hak| specs.iter().map(|(path, spec)| inspect(path, spec, &hak)).collect());
    match inspected.and_then(|specs| show(&Report::new(specs), args)) {
        Ok(text) => status::print(&text),
        Err(why) => fail(why),
    }
}

fn inspect(origin: &Path, spec: &Spec, hak: &HakSource) -> Result<Inspected> {
    let program = program::build(origin, spec, hak)?;
    let binary = binary::Binary::read(&program.executable)?;
    let runs = trace::read(&program.run()?, &binary)?;
    let paths = runs.iter().map(|run| path::report(run, &binary, spec)).collect();
    let costs = costs::of(spec, &binary);
    Ok(Inspected::new(origin, spec, program.bytes, paths, costs))
}

/// Bytes that each request grows by before its class is chosen.
fn canary_bytes(spec: &Spec) -> u32 {
    if spec.checks.canary { CANARY_BYTES } else { 0 }
}

fn show(report: &Report, args: &Inspect) -> Result<String> {
    if !args.json {
        return Ok(text::text(report, args.listing));
    }
    let mut text = serde_json::to_string_pretty(report).map_err(|error| error.to_string())?;
    let _ = writeln!(text);
    Ok(text)
}
