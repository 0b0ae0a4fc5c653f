//! From a file, or a text, to a checked spec: reads it and the bases it extends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::check::check;
use crate::classes;
use crate::file::open;
use crate::names::type_name;
use crate::problem::{At, Located, Problems, Report, absolute};
use crate::raw::{Raw, Value, Written};
use crate::read::read;
use crate::shipped::shipped;
use crate::source::Source;
use crate::spec::Spec;
use crate::words::{nearest, shown};

/// Reads and checks the spec in a file.
pub fn load(path: &Path) -> Result<Spec, Report> {
    load_as(path, &path.to_string_lossy())
}

/// Like [`load`], with the file's name in messages given apart from where it is.
pub fn load_as(path: &Path, name: &str) -> Result<Spec, Report> {
    let mut chain = Chain::default();
    match open(path) {
        Ok(text) => {
            let path = absolute(path);
            let type_name = type_name(&path);
            let source = Source::of_file(name.to_owned(), text, path);
            chain.read_all(source);
            chain.check(&type_name)
        }
        Err(error) => {
            let message = format!("cannot read `{name}`: {}", error.why);
            chain.problems.add(None, message).helps(error.help(path, name));
            Err(chain.problems.report(&[]))
        }
    }
}

/// Checks the spec in `text`. Messages call it `name`; a spec without `allocator.name` declares
/// the type `type_name`; `extends = "base.toml"` looks in `dir`.
pub fn parse(text: &str, name: &str, type_name: &str, dir: Option<&Path>) -> Result<Spec, Report> {
    let mut chain = Chain::default();
    let dir = dir.map(absolute);
    chain.read_all(Source { name: name.to_owned(), text: text.into(), path: None, dir });
    chain.check(type_name)
}

/// A spec and its bases, nearest first.
#[derive(Default)]
struct Chain {
    sources: Vec<Source>,
    written: Written,
    problems: Problems,
    /// A file of the chain could not be read or is no TOML: nothing is known about the whole.
    has_gap: bool,
}

impl Chain {
    fn read_all(&mut self, first: Source) {
        let mut next = Some(first);
        while let Some(source) = next {
            next = self.read_one(source);
        }
    }

    /// Reads one file; gives back the base it extends.
    fn read_one(&mut self, source: Source) -> Option<Source> {
        let (text, file) = (source.text.clone(), self.sources.len());
        self.sources.push(source);
        let Some(written) = read(&text, file, &mut self.problems) else {
            self.has_gap = true;
            return None;
        };
        let extends = written.values.get("extends").cloned();
        match file {
            0 => self.written = written,
            _ => self.written.inherit(written),
        }
        let Located { value: Value::Text(base), at: Some(at) } = extends? else {
            self.has_gap = true;
            return None;
        };
        let opened = self.open_base(&base, &at);
        self.has_gap |= opened.is_none();
        opened
    }

    fn open_base(&mut self, base: &str, at: &At) -> Option<Source> {
        let source = if is_file_name(base) {
            self.open_file(base, at)?
        } else {
            self.open_shipped(base, at)?
        };
        let same = self.sources.iter().position(|known| known.is_same(&source));
        let Some(first) = same else { return Some(source) };
        let names: Vec<&str> = self.sources[first..].iter().map(|s| s.name.as_str()).collect();
        let circle = format!("{} -> {}", names.join(" -> "), source.name);
        let draft = self.problems.add(Some(at), format!("`extends` runs in a circle: {circle}"));
        draft.help("leave `extends` out of one of them");
        None
    }

    fn open_shipped(&mut self, base: &str, at: &At) -> Option<Source> {
        if let Some((name, text)) = shipped().iter().find(|(name, _)| *name == base) {
            let name = format!("{name}.toml (shipped with hak)");
            return Some(Source { name, text: (*text).into(), path: None, dir: None });
        }
        let message = format!("no shipped spec is called `{}`", shown(base));
        let draft = self.problems.add(Some(at), message);
        let guess = nearest(base, shipped().iter().map(|(name, _)| *name));
        draft.helps(guess.map(|guess| format!("did you mean `{guess}`?")));
        draft.help(format!("shipped specs: {}", shipped_names()));
        draft.help("a file beside this one is named with its ending: `extends = \"base.toml\"`");
        None
    }

    fn open_file(&mut self, base: &str, at: &At) -> Option<Source> {
        let parent = &self.sources[at.file];
        let Some(dir) = &parent.dir else {
            let message = format!("no folder is known in which to look for `{}`", shown(base));
            let draft = self.problems.add(Some(at), message);
            draft.help("a spec that is not a file itself can extend shipped specs only");
            draft.help(format!("shipped specs: {}", shipped_names()));
            return None;
        };
        let (path, name) = (dir.join(base), beside(&parent.name, base, parent.path.is_some()));
        match open(&path) {
            Ok(text) => Some(Source::of_file(name, text, absolute(&path))),
            Err(error) => {
                let message = format!("cannot read `{}`: {}", shown(base), error.why);
                let draft = self.problems.add(Some(at), message).helps(error.help(&path, base));
                draft.help(format!("shipped specs are named without ending: {}", shipped_names()));
                None
            }
        }
    }

    /// Checks the meaning of what was read, unless a part of it is missing.
    fn check(mut self, default_name: &str) -> Result<Spec, Report> {
        let raw = Raw::new(&self.written, default_name);
        let sizes = if self.has_gap { None } else { check(&raw, &mut self.problems) };
        let files = self.sources.iter().filter_map(|source| source.path.clone()).collect();
        let spec = sizes.and_then(|sizes| classes::resolve(&raw, &sizes, files));
        match spec {
            Some(spec) if self.problems.len() == 0 => Ok(spec),
            _ => Err(self.problems.report(&self.sources)),
        }
    }
}

impl Source {
    fn of_file(name: String, text: String, path: PathBuf) -> Source {
        let dir = path.parent().map(Path::to_owned);
        Source { name, text: text.into(), path: Some(path), dir }
    }

    /// Whether both are the same file, or the same shipped spec.
    fn is_same(&self, other: &Source) -> bool {
        let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        match (&self.path, &other.path) {
            (Some(a), Some(b)) => real(a) == real(b),
            (None, None) => self.name == other.name,
            _ => false,
        }
    }
}

/// "`general`, `web`" and so on.
pub(crate) fn shipped_names() -> String {
    let names: Vec<String> = shipped().iter().map(|(name, _)| format!("`{name}`")).collect();
    names.join(", ")
}

/// `extends` names a file when it has an ending or a folder.
fn is_file_name(base: &str) -> bool {
    base.contains(['.', '/', '\\'])
}

/// How messages call a base: as the spec that extends it is called, with the file's name replaced.
fn beside(parent: &str, base: &str, parent_is_file: bool) -> String {
    if !parent_is_file {
        return base.to_owned();
    }
    Path::new(parent).with_file_name(base).to_string_lossy().into_owned()
}
