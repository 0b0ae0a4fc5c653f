//! Giving free units back to the system: when they are due, or at once.
//!
//! Dirty units wait in the pool of superslabs. Whoever comes by on a slow path returns some of
//! those that are due; in a program that goes quiet no one comes by, so a spec may ask for a helper
//! thread, which sleeps until something is due. Either also empties depots that nobody used for
//! the delay: the blocks of one magazine may stand in as many slabs, and keep them all.

use core::ffi::c_void;

use crate::account::{Account, Purge, PurgeHow};
use crate::fork;
use crate::os;
use crate::superslab;
use crate::sync::{AtomicU32, AtomicUsize, Ordering};

/// Superslabs that one slow path purges at most, so that no request waits for long.
const PER_VISIT: usize = 4;

static PURGED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes that the system took back so far.
pub(crate) fn purged_bytes() -> usize {
    PURGED_BYTES.load(Ordering::Relaxed)
}

/// Returns some of what is due, and calls `drain_idle` when it is time. Called without locks.
#[inline]
pub(crate) fn visit(account: &Account, drain_idle: impl FnOnce()) {
    let Purge::After { helper, .. } = account.terms.purge else { return };
    if !(helper && has_helper()) && superslab::is_purge_due() {
        purge_due(PER_VISIT);
        if account.is_drain_due(os::now_ms()) {
            drain_idle();
        }
    }
}

/// Returns all free units there are, due or not, the way that the account says.
pub(crate) fn purge_all(account: &Account) {
    let lazily = matches!(account.terms.purge, Purge::After { how: PurgeHow::Free, .. });
    for superslab in superslab::all() {
        if let Some(claim) = superslab::claim_now(superslab, lazily) {
            PURGED_BYTES.fetch_add(claim.purge(), Ordering::Relaxed);
        }
    }
}

#[cold]
fn purge_due(superslabs_max: usize) {
    for _ in 0..superslabs_max {
        let Some(claim) = superslab::claim_due() else { break };
        PURGED_BYTES.fetch_add(claim.purge(), Ordering::Relaxed);
    }
}

/// How often the process had been forked when its helper was started or refused, and which.
static HELPER: AtomicU32 = AtomicU32::new(NONE);
const NONE: u32 = u32::MAX;
const RUNS: u32 = 0;
const REFUSED: u32 = 1;

/// Whether there is a helper in this process, which is started at the first call. If the system
/// refuses one, those who come by do its work.
fn has_helper() -> bool {
    let forks = fork::count() << 1;
    match HELPER.load(Ordering::Relaxed) {
        state if state == forks | RUNS => true,
        state if state == forks | REFUSED => false,
        other => start_helper(other, forks),
    }
}

#[cold]
fn start_helper(seen: u32, forks: u32) -> bool {
    let (relaxed, runs) = (Ordering::Relaxed, forks | RUNS);
    // The state is set first: the C library may allocate for the thread, and so come by here.
    if HELPER.compare_exchange(seen, runs, relaxed, relaxed).is_ok() && !os::spawn(help) {
        HELPER.store(forks | REFUSED, relaxed);
    }
    HELPER.load(relaxed) == runs
}

/// The helper: sleeps until something is due, but looks at least every so often, since nobody wakes
/// it when a free makes something due.
extern "C" fn help(_: *mut c_void) -> *mut c_void {
    /// Longest sleep.
    const LOOK_AGAIN_MS: u64 = 500;
    /// Shortest, so that a clock that stands still does not make it spin.
    const PAUSE_MS: u64 = 5;
    loop {
        let sleep = superslab::next_purge_in().unwrap_or(LOOK_AGAIN_MS);
        os::sleep(sleep.clamp(PAUSE_MS, LOOK_AGAIN_MS));
        let now = os::now_ms();
        fork::each_member(|account, drain_idle| {
            if account.is_drain_due(now) {
                drain_idle();
            }
        });
        purge_due(usize::MAX);
    }
}
