//! Models of the pool of superslabs: runs that are taken, given back, claimed and purged.
//!
//! A run is touched by whoever holds it and by the system that discards it, so a run that two of
//! them hold at a time fails the model.

use loom::thread;

use super::*;
use crate::account::{Purge, PurgeHow, Terms};
use crate::os::fake;
use crate::sync::modelled::{check, touch};

const fn account(units: usize) -> Account {
    let purge = Purge::After { milliseconds: 0, how: PurgeHow::DontNeed, helper: false };
    Account::new("Model", Terms { limit: units * UNIT_BYTES, purge, ..Terms::DEFAULT })
}

static ACCOUNT: Account = account(3 * 31);

/// Uses each unit of a range.
fn touch_all(start: NonNull<u8>, bytes: usize) {
    for unit in 0..bytes / UNIT_BYTES {
        touch(start.as_ptr().wrapping_add(unit * UNIT_BYTES));
    }
}

/// Takes a run, and uses it.
fn take(units: u32) -> Option<Run> {
    let run = alloc_run(units, &ACCOUNT)?;
    touch_all(run.start(), units as usize * UNIT_BYTES);
    Some(run)
}

fn give(run: Run, units: u32) {
    touch_all(run.start(), units as usize * UNIT_BYTES);
    // SAFETY: each model gives what it took, once.
    assert!(unsafe { free_run(run.superslab, run.first, units, &ACCOUNT) });
}

/// Takes and gives back once, so that what all threads share was used before they start. Gives the
/// superslab, in which all units are free and dirty.
fn begin() -> NonNull<Superslab> {
    // A discard changes nothing here: the cells in the units remember who used them.
    fake::behave(fake::Habits { ignores_dontneed: true, ..fake::Habits::USUAL });
    fake::on_discard(touch_all);
    let all = take(31).unwrap();
    give(all, 31);
    is_purge_due();
    all.superslab
}

/// No unit is lost: each superslab has a run of all its units. There is a second superslab when
/// someone wanted a run while all units of the first were claimed.
fn all_are_there(superslab: NonNull<Superslab>) {
    let superslabs: Vec<_> = all().collect();
    assert_eq!(superslabs.last(), Some(&superslab));
    let runs = superslabs.iter().map(|_| take(31).unwrap());
    assert!(runs.map(|run| run.superslab).all(|superslab| superslabs.contains(&superslab)));
    assert_eq!(ACCOUNT.held(), superslabs.len() * 31 * UNIT_BYTES);
}

#[test]
fn runs_of_two_threads_are_disjoint() {
    check(6, || {
        let superslab = begin();
        let other = thread::spawn(|| {
            let run = take(2).unwrap();
            give(run, 2);
        });
        let (a, b) = (take(1).unwrap(), take(3).unwrap());
        give(a, 1);
        give(b, 3);
        other.join().unwrap();
        all_are_there(superslab);
    });
}

#[test]
fn a_purge_claims_only_what_no_one_uses() {
    check(6, || {
        let superslab = begin();
        let user = thread::spawn(|| {
            let run = take(2).unwrap();
            give(run, 2);
            if let Some(run) = take(1) {
                give(run, 1);
            }
        });
        claim_now(superslab, false).map(Claim::purge);
        user.join().unwrap();
        all_are_there(superslab);
    });
}

#[test]
fn two_purges_claim_different_units() {
    check(6, || {
        let superslab = begin();
        let visitor = thread::spawn(|| claim_due().map_or(0, Claim::purge));
        let mut bytes = claim_due().map_or(0, Claim::purge);
        let run = take(1).unwrap();
        bytes += visitor.join().unwrap();
        assert_eq!(bytes, 31 * UNIT_BYTES, "what is due is purged, once");
        give(run, 1);
        all_are_there(superslab);
    });
}

