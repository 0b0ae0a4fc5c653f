//! Options that counting commands have in common, and where what they found goes.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use serde::Serialize;

use crate::callgrind::Limit;
use crate::failure::Failure;
use crate::terminal::Room;

/// How often is timed, and where the results go.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// How often each is timed without callgrind, in turn; the median is shown.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) runs: u16,
    #[command(flatten)]
    pub(crate) limit: Limit,
    /// Write the figures as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Print tables of Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// What tables are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Columns, which fit.
    Columns(Room),
    Markdown,
}

impl Output {
    pub(crate) fn form(&self) -> Form {
        if self.markdown { Form::Markdown } else { Form::Columns(Room::found()) }
    }

    /// Before anything is built: the file's folder has to be there, and be none itself.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if let Some(path) = self.json.as_deref().filter(|path| path.is_dir()) {
            let message = format!("`--json`: {} is a folder", path.display());
            return Err(Failure::Usage(message));
        }
        let folder = self.json.as_deref().and_then(|path| path.parent());
        match folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
            Some(folder) => {
                let message = format!("`--json`: there is no folder {}", folder.display());
                Err(Failure::Usage(message))
            }
            None => Ok(()),
        }
    }

    /// Prints the text, and writes the file where one is wanted.
    pub(crate) fn write(&self, file: &impl Serialize, text: &str) -> Result<(), Failure> {
        print(text)?;
        let Some(path) = &self.json else { return Ok(()) };
        let json = serde_json::to_string_pretty(file);
        let json =
            json.map_err(|error| Failure::Failed(format!("could not make JSON: {error}")))?;
        let written = fs::write(path, json + "\n");
        written.map_err(|error| Failure::could_not(format!("write {}", path.display()), error))
    }
}

/// Writes to stdout. A reader that has seen enough and closed the pipe is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::could_not("write to stdout", error))
        }
        _ => Ok(()),
    }
}
