//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::failure::Failure;
use crate::results::Reached;
use crate::{check, counters, markdown, plan};

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
    #[arg(value_parser = name)]
    pub(crate) kernels: Vec<String>,
    /// Peers, with commas between them; all where none is named.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = name)]
    pub(crate) peers: Vec<String>,
    /// How often each kernel runs on each peer. Where a signal interrupts, what the whole rounds
    /// have is shown and written.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// The peer that runs twice in each round, under two names. `hak-general` unless another is
    /// named, and the first one where that is not among the peers.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) control: Option<String>,
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

/// The name of a kernel or a peer, without the spaces that someone put behind a comma.
pub(crate) fn name(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("there is no name: one comma stands between two, as in `system,hak-web`"),
        name => Ok(name.to_owned()),
    }
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
        if let Some(control) = &self.control {
            words.extend(["--control".to_owned(), control.clone()]);
        }
        words.join(" ")
    }

    /// Whether the control is one of the peers, if it is named.
    pub(crate) fn check_control<'a>(
        &self,
        peers: impl Iterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        let peers: Vec<_> = peers.collect();
        match &self.control {
            Some(name) if !peers.contains(&name.as_str()) => Err(Failure::Usage(format!(
                "the control `{name}` is none of the peers\nhelp: these are {}",
                peers.join(", ")
            ))),
            _ => Ok(()),
        }
    }

    /// Where the control stands among the peers.
    pub(crate) fn control<'a>(&self, mut peers: impl Iterator<Item = &'a str>) -> usize {
        let control = self.control.as_deref().unwrap_or(CONTROL);
        peers.position(|peer| peer == control).unwrap_or(0)
    }
}

impl Output {
    /// Before hours are spent: the files' folders have to be there, and in a page of Markdown the
    /// places of the tables.
    pub(crate) fn check(&self, reached: Reached) -> Result<(), Failure> {
        let files = [&self.json, &self.html, &self.markdown].into_iter().flatten();
        for (number, path) in files.clone().enumerate() {
            if path.is_dir() {
                let message = format!("{} cannot be written: it is a folder", path.display());
                return Err(Failure::Usage(message));
            }
            if files.clone().take(number).any(|other| other == path) {
                let message = format!("{} is named twice: one would be lost", path.display());
                return Err(Failure::Usage(message));
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                let (path, folder) = (path.display(), folder.display());
                let message = format!("{path} cannot be written: there is no folder {folder}");
                return Err(Failure::Usage(message));
            }
        }
        self.markdown.as_deref().map_or(Ok(()), |path| {
            let text = markdown::read(path)?;
            markdown::check(&text, reached)
                .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Command, Options};
    use crate::results::Reached;

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

    #[test]
    fn a_name_is_not_empty() {
        let refused = |arguments: &[&str]| {
            let all = ["hak-bench"].iter().chain(arguments);
            let refused = Options::try_parse_from(all).unwrap_err();
            assert_eq!(refused.exit_code(), 2, "{arguments:?}");
            refused.to_string()
        };
        for peers in ["", "system,,hak-web", "system,", ",", " "] {
            for command in ["run", "preload", "counters pair", "check"] {
                let mut arguments: Vec<_> = command.split(' ').collect();
                arguments.extend(["--peers", peers]);
                let message = refused(&arguments);
                assert!(message.contains("for '--peers <NAMES>': there is no name"), "{message}");
            }
        }
        assert!(refused(&["run", ""]).contains("there is no name"));
        assert!(refused(&["run", "--control", ""]).contains("there is no name"));
        let line = ["hak-bench", "run", "--peers", "system, hak-web"];
        let Command::Run(run) = Options::parse_from(line).command else { panic!("no run") };
        assert_eq!(run.peers, ["system", "hak-web"]);
    }

    #[test]
    fn a_control_that_is_named_is_one_of_the_peers() {
        let run = |line: &str| match Options::parse_from(line.split(' ')).command {
            Command::Run(run) => run,
            other => panic!("{other:?}"),
        };
        let peers = ["system", "hak-general"];
        let usual = run("hak-bench run");
        assert!(usual.check_control(peers.into_iter()).is_ok());
        assert_eq!(
            (usual.control(peers.into_iter()), usual.control(["rusty"].into_iter())),
            (1, 0)
        );
        let named = run("hak-bench run --control rusty");
        let refused = named.check_control(peers.into_iter()).unwrap_err();
        assert_eq!((refused.exit_code(), refused.to_string().contains("`rusty`")), (2, true));
    }

    #[test]
    fn files_that_cannot_be_written_are_told_before() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        let check = |options: &str| {
            let line = options.replace('@', folder.path().to_str().unwrap());
            match Options::parse_from(format!("hak-bench run {line}").split(' ')).command {
                Command::Run(run) => run.output.check(Reached::Linked),
                other => panic!("{other:?}"),
            }
        };
        let refused = |options: &str| check(options).unwrap_err().to_string();
        assert!(refused("--json @").contains("it is a folder"));
        assert!(refused("--json @/a --html @/a").contains("named twice"));
        assert!(refused("--html @/none/a").contains("there is no folder"));
        assert!(refused("--markdown @/page.md").contains("could not read"));
        std::fs::write(&page, "no place\n").unwrap();
        assert!(refused("--markdown @/page.md").contains("no place for a table"));
        std::fs::write(&page, "<!-- table: preload time -->\n<!-- end -->\n").unwrap();
        assert!(refused("--markdown @/page.md").contains("no place for a table"));
        std::fs::write(&page, "<!-- table: time -->\n").unwrap();
        assert!(refused("--markdown @/page.md").contains("no line `<!-- end -->`"));
        std::fs::write(&page, "<!-- table: time -->\n<!-- end -->\n").unwrap();
        assert!(check("--markdown @/page.md --json @/a --html @/b").is_ok());
    }
}
