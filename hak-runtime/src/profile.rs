//! Samples of what is allocated, for specs that ask for `stats.profile`: sizes, lifetimes, and the
//! cycles of slow paths.
//!
//! A hit costs a subtraction and a branch in alloc, a look at a byte and a branch in dealloc. What
//! is sampled is said in `sampler`.
//!
//! # Rules
//!
//! 1. A sampled block is entered in the table before the program gets it, and leaves it before it
//!    is free. So an address is in the table once, and an entry is of the block that is there.
//! 2. The table, and the sums of samples, are used under one lock, which is held for no other.
//! 3. The filter has a byte for each hash: how many entries have it. It changes under the lock and
//!    is read without it. A thread that frees a block got it from the one that entered it, so it
//!    sees its byte. A byte that reached its end stays there.
//! 4. Nothing is allocated: all memory is static, and untouched where nothing was sampled.

mod histogram;
mod report;
mod sampler;
mod table;
#[cfg(all(test, not(loom)))]
mod tests;
mod ticks;

use core::ptr;
// Not modelled: see rule 3; the times are sums.
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::depot::Depots;
use crate::fork::Beside;
use crate::heap::Heap;
use crate::large::Larges;
use crate::sync::Mutex;

use histogram::{Timer, bucket};
use sampler::weight;
use table::{HASHES, Table, hash};
use ticks::Moment;

pub use report::{
    ClassProfile, LIFETIME_BUCKETS, Profile, SIZE_BUCKETS, SLOW_BUCKETS, SizeProfile, SlowPath,
};
pub use sampler::Sampler;
pub use table::Sample;
pub use ticks::ticks;

/// The samples of one allocator with `N` classes. It starts as all zeros, so that what is not
/// touched takes no memory.
pub struct Profiler<const N: usize, const MEAN: u64> {
    filter: [AtomicU8; HASHES],
    state: Mutex<State<N>>,
    /// Of each class, its alloc and its dealloc.
    slow: [[Timer; 2]; N],
    slow_large: [Timer; 2],
    /// Threads that were sampled.
    threads: AtomicU32,
}

/// What the lock protects.
struct State<const N: usize> {
    table: Table,
    classes: [Sums; N],
    large: Sums,
    sizes: [SizeSums; SIZE_BUCKETS],
    /// Samples that found no room in the table.
    untracked: u64,
    /// When the first sample was taken.
    first: Option<Moment>,
}

/// What is known of a class's samples.
#[derive(Clone, Copy)]
struct Sums {
    samples: u64,
    blocks: f64,
    bytes: f64,
    freed_elsewhere: u64,
    lifetimes: [u64; LIFETIME_BUCKETS],
}

/// What is known of samples of some sizes.
#[derive(Clone, Copy)]
struct SizeSums {
    samples: u64,
    blocks: f64,
    bytes: f64,
}

impl Sums {
    const NONE: Sums = Sums {
        samples: 0,
        blocks: 0.0,
        bytes: 0.0,
        freed_elsewhere: 0,
        lifetimes: [0; LIFETIME_BUCKETS],
    };
}

impl<const N: usize> State<N> {
    const fn new() -> Self {
        let size = SizeSums { samples: 0, blocks: 0.0, bytes: 0.0 };
        State {
            table: Table::new(),
            classes: [Sums::NONE; N],
            large: Sums::NONE,
            sizes: [size; SIZE_BUCKETS],
            untracked: 0,
            first: None,
        }
    }

    fn class(&mut self, class: u32) -> &mut Sums {
        self.classes.get_mut(class as usize).unwrap_or(&mut self.large)
    }

    /// Adds a sample to the sums of its class and of its size.
    #[expect(clippy::cast_precision_loss, reason = "estimates need no more than six digits")]
    fn add<const MEAN: u64>(&mut self, class: u32, bytes: usize) {
        let blocks = weight::<MEAN>(bytes);
        let total = blocks * bytes as f64;
        let sums = self.class(class);
        sums.samples += 1;
        sums.blocks += blocks;
        sums.bytes += total;
        let size = &mut self.sizes[bucket::<SIZE_BUCKETS>(bytes as u64)];
        size.samples += 1;
        size.blocks += blocks;
        size.bytes += total;
    }

    /// Ends the life of a block that left the table.
    fn end(&mut self, sample: &Sample, thread: u32) {
        let lived = ticks::since(sample.begun);
        let sums = self.class(sample.class);
        sums.lifetimes[bucket::<LIFETIME_BUCKETS>(lived)] += 1;
        sums.freed_elsewhere += u64::from(thread != sample.thread);
    }
}

