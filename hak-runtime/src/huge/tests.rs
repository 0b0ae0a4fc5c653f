//! Tests of huge allocations, on the fake system.

use super::*;
use crate::os::fake::{self, Habits};

const MIB: usize = 1 << 20;

#[test]
fn a_freed_mapping_is_used_again_and_split() {
    let account = Account::for_test();
    let huge = Huge::new(8 * MIB);
    let first = huge.alloc(4 * MIB, 1, false, account).unwrap();
    // SAFETY: allocated above with this size.
    unsafe { huge.free(first, 4 * MIB, account) };
    assert_eq!(huge.kept_bytes(), 4 * MIB);
    assert_eq!(huge.alloc(MIB, 4096, false, account), Some(first));
    assert_eq!(huge.kept_bytes(), 3 * MIB);
    let rest = huge.alloc(3 * MIB, 1, false, account).unwrap();
    assert_eq!(rest.addr().get(), first.addr().get() + MIB);
    assert_eq!(huge.kept_bytes(), 0);
}

#[test]
fn a_longer_request_takes_the_longest_and_makes_it_longer() {
    let account = Account::for_test();
    let huge = Huge::new(8 * MIB);
    // The first part of each stays in use, so that the others do not touch.
    let [short, long] = [3, 5].map(|mib| huge.alloc(mib * MIB, 1, false, account).unwrap());
    // SAFETY: within what was allocated above.
    let [short, long] = [short, long].map(|start| unsafe { start.add(MIB) });
    // SAFETY: allocated above, and that long.
    unsafe { long.write_bytes(7, 4 * MIB) };
    for (start, bytes) in [(short, 2 * MIB), (long, 4 * MIB)] {
        // SAFETY: as above.
        unsafe { huge.free(start, bytes, account) };
    }
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    assert_eq!(huge.alloc(6 * MIB, 1, false, account), None);
    assert_eq!((huge.kept_bytes(), account.held()), (6 * MIB, 8 * MIB), "nothing is lost");
    fake::behave(Habits::USUAL);
    let six = huge.alloc(6 * MIB, 1, true, account).unwrap();
    assert_eq!((huge.kept_bytes(), account.held()), (2 * MIB, 10 * MIB));
    // SAFETY: the block has that many bytes.
    let found = unsafe { core::slice::from_raw_parts(six.as_ptr(), 6 * MIB) };
    assert!(found.iter().all(|&byte| byte == 0));
    let aligned = huge.alloc(3 * MIB, 2 * MIB, false, account).unwrap();
    assert!(aligned.addr().get().is_multiple_of(2 * MIB));
    assert_eq!(huge.kept_bytes(), 2 * MIB, "a move might lose the alignment");
}

#[test]
fn pieces_of_a_mapping_become_one_again() {
    let account = Account::for_test();
    let huge = Huge::new(8 * MIB);
    let whole = huge.alloc(6 * MIB, 1, false, account).unwrap();
    // SAFETY: allocated above with this size.
    unsafe { huge.free(whole, 6 * MIB, account) };
    let pieces = [(); 3].map(|()| huge.alloc(2 * MIB, 1, false, account).unwrap());
    for piece in [pieces[0], pieces[2], pieces[1]] {
        // SAFETY: allocated above with this size.
        unsafe { huge.free(piece, 2 * MIB, account) };
    }
    assert_eq!(huge.alloc(6 * MIB, 1, false, account), Some(whole));
    // SAFETY: as above.
    unsafe { huge.free(whole, 6 * MIB, account) };
}

#[test]
fn of_what_is_too_much_the_end_of_the_oldest_goes() {
    let account = Account::for_test();
    let huge = Huge::new(8 * MIB);
    // The first part of each stays in use, so that the others do not touch.
    let [first, second] = [7, 4].map(|mib| huge.alloc(mib * MIB, 1, false, account).unwrap());
    // SAFETY: within what was allocated above.
    let [first, second] = [first, second].map(|start| unsafe { start.add(MIB) });
    // SAFETY: allocated above, and that long.
    unsafe { huge.free(first, 6 * MIB, account) };
    // SAFETY: as above.
    unsafe { huge.free(second, 3 * MIB, account) };
    assert_eq!((huge.kept_bytes(), account.held()), (8 * MIB, 10 * MIB));
    assert_eq!(huge.alloc(5 * MIB, 1, false, account), Some(first));
}

