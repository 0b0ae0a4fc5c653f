//! What the system says about this process's memory, and what a test tells the system about it.

#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// A KiB.
pub(crate) const KIB: usize = 1 << 10;
/// A MiB.
pub(crate) const MIB: usize = 1 << 20;
/// A GiB.
pub(crate) const GIB: usize = 1 << 30;

/// Bytes of memory that are resident.
pub(crate) fn resident() -> usize {
    status("VmRSS:")
}

/// Most bytes that were resident at a time, since the start or since [`forget_peak`].
pub(crate) fn peak() -> usize {
    status("VmHWM:")
}

/// Lets [`peak`] start anew.
pub(crate) fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Bytes of address space in use.
pub(crate) fn address_space() -> usize {
    status("VmSize:")
}

fn status(name: &str) -> usize {
    figure(&fs::read_to_string("/proc/self/status").unwrap(), name)
}

/// Bytes, from a line such as `VmRSS:  120 kB`.
fn figure(text: &str, name: &str) -> usize {
    let figure = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    figure.split_whitespace().next().unwrap().parse::<usize>().unwrap() * KIB
}

/// Mappings of this process.
pub(crate) fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// A mapping, or several, as the system describes them.
pub(crate) struct Mapping(String);

impl Mapping {
    /// All of this process.
    pub(crate) fn all() -> Self {
        Mapping(fs::read_to_string("/proc/self/smaps_rollup").unwrap())
    }

    /// The one that an address lies in.
    pub(crate) fn of(address: *const u8) -> Self {
        let text = fs::read_to_string("/proc/self/smaps").unwrap();
        let holds = |line: &str| range(line).is_some_and(|range| range.contains(&address.addr()));
        let mut lines = text.lines().skip_while(|line| !holds(line));
        assert!(lines.next().is_some(), "{address:p} is not mapped");
        let lines: Vec<_> = lines.take_while(|line| range(line).is_none()).collect();
        Mapping(lines.join("\n"))
    }

    /// A figure, in bytes: `Rss:` and the like.
    pub(crate) fn bytes(&self, name: &str) -> usize {
        figure(&self.0, name)
    }

    /// Whether a flag of two letters is set.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        let flags = self.0.lines().find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
        flags.split_whitespace().any(|set| set == flag)
    }
}

/// The addresses of a mapping, if this is the line that a mapping's description begins with.
fn range(line: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(number(start)?..number(end)?)
}

/// Limits the address space that this process may use from now on.
pub(crate) fn limit_address_space(bytes: usize) {
    let limit = libc::rlimit { rlim_cur: bytes as u64, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit outlives the call.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Looks until something holds, for ten seconds at most. It says how long that took.
pub(crate) fn comes_true(mut holds: impl FnMut() -> bool) -> Option<Duration> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if holds() {
            return Some(start.elapsed());
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Sets `errno`.
pub(crate) fn set_errno(value: i32) {
    // SAFETY: there are no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it points to this thread's `errno`.
    unsafe { *errno = value };
}

/// Reads `errno`.
pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap()
}
