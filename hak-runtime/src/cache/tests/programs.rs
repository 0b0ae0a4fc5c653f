//! Random programs on systems that refuse, ignore or do things differently: what every allocator
//! must keep to, whatever the system does.

use std::alloc::Layout;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use super::subject::{Allocator, Hit};
use crate::account::{Purge, PurgeHow, Terms};
use crate::os::fake::{self, Habits};
use crate::{Adaptive, AtMost, Bin, Chains, ClassStats, List, Magazines, Stats, Want};

const MIB: usize = 1 << 20;

/// One step of a program.
#[derive(Debug, Clone)]
enum Step {
    Alloc {
        layout: Layout,
        zeroed: bool,
    },
    /// Of the live blocks, counted round.
    Free(usize),
    Resize(usize, usize),
    Flush,
    Purge,
    Wait(u64),
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        6 => 0..2048_usize,
        3 => 2048..100_000_usize,
        2 => 100_000..600_000_usize,
        1 => 600_000..3 * MIB,
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let aligns = prop_oneof![8 => 0..5_u32, 1 => 5..22_u32];
    let layouts = (sizes(), aligns)
        .prop_map(|(size, shift)| Layout::from_size_align(size, 1 << shift).unwrap());
    let step = prop_oneof![
        12 => (layouts, any::<bool>())
            .prop_map(|(layout, zeroed)| Step::Alloc { layout, zeroed }),
        8 => any::<usize>().prop_map(Step::Free),
        5 => (any::<usize>(), sizes()).prop_map(|(which, size)| Step::Resize(which, size)),
        1 => Just(Step::Flush),
        1 => Just(Step::Purge),
        1 => (0..20_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..120)
}

fn habits() -> impl Strategy<Value = Habits> {
    let pages = prop::sample::select(vec![4 << 10, 16 << 10, 64 << 10]);
    let refusals = prop::sample::select(vec![0, 1, 2, 3, 5, 13]);
    (pages, refusals, any::<bool>()).prop_map(|(page_bytes, refuse_one_in, ignores_dontneed)| {
        Habits { page_bytes, refuse_one_in, ignores_dontneed }
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    let limits = prop::sample::select(vec![usize::MAX, 4 * MIB]);
    let cache_limits = prop::sample::select(vec![usize::MAX, 40_000, 0]);
    let hows = prop::sample::select(vec![PurgeHow::DontNeed, PurgeHow::Free]);
    let after = (0..30_u64, hows).prop_map(|(milliseconds, how)| Purge::After {
        milliseconds,
        how,
        helper: false,
    });
    (limits, cache_limits, prop_oneof![Just(Purge::Never), after]).prop_map(
        |(limit, cache_limit, purge)| Terms { limit, cache_limit, purge, ..Terms::DEFAULT },
    )
}

/// Calls what must keep `errno`.
fn keeping_errno<T>(call: impl FnOnce() -> T) -> T {
    const MARK: i32 = 1789;
    // SAFETY: there are no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it points to this thread's `errno`.
    unsafe { errno.write(MARK) };
    let result = call();
    // SAFETY: as above.
    assert_eq!(unsafe { errno.read() }, MARK, "a free changed errno");
    result
}

/// The bytes of a block that are marked and looked at: some, so that large ones cost little.
fn places(size: usize) -> impl Iterator<Item = usize> {
    (0..size).step_by(509).chain(size.checked_sub(1))
}

/// What lives: where, of which layout, with which mark in its bytes.
struct Program<F: Hit> {
    allocator: Allocator<F>,
    limit: usize,
    live: BTreeMap<usize, (*mut u8, Layout, u8)>,
    mark: u8,
}

impl<F: Hit> Program<F> {
    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Alloc { layout, zeroed } => self.alloc(layout, zeroed),
            Step::Free(which) => {
                if let Some(start) = self.pick(which) {
                    self.free(start);
                }
            }
            Step::Resize(which, size) => {
                if let Some(start) = self.pick(which) {
                    self.resize(start, size);
                }
            }
            Step::Flush => keeping_errno(|| self.allocator.flush()),
            Step::Purge => keeping_errno(|| self.allocator.purge()),
            Step::Wait(milliseconds) => fake::let_pass(milliseconds),
        }
    }

    fn pick(&self, which: usize) -> Option<usize> {
        let at = which.checked_rem(self.live.len())?;
        self.live.keys().nth(at).copied()
    }

    fn alloc(&mut self, layout: Layout, zeroed: bool) {
        let before = fake::refusals();
        let want = if zeroed { Want::Zeros } else { Want::Bytes };
        let block = self.allocator.alloc(layout, want);
        if block.is_null() {
            return self.failed_rightly(before);
        }
        if zeroed {
            // SAFETY: the block has that size, and was zeroed.
            let bytes = unsafe { core::slice::from_raw_parts(block, layout.size()) };
            assert!(bytes.iter().all(|&byte| byte == 0), "zeroed memory is not zero");
        }
        self.enter(block, layout);
    }

    /// Memory is missing only when the system refused some, or the limit is near.
    fn failed_rightly(&self, refusals_before: u32) {
        assert!(fake::refusals() > refusals_before || self.limit != usize::MAX);
    }

    /// A new block: aligned, apart from all others, and marked.
    fn enter(&mut self, block: *mut u8, layout: Layout) {
        let (start, size) = (block.addr(), layout.size().max(1));
        assert!(start.is_multiple_of(layout.align()));
        if let Some((&before, (_, other, _))) = self.live.range(..=start).next_back() {
            assert!(before + other.size().max(1) <= start, "blocks overlap");
        }
        if let Some((&after, _)) = self.live.range(start..).next() {
            assert!(start + size <= after, "blocks overlap");
        }
        self.mark = self.mark.wrapping_add(1);
        // SAFETY: the block has that size.
        places(layout.size()).for_each(|at| unsafe { block.wrapping_add(at).write(self.mark) });
        self.live.insert(start, (block, layout, self.mark));
    }

    fn look(block: *mut u8, size: usize, mark: u8) {
        // SAFETY: the block has that size, and its places were marked.
        let is_marked = |at| unsafe { block.wrapping_add(at).read() } == mark;
        assert!(places(size).all(is_marked), "a block was changed");
    }

    fn free(&mut self, start: usize) {
        let (block, layout, mark) = self.live.remove(&start).unwrap();
        Self::look(block, layout.size(), mark);
        // SAFETY: the block is live, with this layout.
        keeping_errno(|| unsafe { self.allocator.dealloc(block, layout) });
    }

    fn resize(&mut self, start: usize, size: usize) {
        let (block, layout, mark) = self.live.remove(&start).unwrap();
        let new = Layout::from_size_align(size, layout.align()).unwrap();
        Self::look(block, layout.size(), mark);
        let before = fake::refusals();
        // SAFETY: the block is live, with this layout.
        let moved = unsafe { self.allocator.realloc(block, layout, new) };
        if moved.is_null() {
            self.failed_rightly(before);
            self.live.insert(start, (block, layout, mark));
            return Self::look(block, layout.size(), mark);
        }
        // The last byte is marked only where the old block had its last, so leave it out.
        let kept = layout.size().min(size);
        let is_marked = |at: usize| {
            // SAFETY: the new block has at least that size.
            at >= kept || unsafe { moved.wrapping_add(at).read() } == mark
        };
        assert!((0..kept).step_by(509).all(is_marked), "a block was changed on its way");
        self.enter(moved, new);
    }

    /// When the system refuses no more, all can be freed, and is counted back.
    fn end(mut self, habits: Habits) {
        fake::behave(Habits { refuse_one_in: 0, ..habits });
        while let Some(start) = self.pick(0) {
            self.free(start);
        }
        keeping_errno(|| self.allocator.purge());
        let stats: Stats<5> = self.allocator.stats();
        assert_eq!((stats.held_bytes, stats.kept_bytes, stats.cache_bytes_max), (0, 0, 0));
        let is_empty = |class: &ClassStats| {
            (class.slabs, class.blocks_out, class.blocks_in_depot) == (0, 0, 0)
        };
        assert!(stats.classes.iter().all(is_empty), "{stats}");
        fake::behave(Habits::USUAL);
    }
}

fn programs_live_with_any_system<F: Hit>() {
    let _alone = fake::ALONE.lock();
    let config = ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1789),
        ..ProptestConfig::with_cases(200)
    };
    TestRunner::new(config)
        .run(&(steps(), habits(), terms()), |(steps, habits, terms)| {
            fake::behave(habits);
            let allocator = Allocator::<F>::new(terms);
            let (limit, live) = (terms.limit, BTreeMap::new());
            let mut program = Program { allocator, limit, live, mark: 0 };
            for step in &steps {
                program.apply(step);
            }
            program.end(habits);
            Ok(())
        })
        .unwrap();
}

#[test]
fn magazines() {
    programs_live_with_any_system::<Bin>();
}

#[test]
fn adaptive_magazines() {
    programs_live_with_any_system::<Bin<Magazines<Adaptive<1, 4>>>>();
}

#[test]
fn lists() {
    programs_live_with_any_system::<List>();
}

#[test]
fn adaptive_lists() {
    programs_live_with_any_system::<List<Chains<Adaptive<1, 4>>>>();
}

#[test]
fn magazines_over_chains() {
    programs_live_with_any_system::<Bin<Chains<AtMost<2>>>>();
}
