//! The command line.

use std::path::{Path, PathBuf};

use clap::Parser;

/// Counts and times what each choice of a spec costs, and prints it as a page of markdown
#[derive(Debug, Parser)]
#[command(version = None)]
pub(crate) struct Options {
    /// Write the page to this file; without one, or without the option, to stdout
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    write: Option<Option<PathBuf>>,

    /// Only these rows
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,

    /// Only count, under callgrind
    #[arg(long)]
    counts: bool,

    /// Only time
    #[arg(long, conflicts_with = "counts")]
    times: bool,

    /// Rounds over all rows; a time is the median of them
    #[arg(long, value_name = "N", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1001))]
    rounds: u32,

    /// What the page says of the machine; without it, what /proc tells
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,

    /// Run the probes and print nothing: what the program asks of itself under callgrind
    #[arg(long, hide = true)]
    counted_run: bool,
}

impl Options {
    /// The option that makes a run the counted one.
    pub(crate) const COUNTED_RUN: &str = "--counted-run";
    /// The option before names of rows.
    pub(crate) const ONLY: &str = "--only";

    pub(crate) fn file(&self) -> Option<&Path> {
        self.write.as_ref()?.as_deref()
    }

    pub(crate) fn only(&self) -> &[String] {
        &self.only
    }

    pub(crate) fn counts(&self) -> bool {
        !self.times
    }

    pub(crate) fn times(&self) -> bool {
        !self.counts
    }

    pub(crate) fn rounds(&self) -> u32 {
        self.rounds
    }

    pub(crate) fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    pub(crate) fn is_counted_run(&self) -> bool {
        self.counted_run
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Options;

    fn parse(arguments: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(["price_list"].into_iter().chain(arguments.split_whitespace()))
    }

    #[test]
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn both_parts_are_taken_unless_one_is_named() {
        let parts = |arguments| parse(arguments).map(|it| (it.counts(), it.times())).unwrap();
        assert_eq!(parts(""), (true, true));
        assert_eq!(parts("--counts"), (true, false));
        assert_eq!(parts("--times"), (false, true));
        assert!(parse("--counts --times").is_err());
    }

    #[test]
    fn a_file_holds_all_rows() {
        assert_eq!(parse("--write").unwrap().file(), None);
        assert!(parse("--write page.md").unwrap().file().is_some());
        assert!(parse("--write page.md --only web").is_err());
    }

    #[test]
    fn the_counted_run_is_asked_for_by_its_names() {
        let arguments = format!("{} {} web tiny", Options::COUNTED_RUN, Options::ONLY);
        let options = parse(&arguments).unwrap();
        assert!(options.is_counted_run());
        assert_eq!(options.only(), ["web", "tiny"]);
    }
}
