//! What checks do to large blocks: on any system, and to what is freed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::account::Terms;
use crate::checks::{BOUNDARY, CANARY, CANARY_BYTES, DOUBLE_FREE, FOREIGN, FULL, HARDENED};
use crate::os::fake::{self, Habits};

const MIB: usize = 1 << 20;

fn request(bytes: usize) -> Request {
    Request { bytes, align: 8 }
}

/// A heap's large half, with its account.
struct Subject<const CHECKS: u16> {
    large: CheckedLarge<CHECKS>,
    account: &'static Account,
}

impl<const CHECKS: u16> Subject<CHECKS> {
    fn new(spans_to: usize, terms: Terms) -> Self {
        let account = Box::leak(Box::new(Account::new("Test", terms)));
        Subject { large: CheckedLarge::new(spans_to, 8 * MIB), account }
    }

    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        self.large.alloc(request, Want::Bytes, self.account)
    }

    fn free(&self, start: NonNull<u8>, request: Request) {
        // SAFETY: tests free what they got for the request, once.
        unsafe { self.large.dealloc(start, request, self.account, |_| None) };
    }

    fn resize(&self, start: NonNull<u8>, old: Request, new_bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: tests resize what they got for the request.
        unsafe { self.large.resize(start, old, new_bytes, self.account, |_| None) }
    }

    /// Bytes of the table, which is never given back.
    fn table_bytes(&self) -> usize {
        self.large.records.lock().registry.table_bytes()
    }
}

fn bytes_of<'a>(start: NonNull<u8>, bytes: usize) -> &'a [u8] {
    // SAFETY: tests look at what is mapped and initialised.
    unsafe { core::slice::from_raw_parts(start.as_ptr(), bytes) }
}

/// What a canary adds to each request.
const fn canary_bytes<const CHECKS: u16>() -> usize {
    if CHECKS & CANARY == 0 { 0 } else { CANARY_BYTES }
}

/// Of a request's bytes those that a program asked for: a canary stands behind them.
fn own<const CHECKS: u16>(bytes: usize) -> usize {
    bytes - canary_bytes::<CHECKS>()
}

fn fill(start: NonNull<u8>, bytes: usize, value: u8) {
    // SAFETY: tests fill what they got.
    unsafe { start.write_bytes(value, bytes) };
}

#[test]
fn a_freed_mapping_is_zero_before_it_is_used_again() {
    for bytes in [100_001, MIB - 1, 6 * MIB + 1] {
        let subject = Subject::<{ FOREIGN | ZERO }>::new(0, Terms::DEFAULT);
        let start = subject.alloc(request(bytes)).unwrap();
        let (whole, less) = (os::whole_pages(bytes).unwrap(), bytes - 70_000);
        fill(start, whole, 7);
        assert_eq!(subject.resize(start, request(bytes), less), Some(start));
        assert!(bytes_of(start, less).iter().all(|&byte| byte == 7));
        // All of it is still mapped: the end that was cut off, and then the rest, are kept.
        let end = &bytes_of(start, whole)[less..];
        assert!(end.iter().all(|&byte| byte == 0));
        subject.free(start, request(less));
        assert!(bytes_of(start, whole).iter().all(|&byte| byte == 0));
        subject.large.trim(subject.account);
        assert_eq!(subject.account.held(), 0);
    }
}

/// It keeps its units when it loses a part of the last one.
#[test]
fn what_a_span_loses_is_zero() {
    let subject = Subject::<{ FOREIGN | ZERO | QUARANTINE }>::new(MIB, Terms::DEFAULT);
    let (long, short) = (request(60_000), request(100));
    let start = subject.alloc(long).unwrap();
    fill(start, long.bytes, 7);
    assert_eq!(subject.resize(start, long, short.bytes), Some(start));
    let (kept, lost) = bytes_of(start, long.bytes).split_at(short.bytes);
    assert!(kept.iter().all(|&byte| byte == 7) && lost.iter().all(|&byte| byte == 0));
    assert_eq!(subject.resize(start, short, long.bytes), Some(start));
    fill(start, long.bytes, 7);
    assert_eq!(subject.resize(start, long, short.bytes), Some(start));
    subject.free(start, short);
    // In quarantine it is still ours.
    assert!(bytes_of(start, long.bytes).iter().all(|&byte| byte == 0));
}

#[test]
fn a_freed_span_is_zero() {
    let subject = Subject::<{ FOREIGN | ZERO | QUARANTINE }>::new(MIB, Terms::DEFAULT);
    let start = subject.alloc(request(100_001)).unwrap();
    fill(start, 100_001, 7);
    subject.free(start, request(100_001));
    // As above.
    assert!(bytes_of(start, 100_001).iter().all(|&byte| byte == 0));
}

