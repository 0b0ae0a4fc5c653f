//! What the registry holds, and for how long.

use std::collections::HashMap;
use std::num::NonZero;

use super::*;

fn place(number: usize) -> NonNull<u8> {
    NonNull::without_provenance(NonZero::new(number << 12).unwrap())
}

fn entry(number: usize) -> Entry {
    Entry::new(place(number), Request { bytes: 4096, align: number }, 0)
}

fn enter(registry: &mut Registry, number: usize) {
    assert!(registry.reserve());
    registry.enter(entry(number));
}

#[test]
fn freed_blocks_are_remembered_up_to_the_bound() {
    let mut registry = Registry::new();
    for number in 1..=3 * FREED_MAX {
        enter(&mut registry, number);
        registry.free(place(number));
    }
    let found = |number| registry.find_start(place(number)) != Found::Nowhere;
    assert!((1..=2 * FREED_MAX).all(|number| !found(number)));
    assert!((2 * FREED_MAX + 1..=3 * FREED_MAX).all(found));
    assert_eq!(registry.len, FREED_MAX);
}

#[test]
fn a_place_used_again_is_not_forgotten_with_its_first_life() {
    let mut registry = Registry::new();
    for _ in 0..2 {
        enter(&mut registry, 1);
        registry.free(place(1));
    }
    enter(&mut registry, 2);
    for _ in 0..FREED_MAX - 1 {
        enter(&mut registry, 3);
        registry.free(place(3));
    }
    let request = entry(1).request;
    assert_eq!(registry.find_start(place(1)), Found::Freed(request));
    enter(&mut registry, 3);
    registry.free(place(3));
    assert_eq!(registry.find_start(place(1)), Found::Nowhere);
    assert_eq!(registry.find_start(place(2)), Found::Start(entry(2).request));
}

#[test]
fn an_address_behind_a_start_is_inside() {
    let mut registry = Registry::new();
    enter(&mut registry, 7);
    let at = |offset| place(7).map_addr(|address| address.checked_add(offset).unwrap());
    assert_eq!(registry.find_inside(at(0)), None);
    let block = Some(Block { start: place(7), bytes: 4096 });
    assert_eq!([at(1), at(4095)].map(|at| registry.find_inside(at)), [block; 2]);
    assert_eq!(registry.find_inside(at(4096)), None);
    registry.free(place(7));
    assert_eq!(registry.find_inside(at(1)), None);
}

#[test]
fn what_was_refused_is_offered_again_once() {
    let mut registry = Registry::new();
    enter(&mut registry, 1);
    registry.free(place(1));
    registry.refuse(entry(1));
    assert_eq!(registry.find_start(place(1)), Found::Freed(entry(1).request));
    for number in 2..3 + FREED_MAX {
        enter(&mut registry, number);
        registry.free(place(number));
    }
    assert_eq!(registry.take_refused().unwrap().start(), Some(place(1)));
    assert!(registry.take_refused().is_none());
    assert_eq!(registry.refused_count(), 0);
}

proptest::proptest! {
    /// Few starts, so that they collide, against the standard library's table.
    #[test]
    fn it_holds_what_a_map_holds(steps in proptest::collection::vec((1..200usize, 0..3), 600)) {
        let (mut registry, mut map) = (Registry::new(), HashMap::new());
        for (number, step) in steps {
            match step {
                0 => {
                    enter(&mut registry, number);
                    map.insert(number, true);
                }
                1 if map.get(&number) == Some(&true) => {
                    registry.free(place(number));
                    map.insert(number, false);
                }
                _ => {
                    if let Some(at) = registry.position(place(number).as_ptr()) {
                        registry.remove(at);
                    }
                    map.remove(&number);
                }
            }
            proptest::prop_assert_eq!((registry.len, registry.reserved), (map.len(), 0));
        }
        for number in 1..200 {
            let expected = map.get(&number).map_or(Found::Nowhere, |&live| {
                let request = entry(number).request;
                if live { Found::Start(request) } else { Found::Freed(request) }
            });
            proptest::prop_assert_eq!(registry.find_start(place(number)), expected);
        }
    }
}
