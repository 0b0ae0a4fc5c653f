//! What a load test found, as text.

use std::fmt;
use std::time::Duration;

use super::memory::Memory;
use super::options::LoadPlan;
use super::tally::{Kind, Tally};

pub(crate) struct Report<'a> {
    pub(crate) name: &'a str,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) tally: Tally,
    pub(crate) elapsed: Duration,
    pub(crate) records_held: usize,
    /// Right after the last request.
    pub(crate) memory: Option<Memory>,
    /// After the service has stopped and dropped its records.
    pub(crate) memory_at_end: Option<Memory>,
    pub(crate) allocator: Option<String>,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "web service on {}", self.name)?;
        self.write_requests(f)?;
        self.write_latency(f)?;
        self.write_memory(f)?;
        match &self.allocator {
            Some(text) => write!(f, "\nwhat the allocator served\n{}", text.trim_end()),
            None => Ok(()),
        }
    }
}

impl Report<'_> {
    fn write_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadPlan { requests, clients, seed, .. } = self.plan;
        let seconds = self.elapsed.as_secs_f64();
        writeln!(f, "  requests    {requests} from {clients} clients with seed {seed}")?;
        for (name, count) in Kind::NAMES.iter().zip(self.tally.requests()) {
            writeln!(f, "              {count:>8} {name}")?;
        }
        writeln!(f, "  answers     all as expected")?;
        writeln!(f, "  time        {seconds:.2} s")?;
        writeln!(f, "  throughput  {:.0} requests/s", *requests as f64 / seconds)
    }

    fn write_latency(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  latency    ")?;
        for (name, percent) in
            [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)]
        {
            write!(f, " {name} {:.3} ms", self.tally.latency(percent).as_secs_f64() * 1e3)?;
        }
        writeln!(f)
    }

    fn write_memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(memory), Some(at_end)) = (self.memory, self.memory_at_end) else {
            return write!(f, "  memory      not known: there is no /proc/self/status to read");
        };
        let held = self.records_held;
        let peak_kib = memory.peak_kib.max(at_end.peak_kib);
        writeln!(f, "  memory      {:>8.1} MiB peak", mib(peak_kib))?;
        writeln!(f, "              {:>8.1} MiB with {held} records held", mib(memory.now_kib))?;
        write!(f, "              {:>8.1} MiB at the end, all dropped", mib(at_end.now_kib))
    }
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
