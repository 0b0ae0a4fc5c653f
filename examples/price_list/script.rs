//! The requests of all probes and kernels, drawn before anything is counted or timed.

use std::alloc::Layout;

/// Requests in a script.
pub(crate) const LENGTH: usize = 4096;
/// The layout that the compiler knows.
pub(crate) const CONSTANT: Layout = layout(64);
/// Sizes of the layouts that it does not know.
pub(crate) const SIZES: std::ops::RangeInclusive<usize> = 16..=1040;
/// Blocks alive at a time in the kernel `mixed`.
pub(crate) const SLOTS: usize = 256;
/// A block of one of these sizes resized to the other stays in its class, in every shipped spec
/// and with eight bytes more for a canary.
pub(crate) const RESIZED: [Layout; 2] = [layout(1000), layout(1016)];

/// One request, and which of the live blocks it replaces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) layout: Layout,
    pub(crate) slot: usize,
}

/// The same requests in every run.
pub(crate) fn requests() -> [Request; LENGTH] {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    std::array::from_fn(|_| {
        state = xorshift(state);
        let size = SIZES.start() + reduce(state >> 32, SIZES.end() - SIZES.start() + 1);
        Request { layout: layout(size), slot: reduce(state, SLOTS) }
    })
}

/// A layout of every class that requests go to: while a block of each is alive, no slab of them
/// becomes empty.
pub(crate) fn standing() -> impl Iterator<Item = Layout> {
    SIZES.step_by(16).map(layout)
}

const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, 8) {
        Ok(layout) => layout,
        Err(_) => panic!("a small size is a layout"),
    }
}

fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

/// The low half of a number as a number below `limit`.
fn reduce(number: u64, limit: usize) -> usize {
    (((number & 0xffff_ffff) * limit as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::{SIZES, SLOTS, requests, standing};

    #[test]
    fn requests_are_of_all_sizes_and_slots() {
        let requests = requests();
        assert!(requests.iter().all(|request| SIZES.contains(&request.layout.size())));
        assert!(requests.iter().all(|request| request.slot < SLOTS));
        for sixteenth in 1..=64 {
            let hit = |size: usize| size / 16 == sixteenth;
            assert!(requests.iter().any(|request| hit(request.layout.size())), "{sixteenth}");
        }
        assert!((0..SLOTS).all(|slot| requests.iter().any(|request| request.slot == slot)));
    }

    #[test]
    fn a_block_stands_in_every_sixteen_bytes() {
        let sizes: Vec<_> = standing().map(|layout| layout.size()).collect();
        assert_eq!((sizes.first(), sizes.last()), (Some(&16), Some(&1040)));
        assert!(sizes.windows(2).all(|pair| pair[1] - pair[0] == 16));
    }
}
