//! Reading one file, and what to say when that fails.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::problem::absolute;
use crate::units;
use crate::words::nearest;

/// Bytes of a spec at most, far more than anyone writes.
const TEXT_BYTES_MAX: u64 = 128 << 10;

/// Why a file could not be read.
pub(crate) struct Unreadable {
    pub(crate) why: String,
    missing: bool,
}

impl Unreadable {
    fn new(why: impl Into<String>) -> Unreadable {
        Unreadable { why: why.into(), missing: false }
    }

    /// Ways out: where was looked, and what may have been meant.
    pub(crate) fn help(&self, path: &Path, name: &str) -> Vec<String> {
        let guess = if self.missing { siblings_like(path, name) } else { None };
        self.where_to_look(path, name).into_iter().chain(guess).collect()
    }

    /// The path that was tried, and the folder that a relative one starts from.
    fn where_to_look(&self, path: &Path, name: &str) -> Option<String> {
        let path = absolute(path);
        let shown = path.display();
        if !self.missing || name.is_empty() {
            return (path != Path::new(name)).then(|| format!("the path is `{shown}`"));
        }
        match root_of(&path, Path::new(name)) {
            Some(root) => {
                Some(format!("looked for `{shown}`: paths start from `{}`", root.display()))
            }
            None => Some(format!("looked for `{shown}`")),
        }
    }
}

/// `/a/b/specs/web.toml` was written as `specs/web.toml`: it starts from `/a/b`.
fn root_of(path: &Path, name: &Path) -> Option<PathBuf> {
    let written: Vec<Component<'_>> =
        name.components().filter(|part| *part != Component::CurDir).collect();
    let is_tail = path.ends_with(written.iter().collect::<PathBuf>());
    (name.is_relative() && is_tail)
        .then(|| path.ancestors().nth(written.len()))?
        .map(Path::to_owned)
}

/// The text of a file.
pub(crate) fn open(path: &Path) -> Result<String, Unreadable> {
    if path.is_dir() {
        return Err(Unreadable::new("it is a folder, not a file"));
    }
    let mut bytes = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Unreadable { why: "there is no such file".to_owned(), missing: true })
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Unreadable::new("permission denied"))
        }
        Err(error) => Err(Unreadable::new(error.to_string())),
        Ok(_) if bytes.len() as u64 > TEXT_BYTES_MAX => {
            let max = units::show(TEXT_BYTES_MAX);
            Err(Unreadable::new(format!("a spec has at most {max}, this file has more")))
        }
        Ok(_) => String::from_utf8(bytes).map_err(|error| not_utf8(error.as_bytes())),
    }
}

fn not_utf8(bytes: &[u8]) -> Unreadable {
    let valid = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    let line = bytes[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
    let byte = bytes.get(valid).copied().unwrap_or_default();
    Unreadable::new(format!("it is not UTF-8: byte 0x{byte:02x} in line {line}"))
}

/// Files in the same folder that may have been meant.
fn siblings_like(path: &Path, name: &str) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let entries = fs::read_dir(absolute(path).parent()?).ok()?;
    let names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml") && name != wanted)
        .collect();
    let guess = nearest(wanted, names.iter().map(String::as_str))?;
    let guess = Path::new(name).with_file_name(guess);
    Some(format!("did you mean `{}`?", guess.display()))
}
