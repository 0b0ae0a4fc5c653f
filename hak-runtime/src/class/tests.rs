//! Classes and their slabs: order, retirement, and what is done with each new slab.

use core::cell::{Cell, RefCell};

use super::*;
use crate::account::{SlabGuard, Terms};
use crate::size_class::BLOCKS_MAX;

fn class_of(bytes: u32, units: u32) -> &'static Class {
    let whole = units * u32::try_from(UNIT_BYTES).unwrap();
    let blocks = (whole / bytes).min(BLOCKS_MAX);
    let size = SizeClass::new([bytes, 64, 16, 16, 0], [units, blocks]);
    Box::leak(Box::new(Class::new(Account::for_test(), size)))
}

/// Slabs that the class holds, and free blocks in them.
fn holds(class: &Class) -> (usize, usize) {
    let mut sum = (0, 0);
    each_slab(core::slice::from_ref(class), |_, free| sum = (sum.0 + 1, sum.1 + free));
    sum
}

#[test]
fn blocks_come_in_address_order_from_the_last_place() {
    let class = class_of(48, 1);
    let mut places = [ptr::null_mut(); 100];
    // SAFETY: there are that many places.
    assert_eq!(unsafe { class.take(100, places.as_mut_ptr()) }, 100);
    assert!(places.windows(2).all(|pair| pair[0].addr() == pair[1].addr() + 48));
    // SAFETY: taken above.
    unsafe { class.give_back(&places) };
    assert_eq!(holds(class).1, class.size.blocks as usize);
}

#[test]
fn whole_slabs_are_retired_but_for_one() {
    let class = class_of(4096, 1);
    let mut places = [ptr::null_mut(); 160];
    // SAFETY: there are that many places.
    unsafe { class.take(160, places.as_mut_ptr()) };
    assert_eq!(holds(class).0, 10);
    // SAFETY: taken above.
    unsafe { class.give_back(&places) };
    assert_eq!(holds(class).0, 1);
    class.trim();
    assert_eq!(holds(class).0, 0);
    assert_eq!(class.account.held(), 0);
}

/// A class with room for a guard, whose hooks write down what they were called with.
fn hooked() -> &'static Class {
    const SIZE: SizeClass = SizeClass::new([4096, 4, 4, 4, 0], [1, 15]);
    fn fill(start: NonNull<u8>, used: usize, _: bool) {
        write("fill", start, used, 0);
    }
    let terms = Terms {
        fill_slab: Some(fill),
        guard_slab: Some(SlabGuard {
            set: |start, used, bytes| write("set", start, used, bytes),
            lift: |start, used, bytes| write("lift", start, used, bytes),
        }),
        ..Terms::DEFAULT
    };
    let account = Box::leak(Box::new(Account::new("Test", terms)));
    Box::leak(Box::new(Class::new(account, SIZE)))
}

/// Writes a call down; false when it is the one to be refused.
fn write(call: &'static str, start: NonNull<u8>, used: usize, bytes: usize) -> bool {
    CALLS.with_borrow_mut(|calls| calls.push((call, start.addr().get(), used, bytes)));
    call != REFUSED.get()
}

type Call = (&'static str, usize, usize, usize);

std::thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
    static REFUSED: Cell<&'static str> = const { Cell::new("none") };
}

#[test]
fn a_slab_is_filled_and_guarded_and_its_guard_lifted() {
    let class = hooked();
    let block = class.take_one();
    let start = block.addr() & !(UNIT_BYTES - 1);
    // SAFETY: taken above.
    unsafe { class.give_back(&[block]) };
    class.trim();
    let used = 15 * 4096;
    let calls =
        [("fill", 0), ("set", UNIT_BYTES), ("lift", UNIT_BYTES)].map(|(c, b)| (c, start, used, b));
    assert_eq!(CALLS.take(), calls);
}

#[test]
fn a_slab_whose_guard_is_not_lifted_is_kept() {
    let class = hooked();
    let give_all = |blocks: [*mut u8; 15]| {
        // SAFETY: taken below.
        unsafe { class.give_back(&blocks) };
        class.trim();
    };
    let blocks = [(); 15].map(|()| class.take_one());
    REFUSED.set("lift");
    give_all(blocks);
    assert_eq!(holds(class), (1, 15));
    let mut again = [(); 15].map(|()| class.take_one());
    again.sort_unstable();
    assert_eq!(again, blocks, "it is used on");
    REFUSED.set("none");
    give_all(again);
    assert_eq!(holds(class).0, 0);
    REFUSED.set("set");
    give_all([(); 15].map(|()| class.take_one()));
    assert_eq!(holds(class).0, 0);
    let lifts = CALLS.take().iter().filter(|call| call.0 == "lift").count();
    assert_eq!(lifts, 2, "what is not guarded is not lifted");
}

#[test]
fn blocks_of_many_threads_are_disjoint_and_return() {
    let class = class_of(1024, 1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..2000 {
                    let mut places = [ptr::null_mut(); 37];
                    let wanted = round % places.len() + 1;
                    // SAFETY: there are that many places.
                    unsafe { class.take(wanted, places.as_mut_ptr()) };
                    for (mark, place) in places[..wanted].iter().enumerate() {
                        let word = place.cast::<u64>();
                        // SAFETY: the block is ours.
                        unsafe { word.write(mark as u64) };
                    }
                    for (mark, place) in places[..wanted].iter().enumerate() {
                        // SAFETY: the block is ours.
                        assert_eq!(unsafe { place.cast::<u64>().read() }, mark as u64);
                    }
                    // SAFETY: taken above.
                    unsafe { class.give_back(&places[..wanted]) };
                }
            });
        }
    });
    let (slabs, free) = holds(class);
    assert_eq!(free, slabs * class.size.blocks as usize);
}
