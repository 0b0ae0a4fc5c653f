//! A git repository from a seed.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fastrand::Rng;

use super::ENVIRONMENT;
use super::inputs::Words;
use crate::children;
use crate::failure::Failure;

/// Files of the tree.
const FILES: usize = 120;
/// Files that a commit changes.
const CHANGED: usize = 9;
/// Lines of a file at first.
const LINES: usize = 150;

/// What `git fast-import` reads: commits, each of which changes a few lines of some files.
pub(super) fn stream(random: &mut Rng, commits: u64) -> String {
    let words = Words::new(random);
    let line = |random: &mut Rng| {
        let many = random.usize(2..12);
        words.some(random, many) + "\n"
    };
    let mut files: Vec<Vec<String>> =
        (0..FILES).map(|_| (0..LINES).map(|_| line(random)).collect()).collect();
    let mut stream = "reset refs/heads/main\n".to_owned();
    for commit in 0..commits {
        let message = words.some(random, 8);
        let date = 1_700_000_000 + commit * 3600;
        // Writing to a string cannot fail.
        let _ = write!(
            stream,
            "commit refs/heads/main\nauthor A <a@b> {date} +0000\n\
             committer A <a@b> {date} +0000\ndata {}\n{message}\n",
            message.len()
        );
        let first = random.usize(0..FILES);
        for place in (first..first + CHANGED).map(|place| place % FILES) {
            for _ in 0..5 {
                let at = random.usize(0..files[place].len());
                files[place][at] = line(random);
            }
            files[place].push(line(random));
            let text = files[place].concat();
            let folder = place / 10;
            let _ = write!(
                stream,
                "M 100644 inline {folder}/{place}.txt\ndata {}\n{text}\n",
                text.len()
            );
        }
    }
    stream
}

/// Makes the repository anew.
pub(super) fn import(git: &Path, repository: &Path, stream: &str) -> Result<(), Failure> {
    let could_not = |error| Failure::could_not(format!("make {}", repository.display()), error);
    if repository.exists() {
        fs::remove_dir_all(repository).map_err(could_not)?;
    }
    let failed = |said: &[u8]| {
        let (repository, said) = (repository.display(), String::from_utf8_lossy(said));
        Failure::Failed(format!("git does not make {repository}:\n{said}"))
    };
    let command = || {
        let mut command = Command::new(git);
        command.envs(ENVIRONMENT);
        command
    };
    let made = children::output(command().args(["init", "-q", "--bare"]).arg(repository));
    let made = made.map_err(could_not)?;
    if !made.status.success() {
        return Err(failed(&made.stderr));
    }
    let mut import = command();
    import.arg("-C").arg(repository).args(["fast-import", "--quiet"]);
    import.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut import = children::start(&mut import).map_err(could_not)?;
    // Where git does not read all of it, it says why.
    let written = import.child.stdin.take().map(|mut input| input.write_all(stream.as_bytes()));
    let imported = import.output().map_err(could_not)?;
    match written {
        Some(Ok(())) if imported.status.success() => Ok(()),
        _ => Err(failed(&imported.stderr)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use fastrand::Rng;

    use super::{import, stream};

    #[test]
    fn git_reads_as_many_commits() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("repository");
        let stream = stream(&mut Rng::with_seed(1), 7);
        for _ in 0..2 {
            import(Path::new("git"), &repository, &stream).unwrap();
        }
        let count = Command::new("git")
            .arg("-C")
            .arg(&repository)
            .args(["rev-list", "--count", "--all"])
            .output();
        assert_eq!(String::from_utf8_lossy(&count.unwrap().stdout), "7\n");
    }

    #[test]
    fn what_git_refuses_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let failure = import(Path::new("git"), &folder.path().join("repository"), "no command\n");
        let message = failure.unwrap_err().to_string();
        assert!(message.contains("fatal: ") && message.contains("no command"), "{message}");
    }
}
