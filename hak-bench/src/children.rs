//! The processes that are started here: none outlives this one, nor its interruption.
//!
//! Each is the first of a process group, to which belongs what it starts itself. The first signal
//! that interrupts ends all groups; from then on nothing is started, and what ran has failed. A
//! second signal ends this process at once, and whichever way it ends, the system ends its
//! children.

use std::io::{self, ErrorKind};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{self, Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::failure::Failure;

/// A child, until it is waited for.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    group: Group,
}

/// A process group that an interruption ends.
#[derive(Debug)]
struct Group {
    id: u32,
}

struct State {
    /// The signal that came.
    interruption: Option<i32>,
    /// The groups that run.
    groups: Vec<u32>,
}

static STATE: Mutex<State> = Mutex::new(State { interruption: None, groups: Vec::new() });

/// Takes the signals that interrupt from now on.
pub(crate) fn listen() -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::could_not("listen for signals", error))?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if !interrupt(signal) {
                low_level::exit(128 + signal);
            }
        }
    });
    Ok(())
}

/// Ends all groups. Whether it is the first time.
fn interrupt(signal: i32) -> bool {
    let mut state = state();
    let is_first = state.interruption.is_none();
    state.interruption.get_or_insert(signal);
    state.groups.iter().for_each(|group| kill(*group));
    is_first
}

/// The signal that came, if one did.
pub(crate) fn interruption() -> Option<i32> {
    state().interruption
}

/// A failure once a signal came, of which this is told behind what it was.
pub(crate) fn uninterrupted(told: &str) -> Result<(), Failure> {
    match interruption() {
        Some(signal) => Err(Failure::interrupted(signal, told)),
        None => Ok(()),
    }
}

/// Starts a process. An error of the kind [`ErrorKind::Interrupted`] where a signal came before.
pub(crate) fn start(command: &mut Command) -> io::Result<Running> {
    let parent = process::id();
    command.process_group(0);
    // SAFETY: it makes system calls and nothing else, which may be done between fork and exec.
    unsafe { command.pre_exec(move || end_with(parent)) };
    // Held until the child is listed: a signal comes before it is started, or finds it.
    let mut state = state();
    if state.interruption.is_some() {
        return Err(interrupted());
    }
    let child = command.spawn()?;
    let id = child.id();
    state.groups.push(id);
    Ok(Running { child, group: Group { id } })
}

/// Runs a process to its end, and collects what it prints. An error as in [`start`] where a signal
/// came, also meanwhile.
pub(crate) fn output(command: &mut Command) -> io::Result<Output> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    start(command)?.output()
}

impl Running {
    /// As [`output`].
    pub(crate) fn output(self) -> io::Result<Output> {
        let Running { child, group: _listed } = self;
        let output = child.wait_with_output()?;
        if interruption().is_some() { Err(interrupted()) } else { Ok(output) }
    }

    /// Ends it, with what it started.
    pub(crate) fn end(&mut self) {
        kill(self.group.id);
        // What was killed ends, and what has ended before is waited for as well.
        let _ = self.child.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        state().groups.retain(|group| *group != self.id);
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn interrupted() -> io::Error {
    io::Error::new(ErrorKind::Interrupted, "interrupted")
}

/// In a child that is about to become its program.
fn end_with(parent: u32) -> io::Result<()> {
    // SAFETY: a system call that takes numbers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before the system was asked to tell.
    if parent_id() == parent { Ok(()) } else { Err(ErrorKind::Interrupted.into()) }
}

fn kill(group: u32) {
    let Ok(group) = i32::try_from(group) else { return };
    // It may be gone already, which is as good.
    // SAFETY: a system call that takes numbers.
    let _ = unsafe { libc::kill(-group, libc::SIGKILL) };
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{output, start, state};

    #[test]
    fn what_is_printed_is_collected() {
        let output = output(Command::new("sh").args(["-c", "cat; echo a; echo b >&2"])).unwrap();
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (&b"a\n"[..], &b"b\n"[..])
        );
    }

    #[test]
    fn a_child_ends_with_what_it_started() {
        let script = "sleep 600 & echo $!; wait";
        let mut command = Command::new("sh");
        let mut running = start(command.args(["-c", script]).stdout(Stdio::piped())).unwrap();
        let group = running.group.id;
        assert!(state().groups.contains(&group));
        let mut grandchild = String::new();
        let printed = running.child.stdout.as_mut().unwrap();
        BufReader::new(printed).read_line(&mut grandchild).unwrap();
        running.end();
        drop(running);
        assert!(!state().groups.contains(&group));
        // Whoever takes over orphans may be slow to wait for them.
        let command_line = PathBuf::from(format!("/proc/{}/cmdline", grandchild.trim()));
        let begin = Instant::now();
        while std::fs::read(&command_line).is_ok_and(|words| !words.is_empty()) {
            assert!(begin.elapsed() < Duration::from_secs(10), "`sleep` runs on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
