//! An ordered map from strings to strings, in which entries come and go.

use std::collections::BTreeMap;
use std::mem;

use super::text::{self, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "btree",
    about: "a BTreeMap from a key of 25 bytes to one to six words; half of the operations look a \
            key up, the others insert or remove one, so that about half of the keys are there",
    group: Group::Program,
    operation: "operation",
    parameters: &[parameter("operations", 600_000), parameter("keys", 40_000), seed(42)],
    run,
};

type Map = BTreeMap<String, String>;

fn run(parameters: &[u64]) -> Measured {
    let &[operations, keys, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut random = Random::new(seed);
    let mut numbers: Vec<u64> = (0..keys).filter(|_| random.below(2) == 0).collect();
    random.shuffle(&mut numbers);
    let mut map: Map = numbers.iter().map(|&it| (key(it), value(&mut random))).collect();
    measure(operations, || work(operations, mem::take(&mut map), keys, &mut random))
}

#[inline(never)]
fn work(operations: u64, mut map: Map, keys: u64, random: &mut Random) -> u64 {
    let mut sum = 0;
    for _ in 0..operations {
        let key = key(random.below(keys));
        let found = match random.below(4) {
            0 => map.insert(key, value(random)),
            1 => map.remove(&key),
            _ => {
                sum += map.get(&key).map_or(0, |value| text::sum(value));
                None
            }
        };
        sum += found.map_or(0, |value| text::sum(&value));
    }
    sum + map.len() as u64
}

fn key(number: u64) -> String {
    format!("customer:{number:08x}:profile")
}

fn value(random: &mut Random) -> String {
    let count = random.within(1, 6);
    words(random, count)
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn a_key_is_as_long_as_is_told() {
        assert_eq!(key(0x3a), "customer:0000003a:profile");
        assert_eq!(key(0x3a).len(), 25);
    }
}
