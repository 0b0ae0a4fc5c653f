//! JSON that is read into a tree of values and written again.

use serde_json::{Value, json};

use super::text::{self, word, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "json",
    about: "serde_json reads an array of records of some 600 bytes, nested three deep, into one \
            value, and writes each record into a string of its own",
    group: Group::Program,
    operation: "record",
    parameters: &[parameter("passes", 5), parameter("records", 5_000), seed(42)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[passes, records, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut random = Random::new(seed);
    let input = Value::from_iter((0..records).map(|id| record(id, &mut random))).to_string();
    measure(passes * records, || work(passes, &input))
}

#[inline(never)]
fn work(passes: u64, input: &str) -> u64 {
    (0..passes).map(|_| pass(input)).sum()
}

fn pass(input: &str) -> u64 {
    let records: Vec<Value> = serde_json::from_str(input).expect("what serde_json wrote");
    let written: Vec<String> = records.iter().map(Value::to_string).collect();
    written.iter().map(|record| text::sum(record)).sum()
}

/// A customer with an address and one to four orders.
fn record(id: u64, random: &mut Random) -> Value {
    let orders = random.within(1, 4);
    json!({
        "id": id,
        "name": words(random, 2),
        "mail": format!("{}.{id}@{}.example", word(random), word(random)),
        "active": random.below(2) == 1,
        "balance": random.within(0, 1_000_000) as f64 / 128.0,
        "tags": Value::from_iter((0..random.below(6)).map(|_| word(random))),
        "referred_by": if random.below(4) == 0 { json!(random.below(1 + id)) } else { Value::Null },
        "address": {
            "street": words(random, 3),
            "number": random.within(1, 300),
            "place": { "city": word(random), "north": random.below(90), "east": random.below(180) },
        },
        "orders": Value::from_iter((0..orders).map(|_| order(random))),
    })
}

fn order(random: &mut Random) -> Value {
    let words_in_note = random.below(12);
    json!({
        "item": format!("{}-{}", word(random), random.within(100, 999)),
        "count": random.within(1, 9),
        "price": random.within(1, 40_000) as f64 / 64.0,
        "note": words(random, words_in_note),
    })
}

#[cfg(test)]
mod tests {
    use super::{pass, record};
    use crate::programs::text;
    use crate::random::Random;

    #[test]
    fn records_are_as_large_as_is_told_and_read_back_as_they_are() {
        let mut random = Random::new(42);
        let records: Vec<_> = (0..200).map(|id| record(id, &mut random)).collect();
        let texts: Vec<String> = records.iter().map(ToString::to_string).collect();
        let bytes = texts.iter().map(String::len).sum::<usize>() / texts.len();
        assert!((500..700).contains(&bytes), "{bytes}");
        let expected: u64 = texts.iter().map(|text| text::sum(text)).sum();
        assert_eq!(pass(&format!("[{}]", texts.join(","))), expected);
    }
}
