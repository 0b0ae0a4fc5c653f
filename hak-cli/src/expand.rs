//! `hak expand`: the code that a spec becomes.

use std::fs;
use std::path::Path;

use hak_codegen::Target;
use hak_spec::Spec;

use crate::args::Expand;
use crate::format::format;
use crate::source::{self, Problems};
use crate::status::{self, Status, fail, tell};

pub(crate) fn run(args: &Expand) -> Status {
    let spec = match source::load(&args.spec) {
        Ok(spec) => spec,
        Err(report) => return Problems::default().show(&report),
    };
    let code = code(&spec, &args.spec);
    match (&args.check, &args.output) {
        (Some(file), _) => check(&code, &args.spec, file),
        (None, Some(file)) => write(&code, file),
        (None, None) => status::print(&code),
    }
}

fn code(spec: &Spec, origin: &Path) -> String {
    let target = Target::plain(&origin.to_string_lossy());
    format(hak_codegen::expand(spec, &target)).expect("generated code is Rust")
}

fn write(code: &str, file: &Path) -> Status {
    match fs::write(file, code) {
        Ok(()) => Status::Fine,
        Err(error) => fail(format_args!("cannot write `{}`: {error}", file.display())),
    }
}

fn check(code: &str, spec: &Path, file: &Path) -> Status {
    let (spec, shown) = (spec.display(), file.display());
    let found = match fs::read_to_string(file) {
        Ok(found) => found,
        Err(error) => return fail(format_args!("cannot read `{shown}`: {error}")),
    };
    let Some((line, expected, found)) = first_difference(code, &found) else {
        return Status::Fine;
    };
    tell(format_args!("error: `{shown}` is not what `{spec}` becomes"));
    tell(format_args!("  --> {shown}:{line}"));
    tell(format_args!("   = note: expected {}", quoted(expected)));
    tell(format_args!("   = note: found    {}", quoted(found)));
    tell(format_args!("   = help: write it anew: hak expand {spec} -o {shown}"));
    Status::Found
}

/// Number of the first line that differs, and what it is; `None` behind the last line.
type Difference<'t> = (usize, Option<&'t str>, Option<&'t str>);

fn first_difference<'t>(expected: &'t str, found: &'t str) -> Option<Difference<'t>> {
    if expected == found {
        return None;
    }
    let (mut expected, mut found) = (expected.split('\n'), found.split('\n'));
    let mut line = 1;
    loop {
        match (expected.next(), found.next()) {
            (Some(expected), Some(found)) if expected == found => line += 1,
            (expected, found) => return Some((line, expected, found)),
        }
    }
}

fn quoted(line: Option<&str>) -> String {
    line.map_or_else(|| "end of file".to_owned(), |line| format!("`{line}`"))
}
