//! `hak check`: what is wrong with specs, or that nothing is.

use std::fmt::Write as _;

use hak_spec::Spec;

use crate::args::Check;
use crate::source::{self, Problems};
use crate::status::{self, Status};

pub(crate) fn run(args: &Check) -> Status {
    let mut problems = Problems::default();
    let (mut good, mut worst) = (String::new(), Status::Fine);
    for path in &args.specs {
        match source::load(path) {
            Ok(spec) => {
                let _ = writeln!(good, "{}: {}", path.display(), summary(&spec));
            }
            Err(report) => worst = worst.max(problems.show(&report)),
        }
    }
    worst.max(status::print(&good))
}

/// `ok, 40 classes, 16 B to 32 KiB`
fn summary(spec: &Spec) -> String {
    let (first, last) =
        (size(spec.classes[0].bytes), size(spec.classes[spec.classes.len() - 1].bytes));
    match spec.classes.len() {
        1 => format!("ok, 1 class, {first}"),
        count => format!("ok, {count} classes, {first} to {last}"),
    }
}

/// A size in the largest unit that divides it.
fn size(bytes: u32) -> String {
    if bytes.is_multiple_of(1 << 10) {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{bytes} B")
    }
}
