//! A hash map from numbers to lists of strings, which grow and go.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::mem;

use super::text::{self, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "hashmap",
    about: "a HashMap from numbers to lists of strings of one to eight words, hashed alike in \
            every run; seven of eight operations add a string to a list, one takes a list away",
    group: Group::Program,
    operation: "operation",
    parameters: &[parameter("operations", 1_200_000), parameter("keys", 10_000), seed(42)],
    run,
};

type Map = HashMap<u64, Vec<String>, BuildHasherDefault<DefaultHasher>>;

fn run(parameters: &[u64]) -> Measured {
    let &[operations, keys, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut random = Random::new(seed);
    let mut map = Map::default();
    for _ in 0..4 * keys {
        step(&mut map, keys, &mut random);
    }
    measure(operations, || work(operations, mem::take(&mut map), keys, &mut random))
}

#[inline(never)]
fn work(operations: u64, mut map: Map, keys: u64, random: &mut Random) -> u64 {
    let mut sum = 0;
    for _ in 0..operations {
        sum += step(&mut map, keys, random);
    }
    sum + map.len() as u64
}

fn step(map: &mut Map, keys: u64, random: &mut Random) -> u64 {
    let key = random.below(keys);
    match random.below(8) {
        0 => map.remove(&key).iter().flatten().map(|text| text::sum(text)).sum(),
        count => {
            let list = map.entry(key).or_default();
            list.push(words(random, 1 + count));
            list.len() as u64
        }
    }
}
