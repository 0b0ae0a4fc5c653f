//! Meaning: one rule, one function, one sentence. Each has a case of its name in `tests/reject`.

mod cache;
mod checks;
mod classes;
mod layers;
mod memory;
mod stats;

pub(crate) use cache::*;
pub(crate) use checks::*;
pub(crate) use classes::*;
pub(crate) use layers::*;
pub(crate) use memory::*;
pub(crate) use stats::*;

use crate::names::is_identifier;
use crate::problem::{At, Problems};
use crate::raw::Raw;
use crate::words::shown;

/// A spec needs a type name: its own, or one its file's stem yields.
pub(crate) fn name_is_given(raw: &Raw, problems: &mut Problems) {
    if raw.name.is_none() && !is_identifier(&raw.default_name) {
        let start = At { file: 0, span: 0..0 };
        let message = "`allocator.name` is missing, and the file's name yields no Rust type name";
        problems.add(Some(&start), message).help("say it: `allocator.name = \"MyAllocator\"`");
    }
}

/// `allocator.name` is a Rust identifier and not a keyword.
pub(crate) fn name_is_an_identifier(raw: &Raw, problems: &mut Problems) {
    let Some(Some(name)) = &raw.name else { return };
    if !is_identifier(&name.value) {
        let message = format!("`{}` cannot be the name of a Rust type", shown(&name.value));
        let draft = problems.add(name.at.as_ref(), message);
        draft.help("use ASCII letters, digits and `_`, no digit first, no keyword, as in `WebApi`");
    }
}

/// `allocator.summary` is one line.
pub(crate) fn summary_is_one_line(raw: &Raw, problems: &mut Problems) {
    let Some(summary) = &raw.summary else { return };
    if summary.value.contains(char::is_control) {
        let message = "`allocator.summary` is more than one line of plain text";
        let draft = problems.add(summary.at.as_ref(), message);
        draft.help("say it in one sentence; the rest fits in a comment");
    }
}
