//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::failure::Failure;
use crate::{check, counters, plan};

/// The peer that runs twice unless another is named.
const CONTROL: &str = "hak-general";

/// hak's allocators and their peers, measured side by side in one run.
#[derive(Debug, Parser)]
#[command(name = "hak-bench", version)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the kernels and the peers.
    List,
    /// Time kernels on all peers in turn, round by round.
    Run(Run),
    /// Time programs in C on preloaded libraries in turn, round by round: four kernels, and tools
    /// that every system has.
    Preload(Run),
    Counters(counters::Args),
    Plan(plan::Args),
    Check(check::Args),
    /// Show the results of an earlier run again.
    Show(Show),
}

/// Kernels, peers and rounds: of `run` and of `preload`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Kernels or groups of kernels (`pattern`, `threads`, `program`); all where none is named.
    pub(crate) kernels: Vec<String>,
    /// Peers; all where none is named.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) peers: Vec<String>,
    /// How often each kernel runs on each peer.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// The peer that runs twice in each round, under two names; the first one where this is not
    /// among the peers.
    #[arg(long, default_value = CONTROL, value_name = "NAME")]
    pub(crate) control: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// An earlier run.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// What `--json` wrote.
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where results go, beside the terminal.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Write all results as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a page of pictures and tables.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the tables into a file of Markdown, between the lines that mark their place.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

impl Run {
    /// The arguments, but for the files that are written.
    pub(crate) fn command(&self, name: &str) -> String {
        let mut words = vec![name.to_owned()];
        words.extend(self.kernels.iter().cloned());
        if !self.peers.is_empty() {
            words.extend(["--peers".to_owned(), self.peers.join(",")]);
        }
        words.extend(["--rounds".to_owned(), self.rounds.to_string()]);
        if self.control != CONTROL {
            words.extend(["--control".to_owned(), self.control.clone()]);
        }
        words.join(" ")
    }
}

impl Output {
    /// Before hours are spent: the files' folders have to be there.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        for path in [&self.json, &self.html, &self.markdown].into_iter().flatten() {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                let (path, folder) = (path.display(), folder.display());
                let message = format!("{path} cannot be written: there is no folder {folder}");
                return Err(Failure::Usage(message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Command, Options};

    #[test]
    fn a_command_is_told_without_its_files() {
        let command = |line: &str| match Options::parse_from(line.split(' ')).command {
            Command::Run(run) => run.command("run"),
            Command::Preload(run) => run.command("preload"),
            other => panic!("{other:?}"),
        };
        assert_eq!(command("hak-bench run --html page.html"), "run --rounds 7");
        let line = "hak-bench run pair swap --json F --rounds 3 --peers system,rusty";
        assert_eq!(command(line), "run pair swap --peers system,rusty --rounds 3");
        assert_eq!(command("hak-bench run --control web"), "run --rounds 7 --control web");
        assert_eq!(command("hak-bench preload sort --rounds 1"), "preload sort --rounds 1");
    }
}
