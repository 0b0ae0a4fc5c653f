//! How much memory the process has in use, as the kernel counts it.

use std::fs;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) now_kib: u64,
    pub(crate) peak_kib: u64,
}

impl Memory {
    /// Nothing where `/proc/self/status` does not tell.
    pub(crate) fn read() -> Option<Memory> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let now_kib = kib(&status, "VmRSS:")?;
        // The kernel notes a peak with some delay.
        let peak_kib = kib(&status, "VmHWM:")?.max(now_kib);
        Some(Memory { now_kib, peak_kib })
    }
}

/// The number on the line that starts with `key`, like `VmRSS:     1234 kB`.
fn kib(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim_end().parse().ok()
}
