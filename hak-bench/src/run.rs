//! One run of one subject.

use std::fs;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hak_bench_kernels::Outcome;
use wait_timeout::ChildExt;

use crate::children::{self, Running};
use crate::results::Resident;
use crate::subjects::Subject;

/// A run that takes longer is ended, and told as a failure.
const LIMIT: Duration = Duration::from_secs(120);
/// Between two readings of the memory that is resident.
const READING_INTERVAL: Duration = Duration::from_millis(4);
/// Bytes of the OS pages in which /proc counts what is resident.
const OS_PAGE: u64 = 4096;

/// Runs a kernel once. An error says how the subject failed, without its name.
pub(crate) fn run(subject: &Subject, arguments: &[String]) -> Result<Outcome, String> {
    outcome(subject.command().args(arguments), LIMIT)
}

/// Runs a command that becomes a subject which runs a kernel once.
pub(crate) fn outcome(command: &mut Command, limit: Duration) -> Result<Outcome, String> {
    finish(start(command)?, limit)
}

/// Runs a kernel once and watches the memory that is resident.
pub(crate) fn watch(subject: &Subject, arguments: &[String]) -> Result<Vec<Resident>, String> {
    let running = start(subject.command().args(arguments))?;
    let (stop, watcher) = watcher(running.child.id());
    let outcome = finish(running, LIMIT);
    // The watcher waits for this alone.
    drop(stop);
    let readings = watcher.join().map_err(|_| "the watching thread ended early")?;
    outcome.map(|_| readings)
}

fn start(command: &mut Command) -> Result<Running, String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    children::start(command)
        .map_err(|error| format!("could not start {}: {error}", command.get_program().display()))
}

/// What a subject prints fits in a pipe: it need not be read while the subject runs.
fn finish(mut running: Running, limit: Duration) -> Result<Outcome, String> {
    let child = &mut running.child;
    let status = child.wait_timeout(limit).map_err(|error| format!("could not wait: {error}"))?;
    let Some(status) = status else {
        running.end();
        return Err(format!("did not end within {} s", limit.as_secs()));
    };
    let (said, complained) = (text(child.stdout.take()), text(child.stderr.take()));
    if !status.success() {
        return Err(describe(status, &complained));
    }
    Outcome::parse(&said)
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What could be read of a broken pipe is better than nothing.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn describe(status: ExitStatus, complained: &str) -> String {
    let last = complained.lines().rfind(|line| !line.trim().is_empty());
    let last = last.map(|line| format!(": {}", line.trim().trim_start_matches("error: ")));
    format!("ended with {status}{}", last.unwrap_or_default())
}

/// A thread that reads until the sender is dropped or the process is gone.
fn watcher(process: u32) -> (Sender<()>, JoinHandle<Vec<Resident>>) {
    let (stop, stopped) = mpsc::channel();
    let start = Instant::now();
    let watcher = thread::spawn(move || {
        let mut readings = Vec::new();
        while let Some(bytes) = resident(process) {
            readings.push(Resident { milliseconds: start.elapsed().as_millis() as u64, bytes });
            if stopped.recv_timeout(READING_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        thinned(readings)
    });
    (stop, watcher)
}

/// Nothing once the process has no memory any more.
fn resident(process: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let os_pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    (os_pages > 0).then_some(os_pages * OS_PAGE)
}

/// Most readings that are kept of a run.
const READINGS_MAX: usize = 240;

/// Of neighbours that are too many the highest stays: no peak is lost.
fn thinned(readings: Vec<Resident>) -> Vec<Resident> {
    let together = readings.len().div_ceil(READINGS_MAX).max(1);
    let highest = |some: &[Resident]| some.iter().max_by_key(|reading| reading.bytes).copied();
    readings.chunks(together).filter_map(highest).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{READINGS_MAX, Resident, run, thinned, watch};
    use crate::subjects::{Subject, owned};

    fn subject(name: &str, path: &str) -> Subject {
        let (name, path) = (name.to_owned(), PathBuf::from(path));
        let environment = owned(&[("MARK", "set")]);
        Subject { name, path, environment, not_under_valgrind: None }
    }

    fn shell(script: &str) -> (Subject, Vec<String>) {
        let subject = subject("shell", "/bin/sh");
        (subject, vec!["-c".to_owned(), script.to_owned()])
    }

    #[test]
    fn a_failure_says_how() {
        let (subject, arguments) = shell("echo 'error: no kernel' >&2; exit 3");
        let message = "ended with exit status: 3: no kernel";
        assert_eq!(run(&subject, &arguments), Err(message.to_owned()));
        let (subject, arguments) = shell("kill -ABRT $$");
        assert!(run(&subject, &arguments).unwrap_err().contains("signal: 6"));
        let (subject, arguments) = shell("echo operations 1");
        let message = "the subject did not print its `nanoseconds`";
        assert_eq!(run(&subject, &arguments), Err(message.to_owned()));
    }

    #[test]
    fn a_subject_finds_its_environment() {
        let (subject, arguments) = shell("test \"$MARK\" = set || exit 3; exit 4");
        assert_eq!(run(&subject, &arguments), Err("ended with exit status: 4".to_owned()));
    }

    #[test]
    fn a_subject_that_is_not_there_is_named() {
        let subject = subject("gone", "/nowhere/gone");
        let message = run(&subject, &[]).unwrap_err();
        assert!(message.starts_with("could not start /nowhere/gone: "), "{message}");
        assert_eq!(watch(&subject, &[]), Err(message));
    }

    #[test]
    fn a_thinned_curve_keeps_its_peak() {
        let reading = |milliseconds| {
            let bytes = if milliseconds == 501 { 9 } else { 1 };
            Resident { milliseconds, bytes }
        };
        let thin = thinned((0..1000).map(reading).collect());
        assert!(thin.len() <= READINGS_MAX);
        assert!(thin.contains(&reading(501)));
        assert_eq!(thinned((0..3).map(reading).collect()).len(), 3);
    }
}
