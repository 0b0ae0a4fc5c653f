//! A spec as it is named on the command line: a file, or a shipped one.

use std::path::Path;

use hak_spec::{Report, Spec};

use crate::status::{Status, tell};

/// Reads and checks a spec. A shipped spec's name comes before a file of that name, as in
/// `extends`; `./general` is the file.
pub(crate) fn load(path: &Path) -> Result<Spec, Report> {
    let Some((name, text)) = shipped(path) else { return hak_spec::load(path) };
    hak_spec::parse(text, name, &hak_spec::type_name(Path::new(name)), None)
}

/// Shows the problems of several specs, an empty line between two problems.
#[derive(Default)]
pub(crate) struct Problems {
    any: bool,
}

impl Problems {
    /// Shows those of one spec. A file that could not be read at all is a failure.
    pub(crate) fn show(&mut self, report: &Report) -> Status {
        if self.any {
            tell("");
        }
        self.any = true;
        tell(report);
        if report.files().is_empty() { Status::Failed } else { Status::Found }
    }
}

fn shipped(path: &Path) -> Option<(&'static str, &'static str)> {
    let mut all = hak_spec::shipped().iter().copied();
    all.find(|(name, _)| path.as_os_str() == *name)
}
