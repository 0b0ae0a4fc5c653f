//! Models of slabs between their takers and givers: the rules of `slab` and `class`.
//!
//! Blocks are touched where a program would use them, so that a block which two threads hold, or
//! which changes hands without an order, fails the model.

use loom::thread;

use super::*;
use crate::account::Terms;
use crate::superslab::UNIT_BYTES;
use crate::sync::modelled::{check, touch};

const fn account(units: usize) -> Account {
    Account::new("Model", Terms { limit: units * UNIT_BYTES, ..Terms::DEFAULT })
}

/// A slab of few large blocks.
const PAIR: SizeClass = SizeClass::new([32 << 10, 4, 4, 4, 0], [1, 2]);
/// A slab with a word of 64 blocks and one of a single block.
const TWO_WORDS: SizeClass = SizeClass::new([1008, 65, 65, 65, 0], [1, 65]);

static ONE_UNIT: Account = account(1);
static TWO_UNITS: Account = account(2);

/// Takes up to `N` blocks, and uses them.
fn take<const N: usize>(class: &Class) -> Vec<*mut u8> {
    let mut places = [ptr::null_mut(); N];
    // SAFETY: there are that many places.
    let taken = unsafe { class.take(N, places.as_mut_ptr()) };
    places[..taken].iter().inspect(|&&block| touch(block)).copied().collect()
}

fn give(class: &Class, blocks: &[*mut u8]) {
    for &block in blocks {
        touch(block);
    }
    // SAFETY: each model gives what it took, once.
    unsafe { class.give_back(blocks) };
}

/// Gives blocks from a thread of their own.
fn give_elsewhere(class: &'static Class, blocks: &[*mut u8]) -> thread::JoinHandle<()> {
    let blocks: Vec<_> = blocks.iter().map(|block| block.expose_provenance()).collect();
    thread::spawn(move || {
        let blocks: Vec<_> =
            blocks.iter().map(|&block| ptr::with_exposed_provenance_mut(block)).collect();
        give(class, &blocks);
    })
}

