//! Which request a client sends next, and what its records hold.
//!
//! Both follow from the seed, the client and a running number alone. So a client keeps no copy of
//! a record to compare an answer with: it makes the expected fields anew, and it can do that for
//! the records of other clients too.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::record::Fields;

/// Ids of deleted records that a client remembers, to ask for them in vain.
const GONE_MAX: usize = 16;
/// The largest page that a client asks for.
const LIMIT_MAX: u64 = 25;

const WORDS: [&str; 32] = [
    "amber", "anchor", "basil", "birch", "cedar", "clover", "copper", "coral", "delta", "ember",
    "fennel", "flint", "garnet", "harbor", "hazel", "indigo", "juniper", "kelp", "lantern",
    "maple", "meadow", "nettle", "oak", "opal", "pebble", "quartz", "raven", "saffron", "thistle",
    "umber", "willow", "zephyr",
];

/// A record that the client has created and not deleted.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) id: u64,
    pub(crate) number: u64,
}

/// The next request of a client.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Send the record with this number.
    Create {
        number: u64,
    },
    Read(Held),
    /// Ask for a record that has been deleted.
    ReadGone {
        id: u64,
    },
    List {
        after: u64,
        limit: u64,
    },
    Delete(Held),
    /// Send a record with its end cut off.
    CreateCutOff {
        number: u64,
    },
}

/// Chooses the steps of one client, and remembers what it holds.
pub(crate) struct Script {
    random: Random,
    share: usize,
    held: Vec<Held>,
    gone: VecDeque<u64>,
    last_number: u64,
}

impl Script {
    /// The script of a client that may hold `share` records.
    pub(crate) fn new(seed: u64, client: u64, share: usize) -> Script {
        let random = Random::new(seed, client, 0);
        let held = Vec::with_capacity(share);
        Script { random, share, held, gone: VecDeque::with_capacity(GONE_MAX), last_number: 0 }
    }

    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// Fills the share first; then creates about as often as it deletes.
    pub(crate) fn next(&mut self) -> Step {
        let full = self.held.len() == self.share;
        let sparse = self.held.len() < self.share - self.share / 8;
        match self.random.below(100) {
            0..25 if !full => self.create(),
            0..25 => self.delete(),
            25..50 if sparse => self.create(),
            25..50 => self.delete(),
            50..90 => self.on_held(Step::Read),
            90..94 => self.list(),
            94..99 => self.read_gone(),
            _ => Step::CreateCutOff { number: self.new_number() },
        }
    }

    /// The service has stored record `number` as `id`.
    pub(crate) fn created(&mut self, id: u64, number: u64) {
        self.held.push(Held { id, number });
    }

    fn create(&mut self) -> Step {
        Step::Create { number: self.new_number() }
    }

    fn new_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Any record held may go, so that holes come up everywhere in memory.
    fn delete(&mut self) -> Step {
        let Some(index) = self.any_held() else { return self.create() };
        let held = self.held.swap_remove(index);
        if self.gone.len() == GONE_MAX {
            self.gone.pop_front();
        }
        self.gone.push_back(held.id);
        Step::Delete(held)
    }

    fn list(&mut self) -> Step {
        let after = self.any_held().map_or(0, |index| self.held[index].id);
        Step::List { after, limit: 1 + self.random.below(LIMIT_MAX) }
    }

    fn read_gone(&mut self) -> Step {
        let index = self.random.below(self.gone.len() as u64) as usize;
        match self.gone.get(index) {
            Some(&id) => Step::ReadGone { id },
            None => self.on_held(Step::Read),
        }
    }

    fn on_held(&mut self, step: impl Fn(Held) -> Step) -> Step {
        match self.any_held() {
            Some(index) => step(self.held[index]),
            None => self.create(),
        }
    }

    fn any_held(&mut self) -> Option<usize> {
        let count = self.held.len() as u64;
        (count > 0).then(|| self.random.below(count) as usize)
    }
}

/// The fields of record `number` of a client.
pub(crate) fn fields(seed: u64, client: u64, number: u64) -> Fields {
    let mut random = Random::new(seed, client, number);
    // Most notes are a few sentences, one in sixteen is a page or two.
    let words = if random.below(16) == 0 { random.below(1200) } else { random.below(100) };
    Fields {
        owner: owner(client),
        name: random.words(3),
        note: random.words(words),
        number,
        tags: (0..random.below(9)).map(|_| random.words(1)).collect(),
        attributes: attributes(&mut random),
    }
}

/// The owner that the records of a client name.
pub(crate) fn owner(client: u64) -> String {
    format!("client-{client}")
}

/// The client that `owner` names, if it names one.
pub(crate) fn client_of(owner: &str) -> Option<u64> {
    owner.strip_prefix("client-")?.parse().ok()
}

fn attributes(random: &mut Random) -> BTreeMap<String, Value> {
    let count = random.below(5);
    (0..count).map(|_| (random.words(1), Value::Object(attribute_group(random)))).collect()
}

fn attribute_group(random: &mut Random) -> Map<String, Value> {
    let count = 1 + random.below(4);
    (0..count).map(|_| (random.words(2), attribute(random))).collect()
}

fn attribute(random: &mut Random) -> Value {
    match random.below(4) {
        0 => Value::from(random.below(1_000_000)),
        1 => Value::from(random.below(2) == 0),
        2 => Value::from((0..random.below(4)).map(|_| random.words(1)).collect::<Vec<_>>()),
        _ => Value::from(random.words(3)),
    }
}

/// A small fixed generator of random numbers (SplitMix64), so that a seed means the same for ever.
struct Random(u64);

impl Random {
    /// A sequence of its own for every seed, client and number.
    fn new(seed: u64, client: u64, number: u64) -> Random {
        let mut state = Random(seed).next();
        state = Random(state ^ client).next();
        Random(Random(state ^ number).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number under `bound`; 0 if that is 0.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// `count` words with blanks between them.
    fn words(&mut self, count: u64) -> String {
        let mut text = String::new();
        for index in 0..count {
            if index > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[self.below(WORDS.len() as u64) as usize]);
        }
        text
    }
}
