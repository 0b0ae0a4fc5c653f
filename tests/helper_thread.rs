//! The helper that returns memory in a program with much thread-local storage, which every thread's
//! stack has to hold.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/child.rs"]
mod child;
#[path = "support/system.rs"]
mod system;

use std::cell::Cell;
use std::time::Duration;

use blocks::{Block, free_all};
use hak::hak_allocator;
use system::{MIB, comes_true, resident};

hak_allocator!(struct WithHelper = {
    schema = 1, extends = "general", superslab.purge = { after = "50 ms", helper = true }
});

thread_local! {
    static TABLE: Cell<[u8; 100_000]> = const { Cell::new([0; 100_000]) };
}

#[test]
fn the_helper_starts_beside_large_thread_locals() {
    child::run("the_helper_starts_beside_large_thread_locals", Duration::from_secs(60), || {
        let mut table = TABLE.get();
        table[std::env::args().count()] = 1;
        TABLE.set(table);
        let before = resident();
        let spans = (0..100).map(|_| Block::new(&WithHelper, MIB).unwrap().touched(1));
        free_all(&WithHelper, spans.collect());
        let returned = comes_true(|| resident() < before + 20 * MIB);
        assert!(returned.is_some(), "{} bytes are left", resident().saturating_sub(before));
    });
}
