//! A search for patterns, line by line, with the crates that ripgrep is made of.

use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::Searcher;
use grep_searcher::sinks::UTF8;

use super::repository::{self, File};
use super::stop::stop;
use super::text;
use crate::kernel::{Group, Kernel, parameter};
use crate::measure::{Measured, measure};

pub(super) const KERNEL: Kernel = Kernel {
    name: "regex",
    about: "grep-searcher looks for six patterns in the repository's own sources, each line that \
            matches and each match in it is kept as a string until the end of the pass",
    group: Group::Program,
    operation: "file",
    parameters: &[parameter("passes", 14)],
    run,
};

/// Rare and frequent ones, words and alternatives, with and without regard to case.
const PATTERNS: [&str; 6] = [
    r"\bunsafe\b",
    r"fn \w+_\w+\(",
    r"(?i)alloc(ation|ator)?s?",
    r"\b\w*(Error|Failure|Problem)s?\b",
    r"(slab|magazine|depot|huge)::\w+",
    r#""[^"]{20,}""#,
];

/// A line with matches.
struct Found {
    path: String,
    line: u64,
    matches: Vec<String>,
}

fn run(parameters: &[u64]) -> Measured {
    let &[passes] = parameters else { unreachable!("one number for each parameter") };
    let files = repository::sources();
    measure(passes * files.len() as u64, || work(passes, &files))
}

#[inline(never)]
fn work(passes: u64, files: &[File]) -> u64 {
    (0..passes).map(|_| pass(files)).sum()
}

fn pass(files: &[File]) -> u64 {
    let mut found = Vec::new();
    for pattern in PATTERNS {
        search(pattern, files, &mut found);
    }
    found.iter().map(Found::sum).sum()
}

fn search(pattern: &str, files: &[File], found: &mut Vec<Found>) {
    let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern);
    let matcher = matcher.expect("the patterns are constant");
    let mut searcher = Searcher::new();
    for file in files {
        let keep = UTF8(|line, text| {
            let mut matches = Vec::new();
            matcher.find_iter(text.as_bytes(), |it| {
                matches.push(text[it.start()..it.end()].to_owned());
                true
            })?;
            found.push(Found { path: file.path.clone(), line, matches });
            Ok(true)
        });
        let searched = searcher.search_slice(&matcher, file.text.as_bytes(), keep);
        searched.unwrap_or_else(|why| stop(format_args!("could not search {}: {why}", file.path)));
    }
}

impl Found {
    fn sum(&self) -> u64 {
        let matches: u64 = self.matches.iter().map(|it| text::sum(it)).sum();
        text::sum(&self.path) + self.line + matches
    }
}

#[cfg(test)]
mod tests {
    use super::{File, PATTERNS, search};
    use crate::programs::repository;

    #[test]
    fn every_match_of_a_line_is_kept() {
        let text = "fn a_b(\n\nfn c() {}\nlet x; fn d_e() { fn f_g() {} }\n".to_owned();
        let files = [File { path: "here.rs".to_owned(), text }];
        let mut found = Vec::new();
        search(r"fn \w+_\w+\(", &files, &mut found);
        let found: Vec<_> = found.into_iter().map(|it| (it.line, it.matches.join(" "))).collect();
        assert_eq!(found, [(1, "fn a_b(".to_owned()), (4, "fn d_e( fn f_g(".to_owned())]);
    }

    #[test]
    fn every_pattern_is_in_the_sources() {
        let files = repository::sources();
        for pattern in PATTERNS {
            let mut found = Vec::new();
            search(pattern, &files, &mut found);
            assert!(found.len() > 20, "{pattern}: {} lines", found.len());
            assert!(found.iter().all(|it| !it.matches.is_empty()), "{pattern}");
        }
    }
}