#[test]
fn a_bound_need_not_be_whole_os_pages() {
    let account = Account::for_test();
    let huge = Huge::new(8 * MIB + 100);
    let all = [(); 3].map(|()| huge.alloc(3 * MIB, 1, false, account).unwrap());
    for start in all {
        // SAFETY: allocated above with this size.
        unsafe { huge.free(start, 3 * MIB, account) };
    }
    assert_eq!((huge.kept_bytes(), account.held()), (8 * MIB, 8 * MIB));
    huge.trim(account);
    assert_eq!(account.held(), 0, "the system refused nothing");
}

#[test]
fn a_zeroed_request_uses_a_kept_mapping_and_finds_it_zero() {
    for bytes in [2 * MIB, 8 * MIB] {
        let account = Account::for_test();
        let huge = Huge::new(8 * MIB);
        let used = huge.alloc(bytes, 1, false, account).unwrap();
        // SAFETY: allocated above with this size.
        unsafe { used.write_bytes(7, bytes) };
        // SAFETY: as above, and not used below.
        unsafe { huge.free(used, bytes, account) };
        assert_eq!(huge.alloc(bytes, 1, true, account), Some(used));
        // SAFETY: the block has that many bytes.
        let found = unsafe { core::slice::from_raw_parts(used.as_ptr(), bytes) };
        assert!(found.iter().all(|&byte| byte == 0));
        // SAFETY: as above, and not used below.
        unsafe { huge.free(used, bytes, account) };
        huge.trim_idle(account);
        assert_eq!(huge.kept_bytes(), bytes, "it was used");
        huge.trim_idle(account);
        assert_eq!(huge.kept_bytes(), 0, "nobody used it since");
    }
}

#[test]
fn no_more_is_kept_than_the_bound() {
    let account = Account::for_test();
    let huge = Huge::new(8 * MIB);
    let all: Vec<_> = (0..40).map(|_| huge.alloc(3 * MIB, 1, false, account).unwrap()).collect();
    for start in all {
        // SAFETY: allocated above with this size.
        unsafe { huge.free(start, 3 * MIB, account) };
        assert!(huge.kept_bytes() <= 8 * MIB);
    }
    assert_eq!(huge.kept_bytes(), 8 * MIB);
    assert_eq!(account.held(), 8 * MIB);
    huge.trim(account);
    assert_eq!(account.held(), 0);
}

#[test]
fn growing_keeps_contents_and_adds_zeros() {
    let account = Account::for_test();
    let huge = Huge::new(0);
    let start = huge.alloc(2 * MIB, 1, true, account).unwrap();
    // SAFETY: the block has 2 MiB.
    unsafe { start.write_bytes(7, 2 * MIB) };
    // SAFETY: allocated above; only the result is used from here on.
    let grown = unsafe { huge.resize(start, 2 * MIB, 64 * MIB, 1, account) }.unwrap();
    // SAFETY: the block has 64 MiB, written or zero.
    let bytes = unsafe { core::slice::from_raw_parts(grown.as_ptr(), 64 * MIB) };
    assert!(bytes[..2 * MIB].iter().all(|&byte| byte == 7));
    assert!(bytes[2 * MIB..].iter().all(|&byte| byte == 0));
}

#[test]
fn what_the_system_refuses_is_used_again_and_offered_again() {
    let account = Account::for_test();
    let huge = Huge::new(0);
    let before = fake::mapped_bytes();
    let first = huge.alloc(4 * MIB, 1, false, account).unwrap();
    let second = huge.alloc(2 * MIB, 1, false, account).unwrap();
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    // SAFETY: allocated above with this size.
    unsafe { huge.free(first, 4 * MIB, account) };
    // SAFETY: as above. It is the first in the list.
    unsafe { huge.free(second, 2 * MIB, account) };
    assert_eq!(huge.alloc(3 * MIB, 1, false, account), Some(first));
    assert_eq!(huge.alloc(2 * MIB, 1, false, account), Some(second));
    assert_eq!(huge.alloc(2 * MIB, 1, false, account), None);
    assert_eq!(account.held(), 6 * MIB);
    // SAFETY: allocated above with this size.
    unsafe { huge.free(first, 3 * MIB, account) };
    huge.trim(account);
    assert_eq!(account.held(), 6 * MIB, "nothing is lost while the system refuses");
    fake::behave(Habits::USUAL);
    huge.trim(account);
    assert_eq!(account.held(), 2 * MIB);
    // SAFETY: allocated above with this size.
    unsafe { huge.free(second, 2 * MIB, account) };
    assert_eq!((account.held(), fake::mapped_bytes()), (0, before));
}
