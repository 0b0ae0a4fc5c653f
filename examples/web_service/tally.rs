//! What the clients measured: requests of each kind, and how long their answers took.

use std::time::Duration;

use hdrhistogram::Histogram;

/// What a request is for. The order is that of the report.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Create,
    Read,
    List,
    Delete,
    ReadGone,
    CreateCutOff,
}

impl Kind {
    pub(crate) const COUNT: usize = 6;
    pub(crate) const NAMES: [&str; Kind::COUNT] =
        ["create", "read", "list", "delete", "read of a deleted record", "create with a cut body"];
}

const _: () = assert!(Kind::CreateCutOff as usize + 1 == Kind::COUNT);

pub(crate) struct Tally {
    requests: [u64; Kind::COUNT],
    /// Nanoseconds. Its memory is fixed, however many requests are counted.
    latency: Histogram<u64>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        const LOW: Duration = Duration::from_micros(1);
        const HIGH: Duration = Duration::from_secs(60);
        const DIGITS: u8 = 2;
        let latency = Histogram::new_with_bounds(nanoseconds(LOW), nanoseconds(HIGH), DIGITS)
            .expect("the bounds are constant");
        Tally { requests: [0; Kind::COUNT], latency }
    }

    pub(crate) fn count(&mut self, kind: Kind, time: Duration) {
        self.requests[kind as usize] += 1;
        self.latency.saturating_record(nanoseconds(time));
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        for (sum, count) in self.requests.iter_mut().zip(other.requests) {
            *sum += count;
        }
        self.latency.add(&other.latency).expect("all tallies have the same bounds");
    }

    /// Requests of each kind, in the order of `Kind`.
    pub(crate) fn requests(&self) -> [u64; Kind::COUNT] {
        self.requests
    }

    /// The time that `percent` of the answers did not exceed; of 100, the longest.
    pub(crate) fn latency(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.latency.value_at_percentile(percent))
    }
}

const fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}
