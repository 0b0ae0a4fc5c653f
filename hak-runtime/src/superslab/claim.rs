//! Dirty units on their way back to the system: claimed, purged, and free again.

use core::ptr::{self, NonNull};

use super::pool::{NEVER, NEXT_DUE_MS, UNITS_POOL};
use super::runs::run_mask;
use super::{Run, Superslab, UNIT_BYTES};
use crate::os;
use crate::sync::Ordering;

/// Dirty units that were claimed, to have their OS pages returned (rule 4).
#[must_use = "claimed units are lost until they are purged"]
pub(crate) struct Claim {
    pub(super) superslab: NonNull<Superslab>,
    pub(super) units: u32,
    pub(super) lazily: bool,
}

/// Whether some dirty units may be due now. Cheap: it reads the clock only when some wait.
#[inline]
pub(crate) fn is_purge_due() -> bool {
    let due = NEXT_DUE_MS.load(Ordering::Relaxed);
    due != NEVER && due <= os::now_ms()
}

/// Milliseconds until dirty units may be due; `None` when none wait.
pub(crate) fn next_purge_in() -> Option<u64> {
    match NEXT_DUE_MS.load(Ordering::Relaxed) {
        NEVER => None,
        due => Some(due.saturating_sub(os::now_ms())),
    }
}

/// Claims the dirty units of a superslab that is due, if one is.
pub(crate) fn claim_due() -> Option<Claim> {
    let now = os::now_ms();
    let mut pool = UNITS_POOL.lock();
    let mut next_due = NEVER;
    let mut first_kept = ptr::null_mut();
    while let Some(first) = NonNull::new(pool.first_waiting) {
        let (due_ms, lazily) = {
            // SAFETY: the lock is held (rule 1).
            let shared = unsafe { Superslab::shared(first) };
            (shared.due_ms, shared.lazily)
        };
        if first.as_ptr() == first_kept {
            break;
        }
        pool.end_wait(first);
        if due_ms > now {
            // More was freed in it since it began to wait: it waits on, behind the others.
            pool.wait_on(first);
            next_due = next_due.min(due_ms);
            first_kept = if first_kept.is_null() { first.as_ptr() } else { first_kept };
        } else if let Some(claim) = pool.claim(first, lazily) {
            return Some(claim);
        }
    }
    NEXT_DUE_MS.store(next_due, Ordering::Relaxed);
    None
}

/// Claims the dirty units of a superslab, due or not, if it has any.
pub(crate) fn claim_now(superslab: NonNull<Superslab>, lazily: bool) -> Option<Claim> {
    UNITS_POOL.lock().claim(superslab, lazily)
}

