//! Each way to free what is not to be freed, and what the checks make of it.

use super::*;
use crate::account::{Account, Terms};
use crate::class::classes;
use crate::depot::NoDepot;
use crate::hooks::checked;
use crate::large::Large;
use crate::parcel::FullMagazine;
use crate::size_class::SizeClass;
use crate::span::Want;
use crate::superslab::{Superslab, UNIT_BYTES};
use crate::sync::{AtomicU32, Ordering};

const SIZES: [SizeClass; 3] = [
    SizeClass::new([48, 64, 16, 16, 0], [1, 1365]),
    SizeClass::new([64, 64, 16, 16, 0], [1, 1024]),
    SizeClass::new([49_152, 1, 1, 1, 0], [3, 4]),
];
const BOUNDARY: u16 = FOREIGN | ALIGNMENT | SIZE | DOUBLE_FREE;
const ALIGN: usize = 8;

type Subject = &'static Heap<NoDepot<FullMagazine>>;

/// A heap of two shards that is registered, as one is that handed out a block.
fn heap() -> Subject {
    let terms = checked::<BOUNDARY>(Terms::DEFAULT);
    let account = Box::leak(Box::new(Account::new("Test", terms)));
    let shards: &'static _ = Box::leak(Box::new([(); 2].map(|()| classes(account, SIZES))));
    let heap = Heap::new(
        account,
        shards,
        const { &NoDepot::<FullMagazine>::new() },
        Large::new(1 << 20, 0),
    );
    let heap: Subject = Box::leak(Box::new(heap));
    heap.register();
    heap
}

/// A block of a class, of the shard.
fn take(heap: Subject, number: usize, shard: usize) -> *mut u8 {
    let block = heap.classes[shard * SIZES.len() + number].take_one();
    assert!(!block.is_null());
    block
}

fn give(heap: Subject, number: usize, block: *mut u8) {
    // SAFETY: the tests give what they took, once.
    unsafe { heap.classes[number].give_back(&[block]) };
}

/// What the checks say to a free of a block as one of a class. Fails when the short way and the
/// long one are not of one mind.
fn judged<const CHECKS: u16>(heap: Subject, number: usize, block: *mut u8) -> Option<Fault> {
    let asked = Asked { number, block, size: 20, align: ALIGN };
    let fault = heap.judge::<CHECKS>(asked, |_| None);
    // SAFETY: there is such a class, and without `FOREIGN` the tests judge blocks only.
    let faultless = unsafe { heap.is_faultless::<CHECKS>(number, block) };
    assert!(!faultless || fault.is_none(), "{fault:?}");
    assert!(faultless || fault.is_some() || CHECKS != BOUNDARY);
    fault
}

fn layout(block: *mut u8, bytes: usize) -> Fault {
    Fault::Layout { block: block.addr(), bytes, size: 20, align: ALIGN }
}

/// Else a thread that finds the heap registered might free a block that the map does not know yet.
#[test]
fn a_heap_is_prepared_once_before_it_is_registered() {
    static PREPARED: AtomicU32 = AtomicU32::new(0);
    static TERMS: Terms = Terms { on_register: Some(prepare), ..Terms::DEFAULT };
    static ACCOUNT: Account = Account::new("Test", TERMS);
    static CLASSES: [[Class; 3]; 1] = [classes(&ACCOUNT, SIZES)];
    static HEAP: Heap<NoDepot<FullMagazine>> =
        Heap::new(&ACCOUNT, &CLASSES, const { &NoDepot::<FullMagazine>::new() }, Large::new(0, 0));
    fn prepare() {
        assert!(!ACCOUNT.is_registered.load(Ordering::Relaxed));
        PREPARED.fetch_add(1, Ordering::Relaxed);
    }
    std::thread::scope(|scope| {
        (0..4).for_each(|_| _ = scope.spawn(|| HEAP.register()));
    });
    assert_eq!(PREPARED.load(Ordering::Relaxed), 1);
    assert!(ACCOUNT.is_registered.load(Ordering::Relaxed));
}

#[test]
fn a_block_in_use_is_faultless_whatever_its_shard() {
    let heap = heap();
    for number in 0..SIZES.len() {
        for shard in 0..2 {
            let blocks = [(); 3].map(|()| take(heap, number, shard));
            for block in blocks {
                assert_eq!(judged::<BOUNDARY>(heap, number, block), None);
                give(heap, number, block);
            }
        }
    }
}

#[test]
fn an_address_within_a_block_is_told_with_its_block() {
    let heap = heap();
    for (number, bytes, within) in [(0, 48, 8), (1, 64, 63), (2, 49_152, 40_000)] {
        let block = take(heap, number, 0);
        let address = block.wrapping_add(within);
        let start = block.addr();
        let inside = Fault::Inside { address: address.addr(), start, bytes };
        for asked in 0..SIZES.len() {
            assert_eq!(judged::<BOUNDARY>(heap, asked, address), Some(inside), "{bytes}");
        }
        assert_eq!(judged::<{ FOREIGN | SIZE }>(heap, number, address), None);
        give(heap, number, block);
    }
}

