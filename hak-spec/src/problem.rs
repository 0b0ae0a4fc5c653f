//! What is wrong with a spec, and how that is shown.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::source::{Excerpt, Source};

/// A part of one of the texts that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At {
    /// Which text: 0 is the spec, 1 the base it extends, and so on.
    pub(crate) file: usize,
    /// Bytes of that text.
    pub(crate) span: Range<usize>,
}

/// A value and where it is written; nowhere, when it is a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) at: Option<At>,
}

impl<T> Located<T> {
    /// How far down the chain of bases the value stands; defaults are below all files.
    pub(crate) fn depth(&self) -> usize {
        depth(self.at.as_ref())
    }

    /// What messages add to a value that nobody wrote.
    pub(crate) fn origin(&self) -> &'static str {
        if self.at.is_some() { "" } else { " (the default)" }
    }
}

/// How far down the chain of bases a place is; what is nowhere is below all files.
pub(crate) fn depth(at: Option<&At>) -> usize {
    at.map_or(usize::MAX, |at| at.file)
}

/// Whether what is written at a place is the spec's own beside what stands at a depth: written at
/// all, and not below that. What is below was inherited.
pub(crate) fn is_own(at: Option<&At>, beside: usize) -> bool {
    at.is_some() && depth(at) <= beside
}

/// Problems as they are found, before their places are looked up.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    drafts: Vec<Draft>,
}

/// One problem that is being described.
#[derive(Debug)]
pub(crate) struct Draft {
    at: Option<At>,
    message: String,
    help: Vec<String>,
    notes: Vec<(At, String)>,
}

impl Problems {
    /// Adds a problem at one place.
    pub(crate) fn add(&mut self, at: Option<&At>, message: impl Into<String>) -> &mut Draft {
        let (message, at) = (message.into(), at.cloned());
        self.drafts.push(Draft { at, message, help: Vec::new(), notes: Vec::new() });
        self.drafts.last_mut().expect("one was pushed")
    }

    /// Adds a problem of two values that disagree: points at the first that is written, and
    /// notes the other when it stands on another line.
    pub(crate) fn add_pair(
        &mut self,
        (first, second): (Option<&At>, Option<&At>),
        message: impl Into<String>,
    ) -> &mut Draft {
        let draft = self.add(first.or(second), message);
        if let (Some(_), Some(second)) = (first, second) {
            draft.notes.push((second.clone(), "the other value is written here".to_owned()));
        }
        draft
    }

    /// Number of problems so far.
    pub(crate) fn len(&self) -> usize {
        self.drafts.len()
    }

    /// All problems with their places, in source order.
    pub(crate) fn report(mut self, sources: &[Source]) -> Report {
        self.drafts.sort_by_key(|draft| draft.at.as_ref().map(|at| (at.file, at.span.start)));
        let problems = self.drafts.into_iter().map(|draft| draft.finish(sources)).collect();
        let files = sources.iter().filter_map(|source| source.path.clone()).collect();
        Report { problems, files }
    }
}

impl Draft {
    /// Adds a way out.
    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Draft {
        self.help.push(help.into());
        self
    }

    /// Adds several, or none.
    pub(crate) fn helps(&mut self, helps: impl IntoIterator<Item = String>) -> &mut Self {
        self.help.extend(helps);
        self
    }

    fn finish(self, sources: &[Source]) -> Problem {
        let place = self.at.map(|at| Place::new(&at, sources));
        let line = place.as_ref().map(|place| (place.file, place.excerpt.line));
        let notes = self.notes.iter().map(|(at, note)| (note.clone(), Place::new(at, sources)));
        let notes = notes.filter(|(_, at)| Some((at.file, at.excerpt.line)) != line).collect();
        Problem { message: self.message, place, help: self.help, notes }
    }
}

/// Everything that is wrong with a spec, in source order.
#[derive(Debug, Clone)]
pub struct Report {
    problems: Vec<Problem>,
    files: Vec<PathBuf>,
}

impl Report {
    /// The problems; never empty.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every file that was read, absolute: a change in any of them may mend the spec.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// All problems as text, an empty line between two.
    pub fn render(&self) -> String {
        let texts: Vec<String> = self.problems.iter().map(Problem::render).collect();
        texts.join("\n")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render().trim_end())
    }
}

impl std::error::Error for Report {}

/// One thing that is wrong with a spec.
#[derive(Debug, Clone)]
pub struct Problem {
    message: String,
    place: Option<Place>,
    help: Vec<String>,
    notes: Vec<(String, Place)>,
}

#[derive(Debug, Clone)]
struct Place {
    file: usize,
    name: String,
    span: Range<usize>,
    excerpt: Excerpt,
}

impl Place {
    fn new(at: &At, sources: &[Source]) -> Place {
        let source = &sources[at.file];
        let excerpt = Excerpt::new(&source.text, &at.span);
        Place { file: at.file, name: source.name.clone(), span: at.span.clone(), excerpt }
    }

    /// Arrow, line and marks; `width` columns for line numbers.
    fn render(&self, width: usize, out: &mut String) {
        let Excerpt { line, column, shown, marks: (indent, marks) } = &self.excerpt;
        let (name, blank) = (&self.name, "");
        let underline = format!("{blank:indent$}{}", "^".repeat(*marks));
        let _ = writeln!(out, " {blank:width$}--> {name}:{line}:{column}");
        let _ = writeln!(out, " {blank:width$} |");
        let _ = writeln!(out, "{}", format!(" {line:width$} | {shown}").trim_end());
        let _ = writeln!(out, " {blank:width$} | {underline}");
    }
}

impl Problem {
    /// What is wrong: one line, lower case, no full stop.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Ways out, one line each.
    pub fn help(&self) -> &[String] {
        &self.help
    }

    /// Which text it is in: 0 for the spec, 1 for the base it extends, and so on; `None` when
    /// there is no text to point into.
    pub fn file(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.file)
    }

    /// Name of the text it is in, as shown in the message.
    pub fn name(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.name.as_str())
    }

    /// The bytes of the text it is about. Empty when something is missing there.
    pub fn span(&self) -> Option<Range<usize>> {
        self.place.as_ref().map(|place| place.span.clone())
    }

    /// The whole message as text, with a newline at its end.
    pub fn render(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        let places = self.place.iter().chain(self.notes.iter().map(|(_, place)| place));
        let line_max = places.map(|place| place.excerpt.line).max().unwrap_or(1);
        let width = line_max.to_string().len();
        if let Some(place) = &self.place {
            place.render(width, &mut out);
        }
        for (note, place) in &self.notes {
            let _ = writeln!(out, "{:width$}  = note: {note}", "");
            place.render(width, &mut out);
        }
        for help in &self.help {
            let _ = writeln!(out, "{:width$}  = help: {help}", "");
        }
        out
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render().trim_end())
    }
}

/// Absolute form of a path, for people and for the compiler's rebuild tracking.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
