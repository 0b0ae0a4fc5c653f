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
