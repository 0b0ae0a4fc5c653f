//! A clock that costs little to read: the processor's time-stamp counter.
//!
//! What it counts are cycles of a fixed rate, whatever the processor's own is at the moment. Where
//! there is none, nanoseconds of the system's clock stand for it.

use crate::os;

/// The time-stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and systems let programs use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Nanoseconds of a clock that never goes back.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn ticks() -> u64 {
    os::now_ns()
}

/// Ticks since a moment; 0 where processors' counters differ and the moment seems to come.
pub(super) fn since(begun: u64) -> u64 {
    ticks().saturating_sub(begun)
}

/// A moment by both clocks.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    ticks: u64,
    ns: u64,
}

impl Moment {
    /// Shortest time from which the rate is taken: reading the clocks is then below a thousandth.
    const SPAN_NS: u64 = 2_000_000;

    pub(super) fn now() -> Self {
        Moment { ticks: ticks(), ns: os::now_ns() }
    }

    /// Nanoseconds of a tick, as measured since this moment. Waits if it is too close.
    pub(super) fn ns_per_tick(self) -> f64 {
        let mut now = Moment::now();
        while now.ns.saturating_sub(self.ns) < Self::SPAN_NS {
            os::sleep(1);
            now = Moment::now();
        }
        ratio(now.ns - self.ns, now.ticks.saturating_sub(self.ticks).max(1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate of six digits is enough")]
fn ratio(of: u64, to: u64) -> f64 {
    of as f64 / to as f64
}
