//! The size of a program's code.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSection};

use crate::failure::Failure;

/// Bytes of a program's section `.text`.
pub(crate) fn bytes(program: &Path) -> Result<u64, Failure> {
    let shown = program.display();
    let file =
        fs::read(program).map_err(|error| Failure::could_not(format!("read {shown}"), error))?;
    let sections = object::File::parse(&*file)
        .map_err(|error| Failure::Failed(format!("{shown} is not a program: {error}")))?;
    let text = sections.section_by_name(".text").map(|section| section.size());
    text.ok_or_else(|| Failure::Failed(format!("{shown} has no section `.text`")))
}
