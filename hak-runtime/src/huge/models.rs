//! Models of the store of freed mappings.
//!
//! A mapping is touched by who has it, so one that two have at a time fails the model.

use loom::thread;

use super::*;
use crate::account::Terms;
use crate::sync::modelled::{check, touch};

static ACCOUNT: Account = Account::new("Model", Terms::DEFAULT);
static HUGE: Huge = Huge::new(8 * PAGE);

const PAGE: usize = 4096;

/// A mapping that someone has.
struct Block {
    start: NonNull<u8>,
    pages: usize,
}

// SAFETY: a mapping is used by whoever has the block.
unsafe impl Send for Block {}

impl Block {
    fn new(pages: usize) -> Block {
        let start = HUGE.alloc(pages * PAGE, 1, false, &ACCOUNT).unwrap();
        let block = Block { start, pages };
        block.touch();
        block
    }

    fn touch(&self) {
        for page in 0..self.pages {
            touch(self.start.as_ptr().wrapping_add(page * PAGE));
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.touch();
        // SAFETY: allocated with this size, and not used any more.
        unsafe { HUGE.free(self.start, self.pages * PAGE, &ACCOUNT) };
    }
}

/// Nothing is in use: all that is charged is kept, and goes when it is to go.
fn nothing_is_lost() {
    assert_eq!(HUGE.kept_bytes(), ACCOUNT.held());
    HUGE.trim(&ACCOUNT);
    assert_eq!((HUGE.kept_bytes(), ACCOUNT.held()), (0, 0));
}

/// What comes while a shorter range is made longer is not taken for one that is too short.
#[test]
fn a_longer_range_comes_meanwhile() {
    check(6, || {
        let (short, long) = (Block::new(1), Block::new(3));
        drop(short);
        let other = thread::spawn(|| drop(long));
        drop(Block::new(2));
        other.join().unwrap();
        nothing_is_lost();
    });
}

#[test]
fn two_threads_share_what_is_kept() {
    check(6, || {
        drop(Block::new(3));
        let other = thread::spawn(|| drop(Block::new(2)));
        drop(Block::new(1));
        other.join().unwrap();
        nothing_is_lost();
    });
}

/// A trim returns what it finds, and no more than that.
#[test]
fn a_trim_comes_in_between() {
    check(6, || {
        drop(Block::new(2));
        let other = thread::spawn(|| HUGE.trim(&ACCOUNT));
        let (one, three) = (Block::new(1), Block::new(3));
        drop(one);
        drop(three);
        other.join().unwrap();
        nothing_is_lost();
    });
}