impl<const N: usize, const MEAN: u64> Profiler<N, MEAN> {
    /// Nothing is sampled yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        Profiler {
            filter: [const { AtomicU8::new(0) }; HASHES],
            state: Mutex::new(State::new()),
            slow: [const { [const { Timer::new() }; 2] }; N],
            slow_large: [const { Timer::new() }; 2],
            threads: AtomicU32::new(0),
        }
    }

    /// Samples an allocation that was due, if it has a mark on it and got memory. `class` is the
    /// number of its class; `N` or more for one that none serves.
    pub fn allocated(
        &'static self,
        forks: &'static ProfilerForks,
        sampler: &Sampler<MEAN>,
        block: *mut u8,
        bytes: usize,
        class: usize,
    ) {
        let thread = sampler.number(|| self.next_thread());
        if !sampler.has_mark(bytes) || block.is_null() {
            return;
        }
        self.enter_forks(forks);
        let class = u32::try_from(class).unwrap_or(u32::MAX);
        let address = block.addr();
        let mut state = self.state.lock();
        state.first.get_or_insert_with(Moment::now);
        state.add::<MEAN>(class, bytes);
        self.enter(&mut state, Sample { address, begun: ticks(), class, thread });
    }

    /// Whether a block that is about to be freed or moved may have been sampled: if so the caller
    /// is to call [`Profiler::freed`], or [`Profiler::hold`].
    #[inline(always)]
    pub fn may_know(&self, block: *mut u8) -> bool {
        // SAFETY: hashes are below `HASHES`.
        let byte = unsafe { self.filter.get_unchecked(hash(block.addr())) };
        byte.load(Ordering::Relaxed) != 0
    }

    /// Ends the life of a block, if it was sampled. It is still the caller's.
    pub fn freed(&self, sampler: &Sampler<MEAN>, block: *mut u8) {
        let held = self.hold(block);
        self.end(sampler, held);
    }

    /// Takes a block out of the table that may be moved: its sample is for [`Profiler::settle`].
    pub fn hold(&self, block: *mut u8) -> Option<Sample> {
        if !self.may_know(block) {
            return None;
        }
        let mut state = self.state.lock();
        let sample = state.table.remove(block.addr())?;
        let byte = &self.filter[hash(sample.address)];
        let entries = byte.load(Ordering::Relaxed);
        if entries != u8::MAX {
            byte.store(entries.saturating_sub(1), Ordering::Relaxed);
        }
        Some(sample)
    }

    /// Goes on after [`Profiler::hold`]: the life of a block that moved has ended.
    pub fn settle(&self, sampler: &Sampler<MEAN>, held: Option<Sample>, moved: bool) {
        match held {
            Some(sample) if !moved => self.enter(&mut self.state.lock(), sample),
            ended => self.end(sampler, ended),
        }
    }

    /// Counts the cycles of an alloc off the hit path, from a moment in [`ticks`] until now.
    /// `class` is as for [`Profiler::allocated`].
    pub fn slow_alloc(&self, class: usize, begun: u64) {
        self.slow.get(class).unwrap_or(&self.slow_large)[0].add(ticks::since(begun));
    }

    /// The same for a dealloc.
    pub fn slow_dealloc(&self, class: usize, begun: u64) {
        self.slow.get(class).unwrap_or(&self.slow_large)[1].add(ticks::since(begun));
    }

    /// What was sampled until now. Allocates nothing. Waits some milliseconds if the first sample
    /// was not long ago, to find out how long a cycle is.
    pub fn profile<D: Depots, L: Larges>(
        &'static self,
        forks: &'static ProfilerForks,
        heap: &'static Heap<D, L>,
    ) -> Profile<N> {
        // Else a child may have the lock as another thread left it.
        self.enter_forks(forks);
        let first = self.state.lock().first;
        let cycle_ns = first.unwrap_or_else(Moment::now).ns_per_tick();
        let mut profile = Profile::new(MEAN, cycle_ns);
        let state = self.state.lock();
        profile.untracked = state.untracked;
        for (place, class) in profile.classes.iter_mut().enumerate() {
            class.bytes = heap.classes[place].size.bytes as usize;
            class.take(&state.classes[place], &self.slow[place]);
        }
        profile.large.take(&state.large, &self.slow_large);
        for (size, sums) in profile.sizes.iter_mut().zip(&state.sizes) {
            size.take(sums);
        }
        for sample in state.table.iter() {
            let classes = &mut profile.classes;
            classes.get_mut(sample.class as usize).unwrap_or(&mut profile.large).live += 1;
        }
        drop(state);
        // The statics have the hot ones first.
        profile.classes.sort_unstable_by_key(|class| class.bytes);
        profile
    }

    fn enter_forks(&'static self, forks: &'static ProfilerForks) {
        forks.0.enter(ptr::from_ref(self).cast(), before_fork::<N, MEAN>, after_fork::<N, MEAN>);
    }

    fn next_thread(&self) -> u32 {
        self.threads.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1)
    }

    fn enter(&self, state: &mut State<N>, sample: Sample) {
        if !state.table.insert(sample) {
            state.untracked += 1;
            return;
        }
        let byte = &self.filter[hash(sample.address)];
        byte.store(byte.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    fn end(&self, sampler: &Sampler<MEAN>, sample: Option<Sample>) {
        if let Some(sample) = sample {
            let thread = sampler.number(|| self.next_thread());
            self.state.lock().end(&sample, thread);
        }
    }
}

/// Has forks take a profiler's lock. It stands beside that one, since it is not all zeros.
pub struct ProfilerForks(Beside);

impl ProfilerForks {
    /// Nothing is to be taken yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        ProfilerForks(Beside::new())
    }
}

/// # Safety
///
/// `profiler` is of this type, and the caller is a fork handler.
unsafe fn before_fork<const N: usize, const MEAN: u64>(profiler: *const ()) {
    // SAFETY: by this function's contract.
    unsafe { &*profiler.cast::<Profiler<N, MEAN>>() }.state.before_fork();
}

/// # Safety
///
/// Follows [`before_fork`] with the same profiler, in the same thread or its copy.
unsafe fn after_fork<const N: usize, const MEAN: u64>(profiler: *const ()) {
    // SAFETY: by this function's contract.
    let profiler = unsafe { &*profiler.cast::<Profiler<N, MEAN>>() };
    // SAFETY: as above.
    unsafe { profiler.state.after_fork() };
}