impl Claim {
    /// Returns the claimed units' OS pages to the system, and the units to the free ones; gives
    /// the bytes that the system took.
    pub(crate) fn purge(self) -> usize {
        let mut zeroed = !self.lazily && os::dontneed_zeroes();
        let (mut rest, mut bytes) = (self.units, 0);
        while rest != 0 {
            let first = rest.trailing_zeros();
            let units = (rest >> first).trailing_ones();
            rest &= !run_mask(first, units);
            let start = Run { superslab: self.superslab, first, clean: false }.start();
            let length = units as usize * UNIT_BYTES;
            // SAFETY: claimed units are used by no one (rule 4).
            if unsafe { os::discard(start, length, self.lazily) } {
                bytes += length;
            } else {
                zeroed = false;
            }
        }
        let mut pool = UNITS_POOL.lock();
        pool.set_free(self.superslab, self.units, zeroed);
        if self.lazily && bytes > 0 {
            // SAFETY: the lock is held (rule 1).
            unsafe { Superslab::shared(self.superslab) }.offered |= self.units;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{alloc_run, dirty_bytes, free_run};
    use super::*;
    use crate::account::{Account, Purge, PurgeHow, Terms};
    use crate::os::fake::{self, ALONE, Habits};

    const DELAY_MS: u64 = 10;

    /// An account with a delay; nothing is left to purge.
    fn begin() -> &'static Account {
        fake::let_pass(1 << 20);
        while claim_due().map(Claim::purge).is_some() {}
        assert!(!is_purge_due() && next_purge_in().is_none());
        let how = PurgeHow::DontNeed;
        let purge = Purge::After { milliseconds: DELAY_MS, how, helper: false };
        Box::leak(Box::new(Account::new("Test", Terms { purge, ..Terms::DEFAULT })))
    }

    fn free(run: Run, first: u32, units: u32, account: &Account) -> bool {
        // SAFETY: the tests own the run, and free each part of it once, or where that is told.
        unsafe { free_run(run.superslab, first, units, account) }
    }

    #[test]
    fn units_are_due_after_the_delay() {
        let _alone = ALONE.lock();
        let account = begin();
        let run = alloc_run(31, account).unwrap();
        assert!(free(run, run.first, 31, account));
        assert_eq!(next_purge_in(), Some(DELAY_MS));
        fake::let_pass(DELAY_MS - 1);
        assert!(!is_purge_due() && claim_due().is_none());
        fake::let_pass(1);
        assert!(is_purge_due());
        assert!(
            claim_due().is_some_and(|claim| claim.superslab == run.superslab && claim.purge() > 0)
        );
        assert!(claim_due().is_none() && !is_purge_due());
    }

    #[test]
    fn a_superslab_with_new_free_units_waits_anew_but_not_for_ever() {
        let _alone = ALONE.lock();
        let account = begin();
        let run = alloc_run(31, account).unwrap();
        for unit in 0..8 {
            assert!(free(run, run.first + unit, 1, account));
            let is_due = unit == 7;
            assert_eq!(is_purge_due() && claim_due().map(Claim::purge).is_some(), is_due);
            fake::let_pass(if unit == 6 { DELAY_MS } else { DELAY_MS / 2 });
        }
        assert!(free(run, run.first + 8, 23, account));
        fake::let_pass(DELAY_MS);
        while claim_due().map(Claim::purge).is_some() {}
    }

    #[test]
    fn a_purge_leaves_others_due() {
        let _alone = ALONE.lock();
        let account = begin();
        let runs = [(); 2].map(|()| alloc_run(31, account).unwrap());
        for run in runs {
            assert!(free(run, run.first, 31, account));
        }
        fake::let_pass(DELAY_MS);
        for run in runs {
            assert!(is_purge_due());
            let claim = claim_due().unwrap();
            assert_eq!(claim.superslab, run.superslab, "first come, first purged");
            claim.purge();
        }
        assert!(claim_due().is_none() && !is_purge_due());
    }

    #[test]
    fn claimed_units_cannot_be_freed_again() {
        let _alone = ALONE.lock();
        let account = begin();
        let run = alloc_run(31, account).unwrap();
        assert!(free(run, run.first, 31, account));
        let claim = claim_now(run.superslab, false).unwrap();
        let claimed = claim.units.trailing_zeros();
        assert!(!free(run, claimed, 1, account), "a double free");
        claim.purge();
        assert!(!free(run, claimed, 1, account), "a double free");
    }

    /// A fork leaves the child without the thread that purges.
    #[test]
    fn a_forked_child_has_claimed_units_back() {
        let _alone = ALONE.lock();
        let account = begin();
        let run = alloc_run(31, account).unwrap();
        assert!(free(run, run.first, 31, account));
        let claim = claim_now(run.superslab, false).unwrap();
        super::super::before_fork();
        // SAFETY: between the two, as a child would do it.
        unsafe { super::super::unclaim() };
        // SAFETY: follows `before_fork`.
        unsafe { super::super::after_fork() };
        let again = claim_now(run.superslab, false).unwrap();
        assert_eq!(again.units & claim.units, claim.units);
        again.purge();
    }

    /// Units that were offered to the system, used, and freed are offered again.
    #[test]
    fn what_was_offered_and_used_is_dirty() {
        let _alone = ALONE.lock();
        let account = begin();
        let run = alloc_run(31, account).unwrap();
        assert!(free(run, run.first, 31, account));
        claim_now(run.superslab, true).unwrap().purge();
        assert!(claim_now(run.superslab, true).is_none());
        let again = alloc_run(31, account).unwrap();
        assert!(free(again, again.first, 31, account));
        let claim = claim_now(again.superslab, true).unwrap();
        assert_eq!(claim.units, run_mask(again.first, 31));
        claim.purge();
    }

    #[test]
    fn units_that_the_system_kept_stay_dirty() {
        let _alone = ALONE.lock();
        let account = begin();
        for habits in [
            Habits { ignores_dontneed: true, ..Habits::USUAL },
            Habits { refuse_one_in: 1, ..Habits::USUAL },
        ] {
            let run = alloc_run(31, account).unwrap();
            assert!(free(run, run.first, 31, account));
            let dirty = dirty_bytes();
            fake::behave(habits);
            claim_now(run.superslab, false).unwrap().purge();
            fake::behave(Habits::USUAL);
            assert_eq!(dirty_bytes(), dirty);
        }
    }

    /// When the system has no more, memory that is being purged is waited for.
    #[test]
    fn claimed_units_are_no_reason_to_fail() {
        let _alone = ALONE.lock();
        let account = begin();
        fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
        // All others are in use.
        let all: Vec<_> = core::iter::from_fn(|| alloc_run(31, account)).collect();
        fake::behave(Habits::USUAL);
        let run = alloc_run(31, account).unwrap();
        assert!(free(run, run.first, 31, account));
        let claim = claim_now(run.superslab, false).unwrap();
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
                alloc_run(31, account).is_some_and(|run| free(run, run.first, 31, account))
            });
            std::thread::sleep(core::time::Duration::from_millis(20));
            claim.purge();
            assert!(taker.join().unwrap());
        });
        for run in all {
            assert!(free(run, run.first, 31, account));
        }
    }
}
