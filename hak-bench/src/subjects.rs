//! Builds the programs that are measured: one for each peer.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Message, Metadata, MetadataCommand};
use indicatif::ProgressBar;

use crate::children;
use crate::failure::Failure;
use crate::peers::Peer;

/// Has the sources of the subjects.
pub(crate) const PACKAGE: &str = "hak-bench-peers";

/// A program with all kernels and one peer as its global allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The peer's, or that of a control.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Variables that it must find.
    pub(crate) environment: Vec<(String, String)>,
    /// As in [`Peer::not_under_valgrind`].
    pub(crate) not_under_valgrind: Option<&'static str>,
}

/// Which kernels the subjects shall have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernels {
    /// Those that need no crates: such subjects are built in seconds.
    Patterns,
    All,
}

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().unwrap_or(folder)
}

/// Builds what is missing or older than its sources.
pub(crate) fn ready(peers: &[&Peer], kernels: Kernels) -> Result<Vec<Subject>, Failure> {
    let folder = folder(kernels)?;
    let progress = ProgressBar::new_spinner();
    progress.enable_steady_tick(std::time::Duration::from_millis(100));
    let mut built = HashMap::new();
    for together in builds(peers) {
        let names: Vec<_> = together.iter().map(|peer| peer.name).collect();
        progress.set_message(format!("building {}", names.join(", ")));
        built.extend(build(&together, kernels)?);
    }
    progress.finish_and_clear();
    let subject = |peer: &&Peer| {
        let built = built.get(peer.name).ok_or_else(|| {
            Failure::Failed(format!("cargo does not name what it built for `{}`", peer.name))
        })?;
        let path = folder.join(peer.name);
        copy(built, &path)?;
        Ok(Subject {
            name: peer.name.to_owned(),
            path,
            environment: owned(peer.environment),
            not_under_valgrind: peer.not_under_valgrind,
        })
    };
    peers.iter().map(subject).collect()
}

/// Which peers are built together: those that need the same feature, or none. Each is always built
/// with the same features, so that another choice, or a change of ours, is no reason to build it
/// again.
fn builds<'a>(peers: &[&'a Peer]) -> Vec<Vec<&'a Peer>> {
    let mut builds: Vec<Vec<&Peer>> = Vec::new();
    for &peer in peers {
        match builds.iter_mut().find(|build| build[0].feature() == peer.feature()) {
            Some(build) => build.push(peer),
            None => builds.push(vec![peer]),
        }
    }
    builds
}

impl Subject {
    /// To run it, with all that it needs but a kernel's name.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.envs(self.environment.iter().cloned());
        command
    }

    /// The same program in a file of another name.
    pub(crate) fn again(&self) -> Result<Subject, Failure> {
        let name = format!("{}-again", self.name);
        let path = self.path.with_file_name(&name);
        copy(&self.path, &path)?;
        Ok(Subject { name, path, ..self.clone() })
    }
}

/// Where finished subjects stand: cargo's own place for them is overwritten when the same peer is
/// built with other kernels.
fn folder(kernels: Kernels) -> Result<PathBuf, Failure> {
    bench_folder(match kernels {
        Kernels::Patterns => "patterns",
        Kernels::All => "all",
    })
}

/// A folder for what is built here, in cargo's.
pub(crate) fn bench_folder(name: &str) -> Result<PathBuf, Failure> {
    let metadata = metadata(MetadataCommand::new().no_deps()).map_err(|error| {
        Failure::Failed(format!("cargo does not tell where it builds: {error}"))
    })?;
    let folder = metadata.target_directory.join("hak-bench").join(name).into_std_path_buf();
    let made = fs::create_dir_all(&folder);
    made.map_err(|error| Failure::could_not(format!("make {}", folder.display()), error))?;
    Ok(folder)
}

/// What cargo tells of the workspace. An error says why it does not.
pub(crate) fn metadata(asked: &mut MetadataCommand) -> Result<Metadata, String> {
    let mut command = asked.current_dir(root()).cargo_command();
    let output = children::output(&mut command).map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout))
        .map_err(|error| error.to_string())
}

/// Variables as a subject has them.
pub(crate) fn owned(environment: &[(&str, &str)]) -> Vec<(String, String)> {
    environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The program of each, as cargo left it. All need the same feature.
fn build(peers: &[&Peer], kernels: Kernels) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut features: Vec<_> = peers[0].feature().into_iter().collect();
    features.extend((kernels == Kernels::All).then_some("programs"));
    let features = features.join(",");
    let names: Vec<_> = peers.iter().map(|peer| peer.name).collect();
    let mut arguments = vec!["--release", "--package", PACKAGE, "--features", &features];
    arguments.extend(names.iter().flat_map(|name| ["--bin", name]));
    let help = "peers in C and C++ need what hak-bench/peers/install installs; \
                `--peers` chooses others";
    cargo_build(&arguments).map_err(|failure| match failure {
        NotBuilt::NotStarted(failure) => failure,
        NotBuilt::Said(said) => {
            let names = names.join(", ");
            Failure::Failed(format!("could not build {names}:\n{said}\nhelp: {help}"))
        }
    })
}

/// Why cargo built nothing.
pub(crate) enum NotBuilt {
    NotStarted(Failure),
    /// What it said.
    Said(String),
}

/// The programs that a `cargo build` in the workspace made, by their names.
pub(crate) fn cargo_build(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>, NotBuilt> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(root())
        .args(["build", "--message-format", "json-render-diagnostics"])
        .args(arguments);
    let output = children::output(&mut command)
        .map_err(|error| NotBuilt::NotStarted(Failure::could_not("start cargo", error)))?;
    if !output.status.success() {
        return Err(NotBuilt::Said(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(executables(&output.stdout))
}

/// The programs that cargo's messages name.
fn executables(messages: &[u8]) -> Vec<(String, PathBuf)> {
    let program = |message| match message {
        Message::CompilerArtifact(artifact) => Some((artifact.target.name, artifact.executable?)),
        _ => None,
    };
    let messages = Message::parse_stream(messages).filter_map(Result::ok);
    messages.filter_map(program).map(|(name, path)| (name, path.into())).collect()
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = fs::copy(from, to);
    copied.map_err(|error| Failure::could_not(format!("write {}", to.display()), error))?;
    Ok(())
}
