//! What the system says about this process, and how much a test shall do.

use std::fs;
use std::time::Duration;

/// What a process costs the system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Footprint {
    pub(crate) resident_kib: usize,
    pub(crate) mappings: usize,
}

impl Footprint {
    pub(crate) fn now() -> Footprint {
        let mappings = fs::read_to_string("/proc/self/maps").unwrap().lines().count();
        Footprint { resident_kib: status_kib("VmRSS:"), mappings }
    }

    /// Fails if the process grew by more than what is noise.
    pub(crate) fn assert_flat_since(self, before: Footprint, noise_kib: usize, what: &str) {
        println!("{what}: {before:?}, then {self:?}");
        assert!(self.resident_kib <= before.resident_kib + noise_kib, "{what}: memory grows");
        assert!(self.mappings <= before.mappings + 40, "{what}: mappings grow");
    }
}

/// A figure of `/proc/self/status`.
pub(crate) fn status_kib(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How often something is done: `HAK_SOAK` times as often as usual.
pub(crate) fn times(usual: usize) -> usize {
    let soak = std::env::var("HAK_SOAK").map_or(1, |text| text.parse().unwrap());
    usual * soak
}

/// How long a test may take.
pub(crate) fn patience() -> Duration {
    Duration::from_secs(times(120) as u64)
}
