//! What is known about addresses that are no blocks, or not the expected ones.

use super::*;
use crate::account::Account;
use crate::class::classes;
use crate::size_class::SizeClass;

const SIZES: [SizeClass; 3] = [
    SizeClass::new([48, 64, 16, 16, 0], [1, 1365]),
    SizeClass::new([64, 64, 16, 16, 0], [1, 1024]),
    SizeClass::new([49_152, 1, 1, 1, 0], [3, 4]),
];

fn all() -> &'static [Class; 3] {
    Box::leak(Box::new(classes(Account::for_test(), SIZES)))
}

fn take(class: &Class) -> NonNull<u8> {
    NonNull::new(class.take_one()).unwrap()
}

fn give(class: &Class, block: NonNull<u8>) {
    // SAFETY: the tests give what they took, once.
    unsafe { class.give_back(&[block.as_ptr()]) };
}

fn behind(block: NonNull<u8>, bytes: usize) -> NonNull<u8> {
    block.map_addr(|address| address.checked_add(bytes).unwrap())
}

#[test]
fn a_block_of_another_class_or_the_midst_of_one_is_known() {
    let [of_48, of_64, large] = all();
    let (block, big) = (take(of_48), take(large));
    let (start, big_start) = (block.addr().get(), big.addr().get());
    let expected = Fault::Class { block: start, bytes: 48, freed_as: 64 };
    assert_eq!(of_64.fault_of(block), expected);
    let expected = Fault::Inside { address: start + 5, start, bytes: 48 };
    assert_eq!(of_48.fault_of(behind(block, 5)), expected);
    // Beyond the first unit, whose neighbours' slots hold no slab.
    let address = big_start + 49_000;
    let expected = Fault::Inside { address, start: big_start, bytes: 49_152 };
    assert_eq!(large.fault_of(behind(big, 49_000)), expected);
    give(of_48, block);
    give(large, big);
}

#[test]
fn what_is_in_no_block_is_foreign() {
    let [of_48, ..] = all();
    let block = take(of_48);
    let base = Superslab::of(block).cast::<u8>();
    let tail = Superslab::meta(Superslab::of(block), 0);
    let local = 0u64;
    // SAFETY: the block lies in a superslab.
    let end_of_slab = behind(Slab::start(unsafe { slot_of(block) }), 1365 * 48);
    for place in [base, tail, end_of_slab, NonNull::from(&local).cast()] {
        let address = place.addr().get();
        assert_eq!(of_48.fault_of(place), Fault::Foreign { address });
    }
    let [others, ..] = all();
    let foreign = Fault::Foreign { address: block.addr().get() };
    assert_eq!(others.fault_of(block), foreign, "another allocator's");
    give(of_48, block);
}

/// Others may take its unit meanwhile: then it is tried again.
#[test]
fn a_block_of_a_retired_slab_was_freed() {
    let [of_48, ..] = all();
    let is_seen = (0..1000).any(|_| {
        let block = take(of_48);
        give(of_48, block);
        of_48.trim();
        let free = Fault::DoubleFree { block: block.addr().get(), bytes: 48 };
        of_48.fault_of(block) == free
    });
    assert!(is_seen);
}

/// A span may begin where a slab was: the slot still has what it left there.
#[test]
fn a_span_in_the_place_of_a_retired_slab_is_foreign() {
    let [of_48, ..] = all();
    let run = superslab::alloc_run(1, of_48.account).unwrap();
    // SAFETY: the run is ours, and the class knows no such slab.
    let slab = unsafe { Slab::new(run, 1365, of_48.owner(), of_48.kind()) };
    // SAFETY: it was just made.
    unsafe { slab.as_ref() }.disown();
    let address = run.start().addr().get();
    assert_eq!(of_48.fault_of(run.start()), Fault::Foreign { address });
    // SAFETY: as above.
    assert!(unsafe { superslab::free_run(run.superslab, run.first, 1, of_48.account) });
}
