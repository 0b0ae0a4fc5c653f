//! What the process used of the machine, from its start.

use std::fs;
use std::io;
use std::mem::MaybeUninit;

/// From the start of the process, all threads together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Most bytes that were resident at a time.
    pub(crate) peak_resident_bytes: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) user_microseconds: u64,
    pub(crate) system_microseconds: u64,
}

impl Usage {
    /// An error where the system does not tell.
    pub(crate) fn read() -> io::Result<Usage> {
        // First, since the reading of a file is work, too.
        let usage = resource_usage()?;
        let count = |count: libc::c_long| count as u64;
        let microseconds = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec) as u64;
        Ok(Usage {
            peak_resident_bytes: peak_resident_bytes()?,
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
            user_microseconds: microseconds(usage.ru_utime),
            system_microseconds: microseconds(usage.ru_stime),
        })
    }
}

fn resource_usage() -> io::Result<libc::rusage> {
    let mut usage = MaybeUninit::uninit();
    // SAFETY: the place is writable and of the type that is asked for.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: written by the call, which succeeded.
    Ok(unsafe { usage.assume_init() })
}

/// From /proc: the `ru_maxrss` of a process begins with what its parent had.
fn peak_resident_bytes() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let missing = || io::Error::other("/proc/self/status has no VmHWM");
    kib.map(|kib| kib * 1024).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn what_is_touched_is_in_the_peak() {
        const BYTES: usize = 64 << 20;
        let before = Usage::read().unwrap();
        std::hint::black_box(vec![1_u8; BYTES]);
        let after = Usage::read().unwrap();
        // Other tests run meanwhile, and may have had as much.
        assert!(after.peak_resident_bytes >= BYTES as u64);
        assert!(after.minor_faults > before.minor_faults);
    }
}