#[test]
fn a_block_in_quarantine_is_not_used_again() {
    let subject = Subject::<{ BOUNDARY | QUARANTINE }>::new(0, Terms::DEFAULT);
    let first = subject.alloc(request(MIB)).unwrap();
    subject.free(first, request(MIB));
    assert_eq!(subject.large.kept_bytes(), MIB);
    for _ in 0..31 {
        let next = subject.alloc(request(MIB)).unwrap();
        assert_ne!(next, first);
        subject.free(next, request(MIB));
    }
    assert_eq!(subject.large.kept_bytes(), 32 * MIB);
    let last = subject.alloc(request(2 * MIB)).unwrap();
    subject.free(last, request(2 * MIB));
    assert_eq!(subject.alloc(request(MIB)), Some(first), "the oldest has left");
    let long = subject.alloc(request(65 * MIB)).unwrap();
    subject.free(long, request(65 * MIB));
    subject.free(first, request(MIB));
    subject.large.trim_idle(subject.account);
    assert!(subject.account.held() > 0, "it was used");
    subject.large.trim_idle(subject.account);
    assert_eq!((subject.account.held(), subject.large.kept_bytes()), (0, 0));
}

#[test]
fn of_mappings_in_quarantine_addresses_alone_are_kept() {
    let terms = Terms { limit: 4 * MIB, ..Terms::DEFAULT };
    let subject = Subject::<HARDENED>::new(0, terms);
    let before = fake::mapped_bytes();
    for _ in 0..100 {
        let start = subject.alloc(request(3 * MIB)).expect("what waits is not charged");
        assert_eq!(subject.account.held(), 3 * MIB);
        assert_eq!(subject.alloc(request(2 * MIB)), None, "beyond the limit");
        fill(start, 3 * MIB - CANARY_BYTES, 1);
        subject.free(start, request(3 * MIB));
        let kept = fake::mapped_bytes() - before - subject.table_bytes();
        assert!(kept <= 64 * MIB + 64 * os::page_bytes(), "{kept} bytes");
    }
    subject.large.trim(subject.account);
    assert_eq!(fake::mapped_bytes() - before, subject.table_bytes());
}

#[test]
fn what_the_system_refuses_to_take_is_offered_again() {
    const COUNT: usize = 3000;
    let subject = Subject::<FULL>::new(0, Terms::DEFAULT);
    let before = fake::mapped_bytes();
    let page = request(os::page_bytes());
    let all: Vec<_> = (0..COUNT).map(|_| subject.alloc(page).unwrap()).collect();
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    // SAFETY: there are no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it points to this thread's `errno`.
    unsafe { errno.write(77) };
    for &start in &all {
        subject.free(start, page);
    }
    assert_eq!(subject.alloc(page), None);
    subject.large.trim(subject.account);
    // SAFETY: it points to this thread's `errno`.
    assert_eq!(unsafe { errno.read() }, 77, "a free does not change it");
    assert_eq!(subject.account.held(), COUNT * os::page_bytes());
    fake::behave(Habits::USUAL);
    subject.large.trim(subject.account);
    assert_eq!(subject.account.held(), 0);
    assert_eq!(fake::mapped_bytes() - before, subject.table_bytes());
    let is_remembered = |start: &&NonNull<u8>| subject.large.find(**start) == Found::Freed(page);
    assert_eq!(all.iter().filter(is_remembered).count(), 1024);
}

#[test]
fn without_room_on_record_nothing_is_served() {
    let subject = Subject::<{ FOREIGN | DOUBLE_FREE }>::new(0, Terms::DEFAULT);
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    assert_eq!(subject.alloc(request(MIB)), None);
    fake::behave(Habits::USUAL);
    let kept = subject.alloc(request(MIB)).unwrap();
    subject.free(kept, request(MIB));
    fake::behave(Habits { refuse_one_in: 1, ..Habits::USUAL });
    // What is kept is served without the system, but the table cannot grow.
    let all: Vec<_> = core::iter::from_fn(|| subject.alloc(request(1))).collect();
    assert_eq!((all.len(), all[0]), (32, kept));
    assert_eq!(subject.large.kept_bytes(), MIB - 32 * os::page_bytes());
    fake::behave(Habits::USUAL);
    assert!(subject.alloc(request(1)).is_some());
}

#[test]
fn an_address_is_described() {
    let subject = Subject::<BOUNDARY>::new(MIB, Terms::DEFAULT);
    let start = subject.alloc(request(200_000)).unwrap();
    // SAFETY: the block is longer.
    let inside = unsafe { start.add(1) };
    assert_eq!(subject.large.find(start), Found::Start(request(200_000)));
    assert_eq!(subject.large.find(inside), Found::Inside(Block { start, bytes: 200_000 }));
    subject.free(start, request(200_000));
    assert_eq!(subject.large.find(start), Found::Freed(request(200_000)));
    assert_eq!(subject.large.find(inside), Found::Nowhere);
}