#[test]
fn a_block_of_another_class_is_told_with_its_layout() {
    let heap = heap();
    let blocks = [0, 1, 2].map(|number| take(heap, number, 1));
    for (number, block) in blocks.into_iter().enumerate() {
        for asked in (0..SIZES.len()).filter(|&asked| asked != number) {
            let bytes = SIZES[number].bytes as usize;
            assert_eq!(judged::<BOUNDARY>(heap, asked, block), Some(layout(block, bytes)));
            assert_eq!(judged::<{ FOREIGN | ALIGNMENT }>(heap, asked, block), None);
        }
        give(heap, number, block);
    }
}

#[test]
fn a_block_that_was_given_back_is_free() {
    let heap = heap();
    for (number, size) in SIZES.iter().enumerate() {
        let (held, block) = (take(heap, number, 0), take(heap, number, 0));
        give(heap, number, block);
        let bytes = size.bytes as usize;
        let free = Some(Fault::DoubleFree { block: block.addr(), bytes });
        assert_eq!(judged::<BOUNDARY>(heap, number, block), free);
        assert_eq!(judged::<DOUBLE_FREE>(heap, number, block), free);
        assert_eq!(judged::<{ FOREIGN | SIZE }>(heap, number, block), None);
        give(heap, number, held);
    }
}

/// Others may take its units meanwhile: then it is tried again.
#[test]
fn a_block_of_a_retired_slab_was_freed() {
    let heap = heap();
    for (number, size) in SIZES.iter().enumerate() {
        let is_seen = (0..1000).any(|_| {
            let block = take(heap, number, 0);
            give(heap, number, block);
            heap.classes[number].trim();
            let bytes = size.bytes as usize;
            let free = Some(Fault::DoubleFree { block: block.addr(), bytes });
            let foreign = Some(Fault::Foreign { address: block.addr() + 8 });
            let within = judged::<BOUNDARY>(heap, number, block.wrapping_add(8));
            judged::<BOUNDARY>(heap, number, block) == free && within == foreign
        });
        assert!(is_seen);
    }
}

#[test]
fn what_is_no_block_is_foreign() {
    let heap = heap();
    let (block, elsewhere) = (take(heap, 0, 0), take(self::heap(), 0, 0));
    let slab = block.map_addr(|address| address & !(UNIT_BYTES - 1));
    let end_of_slab = slab.wrapping_add(1365 * 48);
    let header = Superslab::of(NonNull::new(block).unwrap()).as_ptr().cast::<u8>();
    let span = heap.alloc_large(300_000, 8, Want::Bytes);
    let mut local = [0u8; 64];
    let ends = [usize::MAX, 1 << 47, 8].map(core::ptr::without_provenance_mut);
    let places = [end_of_slab, header, span, local.as_mut_ptr(), elsewhere];
    for place in places.into_iter().chain(ends).chain([core::ptr::null_mut()]) {
        for asked in 0..SIZES.len() {
            let foreign = Some(Fault::Foreign { address: place.addr() });
            assert_eq!(judged::<BOUNDARY>(heap, asked, place), foreign, "{place:p}");
            assert_eq!(judged::<FOREIGN>(heap, asked, place), foreign);
        }
        assert_eq!(heap.block_at(place), None);
    }
    assert_eq!(heap.block_at(block.wrapping_add(47)), Some((block, 48)));
    give(heap, 0, block);
    // SAFETY: it is from there with this layout.
    unsafe { heap.dealloc_large(span, 300_000, 8) };
}

#[test]
fn a_large_block_is_told_with_its_layout() {
    let heap = heap();
    let span = heap.alloc_large(300_000, 8, Want::Bytes);
    let large = |_| Some((span, 300_000));
    let asked = Asked { number: 0, block: span, size: 20, align: ALIGN };
    assert_eq!(heap.judge::<BOUNDARY>(asked, large), Some(layout(span, 300_000)));
    let asked = Asked { block: span.wrapping_add(70_000), ..asked };
    let (address, start) = (asked.block.addr(), span.addr());
    let inside = Fault::Inside { address, start, bytes: 300_000 };
    assert_eq!(heap.judge::<BOUNDARY>(asked, large), Some(inside));
    let foreign = Some(Fault::Foreign { address });
    assert_eq!(heap.judge::<FOREIGN>(asked, large), foreign);
    // SAFETY: it is from there with this layout.
    unsafe { heap.dealloc_large(span, 300_000, 8) };
}