/// What is freed while another thread finds nothing due is not forgotten.
#[test]
fn what_becomes_due_is_found() {
    check(6, || {
        let superslab = begin();
        assert_eq!(claim_due().map_or(0, Claim::purge), 31 * UNIT_BYTES);
        let run = take(2).unwrap();
        let visitor = thread::spawn(|| while claim_due().map(Claim::purge).is_some() {});
        give(run, 2);
        visitor.join().unwrap();
        if is_purge_due() {
            while claim_due().map(Claim::purge).is_some() {}
        }
        assert!(!is_purge_due());
        // SAFETY: there is one thread now.
        let shared = unsafe { Superslab::shared(superslab) };
        assert!(!shared.is_waiting && shared.claimed == 0);
        all_are_there(superslab);
    });
}

#[test]
fn a_run_grows_only_into_units_that_no_one_holds() {
    check(6, || {
        let superslab = begin();
        let run = take(1).unwrap();
        let other = thread::spawn(|| take(1).map(|run| give(run, 1)));
        // SAFETY: the run is ours.
        let grown = unsafe { extend_run(superslab, run.first, 1, 3, &ACCOUNT) };
        give(run, if grown { 3 } else { 1 });
        other.join().unwrap();
        all_are_there(superslab);
    });
}

/// A run that grows, and that is used.
fn take_growing(units: u32) -> Run {
    let run = alloc_growing_run(units, &ACCOUNT).unwrap();
    touch_all(run.start(), units as usize * UNIT_BYTES);
    run
}

fn extend(run: Run, units: u32, wanted: u32) -> bool {
    // SAFETY: each model owns what it extends.
    let extended = unsafe { extend_run(run.superslab, run.first, units, wanted, &ACCOUNT) };
    if extended {
        touch_all(run.start(), wanted as usize * UNIT_BYTES);
    }
    extended
}

/// Bits of the units that are reserved.
fn reserved(superslab: NonNull<Superslab>) -> u32 {
    let _pool = UNITS_POOL.lock();
    // SAFETY: the lock is held.
    unsafe { Superslab::shared(superslab) }.reserved
}

#[test]
fn others_keep_out_of_the_way_of_a_run_that_grows() {
    check(3, || {
        begin();
        let grows = take_growing(2);
        let superslab = grows.superslab;
        assert_eq!(grows.first, 16);
        let below = take(14).unwrap();
        let other = thread::spawn(|| {
            let run = take(3).unwrap();
            assert_eq!(all().count(), 2, "there is no room beside the two");
            give(run, 3);
        });
        assert!(extend(grows, 2, 9) && extend(grows, 9, 16));
        other.join().unwrap();
        assert_eq!((below.superslab, reserved(superslab)), (superslab, 0));
        give(below, 14);
        give(grows, 16);
        all_are_there(superslab);
    });
}

#[test]
fn what_is_reserved_for_another_is_no_room_to_grow() {
    check(1, || {
        begin();
        let (grows, below) = (take_growing(1), take(1).unwrap());
        assert!(extend(below, 1, 15));
        give(grows, 1);
        assert!(extend(below, 15, 17), "no one is there, and nothing is reserved");
        let elsewhere = take_growing(1);
        assert_ne!(elsewhere.superslab, below.superslab);
        give(Run { first: 15, ..below }, 3);
        let grows = take_growing(1);
        assert_eq!((grows.superslab, grows.first), (below.superslab, 16));
        assert!(extend(below, 14, 15) && !extend(below, 15, 17));
        give(below, 15);
        give(grows, 1);
        give(elsewhere, 1);
        all_are_there(below.superslab);
    });
}

#[test]
fn a_run_that_is_freed_or_shrinks_reserves_nothing() {
    check(1, || {
        begin();
        let (grows, below) = (take_growing(4), take(4).unwrap());
        let superslab = grows.superslab;
        give(below, 4);
        assert_eq!(reserved(superslab).count_ones(), 16 - 4, "what is below has none");
        give(Run { first: 18, ..grows }, 2);
        assert_eq!(reserved(superslab), 0);
        assert!(extend(grows, 2, 3), "it may grow on, since no one came");
        give(grows, 3);
        give(take_growing(1), 1);
        assert_eq!(reserved(superslab), 0);
        all_are_there(superslab);
    });
}