/// One thing that a program does: the bytes are those it asks for. Which of its blocks is meant
/// is taken modulo their number.
#[derive(Debug, Clone, Copy)]
enum Step {
    Alloc { bytes: usize, align: usize, zeroed: bool },
    Free { which: usize },
    Resize { which: usize, bytes: usize },
    Trim,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop_oneof![0..300_000usize, 0..3 * MIB];
    let align = (0..18u32).prop_map(|shift| 1 << shift);
    prop_oneof![
        4 => (bytes(), align, any::<bool>())
            .prop_map(|(bytes, align, zeroed)| Step::Alloc { bytes, align, zeroed }),
        3 => any::<usize>().prop_map(|which| Step::Free { which }),
        2 => (any::<usize>(), bytes()).prop_map(|(which, bytes)| Step::Resize { which, bytes }),
        1 => Just(Step::Trim),
    ]
}

/// The blocks of a program, by address: what was asked for, and what they are filled with.
type Blocks = BTreeMap<usize, (NonNull<u8>, Request, u8)>;

fn nth(blocks: &Blocks, which: usize) -> Option<(NonNull<u8>, Request, u8)> {
    blocks.values().nth(which.checked_rem(blocks.len())?).copied()
}

/// Whether the bytes that a program asked for have its value at both ends.
fn ends_hold<const CHECKS: u16>(start: NonNull<u8>, bytes: usize, value: u8) -> bool {
    let block = bytes_of(start, own::<CHECKS>(bytes));
    block.iter().take(64).chain(block.iter().rev().take(64)).all(|&byte| byte == value)
}

fn run<const CHECKS: u16>(habits: Habits, steps: &[Step]) {
    let subject = Subject::<CHECKS>::new(MIB, Terms::DEFAULT);
    let mut blocks = Blocks::new();
    fake::behave(habits);
    for (value, &step) in (1..).zip(steps) {
        take_step(&subject, &mut blocks, step, value);
    }
    while let Some((_, (start, request, value))) = blocks.pop_first() {
        assert!(ends_hold::<CHECKS>(start, request.bytes, value));
        subject.free(start, request);
    }
    fake::behave(Habits { refuse_one_in: 0, ..habits });
    subject.large.trim(subject.account);
    fake::behave(Habits::USUAL);
    assert_eq!(subject.account.held(), 0);
    assert!(subject.large.records.lock().registry.is_settled());
}

fn take_step<const CHECKS: u16>(
    subject: &Subject<CHECKS>,
    blocks: &mut Blocks,
    step: Step,
    value: u8,
) {
    match step {
        Step::Alloc { bytes, align, zeroed } => {
            let request = Request { bytes: bytes + canary_bytes::<CHECKS>(), align };
            let want = if zeroed { Want::Zeros } else { Want::Bytes };
            let start = subject.large.alloc(request, want, subject.account);
            let Some(start) = start else { return };
            assert!(start.addr().get().is_multiple_of(align));
            // Slices are compared faster than bytes are looked at.
            assert!(!zeroed || bytes_of(start, bytes) == vec![0; bytes]);
            fill(start, bytes, value);
            let before = blocks.insert(start.addr().get(), (start, request, value));
            assert!(before.is_none());
        }
        Step::Free { which } => {
            let Some((start, request, value)) = nth(blocks, which) else { return };
            blocks.remove(&start.addr().get());
            assert!(ends_hold::<CHECKS>(start, request.bytes, value));
            subject.free(start, request);
        }
        Step::Resize { which, bytes } => {
            let Some((start, request, before)) = nth(blocks, which) else { return };
            let new = Request { bytes: bytes + canary_bytes::<CHECKS>(), ..request };
            let Some(moved) = subject.resize(start, request, new.bytes) else { return };
            assert!(ends_hold::<CHECKS>(moved, new.bytes.min(request.bytes).min(64), before));
            blocks.remove(&start.addr().get());
            fill(moved, bytes, value);
            blocks.insert(moved.addr().get(), (moved, new, value));
        }
        Step::Trim => subject.large.trim(subject.account),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn programs_live_with_any_checks_and_any_system(
        refuse_one_in in prop_oneof![Just(0), 2..9u32],
        page_bytes in prop_oneof![Just(4096), Just(16_384)],
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let habits = Habits { page_bytes, refuse_one_in, ..Habits::USUAL };
        run::<FOREIGN>(habits, &steps);
        run::<BOUNDARY>(habits, &steps);
        run::<{ BOUNDARY | ZERO }>(habits, &steps);
        run::<{ BOUNDARY | ZERO | QUARANTINE }>(habits, &steps);
        run::<FULL>(habits, &steps);
        run::<{ BOUNDARY | GUARD }>(habits, &steps);
        run::<HARDENED>(habits, &steps);
    }
}
