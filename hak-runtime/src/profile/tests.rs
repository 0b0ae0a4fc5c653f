//! A profiler by itself: samples enter and leave, and the filter with them.

use core::sync::atomic::Ordering;

use super::*;

/// Nearly every allocation of more than a few dozen bytes is sampled.
type Tested = Profiler<2, 1>;

struct Subject {
    profiler: &'static Tested,
    forks: &'static ProfilerForks,
    sampler: Sampler<1>,
}

fn subject() -> Subject {
    Subject {
        profiler: Box::leak(Box::new(Tested::new())),
        forks: Box::leak(Box::new(ProfilerForks::new())),
        sampler: Sampler::new(),
    }
}

/// An address that nothing stands at.
fn block(number: usize) -> *mut u8 {
    core::ptr::without_provenance_mut((1 << 30) + number * 64)
}

impl Subject {
    fn alloc(&self, number: usize, bytes: usize, class: usize) {
        assert!(self.sampler.is_due(bytes));
        self.profiler.allocated(self.forks, &self.sampler, block(number), bytes, class);
    }

    fn entries(&self) -> usize {
        self.profiler.state.lock().table.iter().count()
    }

    /// The sum of the filter's bytes.
    fn filtered(&self) -> usize {
        self.profiler.filter.iter().map(|byte| usize::from(byte.load(Ordering::Relaxed))).sum()
    }
}

#[test]
fn samples_enter_and_leave() {
    let subject = subject();
    (0..1000).for_each(|number| subject.alloc(number, 100, number % 3));
    assert_eq!((subject.entries(), subject.filtered()), (1000, 1000));
    for number in 0..1000 {
        assert!(subject.profiler.may_know(block(number)));
        subject.profiler.freed(&subject.sampler, block(number));
        // A second look finds nothing.
        subject.profiler.freed(&subject.sampler, block(number));
    }
    assert_eq!((subject.entries(), subject.filtered()), (0, 0));
    let state = subject.profiler.state.lock();
    assert_eq!(state.classes.map(|class| class.samples), [334, 333]);
    assert_eq!(state.large.samples, 333, "what is no class is large");
    let ended: u64 = state.classes[0].lifetimes.iter().sum();
    assert_eq!(ended, 334);
    assert_eq!((state.sizes[6].samples, state.sizes[7].samples), (1000, 0));
    // Each stands for itself alone when all are sampled.
    assert_eq!((state.sizes[6].blocks.round(), state.sizes[6].bytes.round()), (1e3, 1e5));
}

#[test]
fn what_found_no_room_is_counted() {
    let subject = subject();
    (0..4000).for_each(|number| subject.alloc(number, 100, 0));
    let untracked = subject.profiler.state.lock().untracked;
    assert_eq!(subject.entries() as u64 + untracked, 4000);
    assert!(untracked > 0);
    assert_eq!(subject.filtered(), subject.entries());
}

#[test]
fn a_request_without_memory_is_no_sample() {
    let subject = subject();
    assert!(subject.sampler.is_due(100));
    let null = core::ptr::null_mut();
    subject.profiler.allocated(subject.forks, &subject.sampler, null, 100, 0);
    assert_eq!((subject.entries(), subject.profiler.state.lock().classes[0].samples), (0, 0));
}

#[test]
fn a_block_that_stays_goes_on_and_one_that_moved_has_ended() {
    let subject = subject();
    let ended = || subject.profiler.state.lock().large.lifetimes.iter().sum::<u64>();
    subject.alloc(7, 100, 2);
    let held = subject.profiler.hold(block(7));
    assert_eq!((held.is_some(), subject.entries(), subject.filtered()), (true, 0, 0));
    subject.profiler.settle(&subject.sampler, held, false);
    assert_eq!((ended(), subject.entries(), subject.filtered()), (0, 1, 1));
    let held = subject.profiler.hold(block(7));
    subject.profiler.settle(&subject.sampler, held, true);
    assert_eq!((ended(), subject.entries(), subject.filtered()), (1, 0, 0));
    let held = subject.profiler.hold(block(8));
    assert_eq!(held, None);
    subject.profiler.settle(&subject.sampler, held, true);
    assert_eq!(ended(), 1);
}

/// 255 entries of one hash are more than there is room for in a byte that is to be counted down.
#[test]
fn a_byte_of_the_filter_that_is_full_stays() {
    let subject = subject();
    let of_one_hash: Vec<_> =
        (0..10_000_000).filter(|number| hash(block(*number).addr()) == 5).take(300).collect();
    assert_eq!(of_one_hash.len(), 300);
    for number in &of_one_hash {
        subject.alloc(*number, 100, 0);
    }
    for number in of_one_hash {
        assert!(subject.profiler.may_know(block(number)));
        subject.profiler.freed(&subject.sampler, block(number));
    }
    assert_eq!((subject.entries(), subject.filtered()), (0, 255));
}

#[test]
fn times_go_to_their_class_or_to_large() {
    let subject = subject();
    let begun = ticks();
    subject.profiler.slow_alloc(1, begun);
    subject.profiler.slow_dealloc(1, begun);
    subject.profiler.slow_dealloc(2, begun);
    // A moment that has not come yet, as a processor whose counter is behind would see it.
    subject.profiler.slow_dealloc(2, u64::MAX);
    let counts = |timers: &[Timer; 2]| timers.each_ref().map(|timer| timer.read().count);
    let slow = &subject.profiler.slow;
    assert_eq!((counts(&slow[0]), counts(&slow[1])), ([0, 0], [1, 1]));
    assert_eq!(counts(&subject.profiler.slow_large), [0, 2]);
    assert_eq!(subject.profiler.slow_large[1].read().buckets[0], 1);
}
