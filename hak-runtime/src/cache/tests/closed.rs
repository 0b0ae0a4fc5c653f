//! What a thread frees of a class before it allocates any.

use super::*;

/// Each kind of bin.
macro_rules! each_bin {
    ($test:ident) => {
        $test::<Bin>();
        $test::<Bin<Magazines<Adaptive<1, 4>>>>();
        $test::<Bin<Chains<AtMost<2>>>>();
    };
}

#[test]
fn a_thread_gets_no_neighbours_of_what_it_freed_first() {
    fn check<F: Hit>() {
        let one = Allocator::<F>::new(Terms::DEFAULT);
        let (third, other) = (one.elsewhere(), one.elsewhere());
        let blocks = alloc(one, OF_16, 20);
        // There are two shards: with a third thread between, these two have the same slabs.
        alloc(third, OF_16, 1);
        dealloc(other, OF_16, blocks[..10].to_vec());
        let stats = one.stats().classes[0];
        assert_eq!((stats.blocks_out, cached(one)), (24 + 8, 3 * 64 * 16));
        let first = alloc(other, OF_16, 8);
        assert!(first.iter().all(|block| !blocks.contains(block)));
        assert_eq!(one.stats().classes[0].blocks_out, 24 + 8 - 10 + 8);
        // They are in their slab again, which serves whoever comes next.
        alloc(one, OF_16, 4);
        assert_eq!(alloc(one, OF_16, 10), blocks[..10]);
        // What the thread frees from now on it keeps.
        dealloc(other, OF_16, vec![blocks[15], blocks[16]]);
        assert_eq!(alloc(other, OF_16, 2), [blocks[16], blocks[15]]);
    }
    each_bin!(check);
}

#[test]
fn a_thread_that_only_frees_fills_a_magazine() {
    fn check<F: Hit>() {
        let one = Allocator::<F>::new(Terms::DEFAULT);
        let other = one.elsewhere();
        let blocks = alloc(one, OF_16, 200);
        let out = one.stats().classes[0].blocks_out;
        dealloc(other, OF_16, blocks[..64].to_vec());
        assert_eq!(alloc(other, OF_16, 2), [blocks[63], blocks[62]]);
        dealloc(other, OF_16, blocks[62..].to_vec());
        assert_eq!(one.stats().classes[0].blocks_out, out, "bin, spares and depot keep them all");
        one.flush();
        other.flush();
        assert_eq!((one.stats().classes[0].blocks_out, cached(one)), (0, 0));
    }
    each_bin!(check);
}

#[test]
fn where_no_lines_are_shared_the_thread_keeps_what_it_freed_first() {
    fn check<F: Hit>() {
        let one = Allocator::<F>::new(Terms::DEFAULT);
        let blocks = alloc(one, OF_256, 4);
        let other = one.elsewhere();
        dealloc(other, OF_256, blocks.clone());
        assert_eq!(alloc(other, OF_256, 2), [blocks[3], blocks[2]]);
    }
    each_bin!(check);
}

#[test]
fn what_was_freed_first_is_not_lost_when_the_thread_ends() {
    fn check<F: Hit>() {
        let one = Allocator::<F>::new(Terms::DEFAULT);
        let other = one.elsewhere();
        let blocks = alloc(one, OF_16, 8);
        dealloc(other, OF_16, blocks);
        other.cache.end();
        assert_eq!((one.stats().classes[0].blocks_out, cached(one)), (0, 64 * 16));
    }
    each_bin!(check);
}

#[test]
fn without_other_memory_what_was_freed_first_serves() {
    fn check<F: Hit>() {
        let one = Allocator::<F>::new(Terms { limit: UNIT_BYTES, ..Terms::DEFAULT });
        let other = one.elsewhere();
        let blocks = alloc(one, OF_16, 4096);
        assert!(one.alloc(OF_16, Want::Bytes).is_null());
        dealloc(other, OF_16, blocks[7..10].to_vec());
        assert_eq!(alloc(other, OF_16, 3), [blocks[9], blocks[8], blocks[7]]);
        assert!(other.alloc(OF_16, Want::Bytes).is_null());
    }
    each_bin!(check);
}
