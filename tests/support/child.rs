//! Tests that need a process of their own: they start their own binary again, for just that test.
//!
//! The process is ended by an alarm when it takes too long, and what is left of its process group
//! afterwards is killed. A body must not use `alarm`, which is the same timer.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Names the test that this process was started for.
const CHILD_OF: &str = "HAK_CHILD_OF";

/// Runs `body` in a process of its own and fails unless that ends with status 0 in time. `test` is
/// the name of the calling test. What the process wrote is printed, and is part of a failure.
#[allow(dead_code, reason = "see `ends`")]
pub(crate) fn run(test: &str, timeout: Duration, body: impl FnOnce()) {
    if std::env::var(CHILD_OF).is_ok_and(|name| name == test) {
        eprintln!("{}", started(test));
        return body();
    }
    let (status, output) = run_again(test, timeout).unwrap();
    assert!(output.contains(&started(test)), "there is no test `{test}`:\n{output}");
    let late = if status.signal() == Some(libc::SIGALRM) { ", the alarm" } else { "" };
    assert!(status.success(), "the process of `{test}` ended with {status}{late}:\n{output}");
    println!("{output}");
}

/// Runs `body` in a process of its own and says how that ended and what it wrote. Not for a body
/// that is to end well: [`run`] is.
#[allow(dead_code, reason = "not every test that includes this file lets its process die")]
pub(crate) fn ends(test: &str, timeout: Duration, body: impl FnOnce()) -> (ExitStatus, String) {
    if std::env::var(CHILD_OF).is_ok_and(|name| name == test) {
        eprintln!("{}", started(test));
        body();
        std::process::exit(0);
    }
    run_again(test, timeout).unwrap()
}

/// What the process writes first, so that a wrong name does not go unseen.
fn started(test: &str) -> String {
    format!("[a process for {test}]")
}

fn run_again(test: &str, timeout: Duration) -> io::Result<(ExitStatus, String)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
    end_of(command.env(CHILD_OF, test), timeout)
}

/// Runs a program and says how it ended and what it wrote.
pub(crate) fn end_of(command: &mut Command, timeout: Duration) -> io::Result<(ExitStatus, String)> {
    // A file, not a pipe: nobody waits for the last process that holds it open.
    let mut output = tempfile::tempfile()?;
    command.env("RUST_BACKTRACE", "0").process_group(0);
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX).max(1);
    let set_alarm = move || {
        // SAFETY: a system call that touches no memory. An alarm stays when a program is executed.
        unsafe { libc::alarm(seconds) };
        Ok(())
    };
    // SAFETY: the hook touches no memory.
    let mut child = unsafe { command.pre_exec(set_alarm) }.spawn()?;
    let status = child.wait()?;
    // SAFETY: the group is that of the child and of what it started.
    unsafe { libc::kill(-child.id().cast_signed(), libc::SIGKILL) };
    Ok((status, text_of(&mut output)?))
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