fn join<const N: usize>(threads: [thread::JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn slabs_of(class: &Class) -> usize {
    let mut slabs = 0;
    each_slab(core::slice::from_ref(class), |_, _| slabs += 1);
    slabs
}

/// No block is lost and none is there twice: those of `out` and those that can still be taken are
/// all blocks of the slabs that the account can hold.
fn all_are_there<const N: usize>(class: &Class, mut out: Vec<*mut u8>) {
    out.extend(take::<N>(class));
    out.sort_unstable();
    out.dedup();
    assert_eq!(out.len(), N, "blocks were lost or handed out twice: {out:?}");
    assert!(class.take_one().is_null());
}

#[test]
fn give_give_take_loses_nothing() {
    static CLASS: Class = Class::new(&ONE_UNIT, PAIR);
    check(5, || {
        let out = take::<2>(&CLASS);
        let givers = [give_elsewhere(&CLASS, &out[..1]), give_elsewhere(&CLASS, &out[1..])];
        let early = take::<2>(&CLASS);
        join(givers);
        all_are_there::<2>(&CLASS, early);
    });
}

#[test]
fn a_slab_is_listed_again_when_its_taker_meets_a_giver() {
    static CLASS: Class = Class::new(&ONE_UNIT, PAIR);
    check(6, || {
        let out = take::<1>(&CLASS);
        let giver = give_elsewhere(&CLASS, &out);
        let early = take::<1>(&CLASS);
        giver.join().unwrap();
        all_are_there::<2>(&CLASS, early);
    });
}

/// The taker sees one free block of the word, wants one, and finds two: it puts one back.
#[test]
fn a_taker_puts_back_what_came_in_between() {
    static CLASS: Class = Class::new(&ONE_UNIT, TWO_WORDS);
    check(5, || {
        let mut out = take::<65>(&CLASS);
        let [a, b, c] = [(); 3].map(|()| out.pop().unwrap());
        give(&CLASS, &[a]);
        let givers = [give_elsewhere(&CLASS, &[b]), give_elsewhere(&CLASS, &[c])];
        out.extend(take::<1>(&CLASS));
        join(givers);
        all_are_there::<65>(&CLASS, out);
    });
}

/// The taker wants fewer than the word has: it stays filled.
#[test]
fn a_word_that_keeps_blocks_meets_a_giver() {
    static CLASS: Class = Class::new(&ONE_UNIT, TWO_WORDS);
    check(6, || {
        let mut out = take::<65>(&CLASS);
        let [a, b, c] = [(); 3].map(|()| out.pop().unwrap());
        give(&CLASS, &[a, b]);
        let giver = give_elsewhere(&CLASS, &[c]);
        out.extend(take::<1>(&CLASS));
        giver.join().unwrap();
        all_are_there::<65>(&CLASS, out);
    });
}

/// A taker empties the word, the giver of two finds it empty or not, and says so late.
#[test]
fn a_word_is_filled_again_while_it_is_emptied() {
    static CLASS: Class = Class::new(&ONE_UNIT, TWO_WORDS);
    check(6, || {
        let mut out = take::<65>(&CLASS);
        let [a, b, c] = [(); 3].map(|()| out.pop().unwrap());
        give(&CLASS, &[a]);
        let giver = give_elsewhere(&CLASS, &[b, c]);
        out.extend(take::<2>(&CLASS));
        giver.join().unwrap();
        all_are_there::<65>(&CLASS, out);
    });
}

/// One giver fills the word of 64, another the word of one, and a taker empties both.
#[test]
fn both_words_stay_filled() {
    static CLASS: Class = Class::new(&ONE_UNIT, TWO_WORDS);
    check(5, || {
        let mut out = take::<65>(&CLASS);
        // The last place has the lowest block.
        let (low, high) = (out.pop().unwrap(), out.remove(0));
        let givers = [give_elsewhere(&CLASS, &[low]), give_elsewhere(&CLASS, &[high])];
        out.extend(take::<2>(&CLASS));
        join(givers);
        all_are_there::<65>(&CLASS, out);
    });
}

#[test]
fn the_last_givers_retire_a_slab_once() {
    static CLASS: Class = Class::new(&TWO_UNITS, PAIR);
    check(6, || {
        let out = take::<4>(&CLASS);
        give(&CLASS, &out[..1]);
        let givers = [give_elsewhere(&CLASS, &out[2..3]), give_elsewhere(&CLASS, &out[3..])];
        join(givers);
        assert_eq!(TWO_UNITS.held(), UNIT_BYTES);
        assert_eq!(slabs_of(&CLASS), 1);
        all_are_there::<4>(&CLASS, out[1..2].to_vec());
    });
}

/// While one giver is on its way to the lock, another retires the slab, and a taker makes one of
/// another class in its place, with blocks at the same addresses.
#[test]
fn a_late_giver_walks_away() {
    static CLASS: Class = Class::new(&TWO_UNITS, PAIR);
    static OTHER: Class = Class::new(&TWO_UNITS, PAIR);
    check(6, || {
        let out = take::<4>(&CLASS);
        give(&CLASS, &out[..1]);
        let giver = give_elsewhere(&CLASS, &out[2..3]);
        give(&CLASS, &out[3..]);
        let others = take::<2>(&OTHER);
        giver.join().unwrap();
        assert_eq!(slabs_of(&CLASS), 1);
        all_are_there::<2>(&OTHER, others);
        all_are_there::<2>(&CLASS, out[1..2].to_vec());
    });
}

/// The giver of a slab's second word is late: the slab is retired, and the one in its place has no
/// such word.
#[test]
fn a_late_giver_marks_a_word_that_is_none() {
    static CLASS: Class = Class::new(&ONE_UNIT, TWO_WORDS);
    static OTHER: Class = Class::new(&ONE_UNIT, PAIR);
    check(6, || {
        let out = take::<65>(&CLASS);
        // The first place has the highest block, which is alone in its word.
        let giver = give_elsewhere(&CLASS, &out[..1]);
        give(&CLASS, &out[1..]);
        CLASS.trim();
        let mut others = take::<2>(&OTHER);
        if others.len() == 2 {
            give(&OTHER, &others.split_off(1));
        }
        giver.join().unwrap();
        CLASS.trim();
        all_are_there::<2>(&OTHER, others);
    });
}

#[test]
fn a_trim_meets_the_last_giver() {
    static CLASS: Class = Class::new(&ONE_UNIT, PAIR);
    check(6, || {
        let out = take::<2>(&CLASS);
        let giver = give_elsewhere(&CLASS, &out[..1]);
        CLASS.trim();
        let more = take::<1>(&CLASS);
        assert!(more.is_empty() || more == out[..1], "a slab with a block out was retired");
        give(&CLASS, &out[1..]);
        CLASS.trim();
        giver.join().unwrap();
        give(&CLASS, &more);
        CLASS.trim();
        assert_eq!(ONE_UNIT.held(), 0);
        all_are_there::<2>(&CLASS, Vec::new());
    });
}
