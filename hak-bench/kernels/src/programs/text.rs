//! Words for made inputs, and the sum that tells one made text from another.

use crate::random::Random;

const WORDS: [&str; 64] = [
    "account", "after", "anchor", "archive", "balance", "basket", "before", "bridge", "button",
    "candle", "carrier", "change", "circle", "client", "cloud", "column", "copper", "corner",
    "customer", "daily", "delivery", "detail", "discount", "district", "edge", "engine", "evening",
    "express", "factory", "field", "garden", "glass", "harvest", "invoice", "island", "kettle",
    "ladder", "lantern", "letter", "market", "meadow", "member", "number", "office", "order",
    "parcel", "pencil", "picture", "price", "quarter", "region", "river", "sample", "season",
    "shipment", "silver", "station", "summer", "table", "ticket", "tower", "valley", "window",
    "winter",
];

/// One word, of 4 to 8 letters.
pub(super) fn word(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len() as u64) as usize]
}

/// `count` words with blanks between them.
pub(super) fn words(random: &mut Random, count: u64) -> String {
    let mut text = String::new();
    for index in 0..count {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(word(random));
    }
    text
}

/// Depends on every byte.
pub(super) fn sum(text: &str) -> u64 {
    text.len() as u64 + text.bytes().map(u64::from).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::{WORDS, sum, words};
    use crate::random::Random;

    #[test]
    fn every_word_comes_up_and_blanks_stand_between() {
        let text = words(&mut Random::new(3), 2000);
        let found: Vec<_> = text.split(' ').collect();
        assert_eq!(found.len(), 2000);
        assert!(WORDS.iter().all(|word| found.contains(word)));
        assert!(found.iter().all(|word| WORDS.contains(word)));
        assert_eq!(words(&mut Random::new(3), 0), "");
    }

    #[test]
    fn a_sum_changes_with_every_byte() {
        assert_eq!(sum("ab"), 2 + 97 + 98);
        assert_ne!(sum("ab"), sum("ac"));
        assert_ne!(sum(""), sum("\0"));
    }
}
