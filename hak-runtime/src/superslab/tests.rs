//! Runs that come and go. What is shared by all threads is in `models`.

use super::*;
use crate::os::fake::{self, ALONE, Habits};

#[test]
fn runs_are_disjoint_and_come_back() {
    let _alone = ALONE.lock();
    let account = Account::for_test();
    let sizes = [1, 31, 4, 16, 2, 9, 1, 7, 30, 3];
    let runs: Vec<_> =
        sizes.iter().map(|&units| (alloc_run(units, account).unwrap(), units as usize)).collect();
    let mut places: Vec<_> =
        runs.iter().map(|(run, units)| (run.start().addr().get(), units * UNIT_BYTES)).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
    for (run, units) in runs {
        let last = run.first + u32::try_from(units).unwrap() - 1;
        // SAFETY: the run is held.
        assert_eq!(unsafe { Superslab::head(run.superslab, last) }, run.first);
        let units = u32::try_from(units).unwrap();
        // SAFETY: the run was handed out above and is not used.
        assert!(unsafe { free_run(run.superslab, run.first, units, account) });
    }
    assert_eq!(account.held(), 0);
}

#[test]
fn claimed_units_are_purged() {
    let _alone = ALONE.lock();
    let account = Account::for_test();
    let run = alloc_run(31, account).unwrap();
    // SAFETY: the run is ours.
    unsafe { run.start().write_bytes(1, 31 * UNIT_BYTES) };
    // SAFETY: the run is ours, and not used below.
    assert!(unsafe { free_run(run.superslab, run.first, 31, account) });
    // Other tests may have taken a few of its units meanwhile.
    let claim = claim_now(run.superslab, false).expect("some of 31 free units are left");
    let claimed = claim.units.count_ones() as usize;
    assert_eq!(claim.purge(), claimed * UNIT_BYTES);
}

#[test]
fn reserves_are_few_of_all() {
    let _alone = ALONE.lock();
    let account = Account::for_test();
    let before = all().count();
    let runs: Vec<_> = (0..1000).map(|_| alloc_growing_run(1, account).unwrap()).collect();
    let reserved = UNITS_POOL.lock().reserves;
    assert_eq!(runs.iter().filter(|run| run.first == ROOM.trailing_zeros()).count(), reserved);
    assert!((64..=64.max(all().count() / 4)).contains(&reserved), "{reserved} reserves");
    assert!(all().count() <= before + 64 + 1000 / 15 + 1, "others stand below them");
    for run in runs {
        // SAFETY: the run is ours, and not used.
        assert!(unsafe { free_run(run.superslab, run.first, 1, account) });
    }
    assert_eq!(UNITS_POOL.lock().reserves, 0);
}

#[test]
fn reserves_are_given_up_when_the_system_has_no_more() {
    let _alone = ALONE.lock();
    let account = Account::for_test();
    let free = |run: Run| {
        // SAFETY: the runs are ours, and not used.
        assert!(unsafe { free_run(run.superslab, run.first, 1, account) });
    };
    let growing = alloc_growing_run(1, account).unwrap();
    let reserved = || {
        let _pool = UNITS_POOL.lock();
        // SAFETY: the lock is held.
        let shared = unsafe { Superslab::shared(growing.superslab) };
        shared.reserved
    };
    assert_ne!(reserved(), 0);
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    let others: Vec<_> = core::iter::from_fn(|| alloc_run(1, account)).collect();
    fake::behave(Habits::USUAL);
    assert_eq!(reserved(), 0);
    others.into_iter().chain([growing]).for_each(free);
    assert_eq!(account.held(), 0);
}
