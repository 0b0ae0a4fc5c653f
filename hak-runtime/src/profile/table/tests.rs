//! The table against a map, where rows of entries meet and wrap around.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;

use super::*;

fn sample(address: usize) -> Sample {
    Sample { address, begun: address as u64 * 3, class: 1, thread: 2 }
}

/// Addresses of few homes, some at the end of the table, so that rows wrap around.
fn addresses() -> impl Strategy<Value = usize> {
    let near = |slot: usize| (1..40_000usize).filter(move |a| Table::home(a * 16) == slot);
    let some: Vec<_> =
        [SLOTS - 1, SLOTS - 2, 0, 1, 77].into_iter().flat_map(near).map(|a| a * 16).collect();
    prop::sample::select(some)
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn the_table_is_a_map(ops in prop::collection::vec((addresses(), any::<bool>()), 1..300)) {
        let (mut table, mut map) = (Box::new(Table::new()), BTreeMap::new());
        for (address, inserts) in ops {
            if !inserts {
                prop_assert_eq!(table.remove(address), map.remove(&address));
            } else if let Entry::Vacant(place) = map.entry(address) {
                place.insert(sample(address));
                prop_assert!(table.insert(sample(address)));
            }
            prop_assert_eq!(table.iter().count(), map.len());
        }
        for (address, expected) in map {
            prop_assert_eq!(table.remove(address), Some(expected));
        }
    }
}

#[test]
fn a_full_table_takes_no_more() {
    let mut table = Box::new(Table::new());
    let taken = (1..10_000).filter(|nth| table.insert(sample(nth * 16))).count();
    assert_eq!(taken, USED_MAX);
    assert_eq!(table.remove(16), Some(sample(16)));
    assert!(table.insert(sample(16 * 10_000)));
}
