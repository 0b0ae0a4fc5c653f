//! Forks: children allocate, whatever other threads, or the interrupted code, were doing.
//!
//! Each test runs in a process of its own, and children are ended by an alarm if they hang.
//! `HAK_SOAK=5` forks five times as often: 10 000 times in the test of busy threads.

#[path = "support/child.rs"]
mod child;
#[path = "support/forked.rs"]
mod forked;
#[path = "support/process.rs"]
#[expect(dead_code, reason = "not all of it is for forks")]
mod process;
#[path = "support/subject.rs"]
mod subject;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use std::{ptr, thread};

use hak::hak_allocator;

use forked::Forked;
use process::{patience, times};
use subject::{Block, SIZES, SMALL_SIZES, Subject, blocks, subject};

hak_allocator!(struct Global = { schema = 1, extends = "general" });
hak_allocator!(struct Second = { schema = 1, extends = "web", superslab.shards = 2 });
hak_allocator!(struct Tight = { schema = 1, extends = "general", cache.limit = "1 MiB" });
hak_allocator!(
    struct Helped = {
        schema = 1,
        extends = "general",
        superslab.purge = { how = "dontneed", after = "10 ms", helper = true },
    }
);

#[global_allocator]
static GLOBAL: Global = Global;

const SUBJECTS: [Subject; 2] = [subject!(Global), subject!(Second)];
const HELPED: Subject = subject!(Helped);
const TIGHT: Subject = subject!(Tight);

/// What a child does: all classes and large blocks of all allocators, here and on a new thread.
fn use_allocators() {
    let some_of_all = || {
        for subject in SUBJECTS {
            let held: Vec<_> = (0..12).map(|_| blocks(subject, &SIZES[..SMALL_SIZES])).collect();
            drop(blocks(subject, &SIZES));
            drop(held);
            (subject.flush)();
        }
    };
    some_of_all();
    thread::spawn(some_of_all).join().unwrap();
}

/// Blocks on their way to another thread.
type Mail = Vec<Block>;

/// Allocates, passes blocks on, frees what comes, and purges now and then.
fn keep_busy(number: usize, stop: &AtomicBool, next: &SyncSender<Mail>, own: &Receiver<Mail>) {
    let mut held = Vec::new();
    for step in number.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let subject = SUBJECTS[step % 2];
        held.push(Block::new(subject, SIZES[step * 7 % SIZES.len()]));
        if held.len() == 60 {
            // A neighbour that is behind gets nothing: the blocks are freed here.
            drop(next.try_send(held.split_off(30)));
            drop(held.drain(..10));
        }
        if step.is_multiple_of(3) {
            drop(own.try_recv());
        }
        if step.is_multiple_of(2000) {
            (subject.purge)();
        }
        if step.is_multiple_of(64) {
            // Eight threads share the processors with what forks.
            thread::sleep(Duration::from_micros(100));
        }
        STEPS.fetch_add(1, Ordering::Relaxed);
    }
}

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// Calls a function at the end, also if that is a panic.
struct WhenDropped<F: Fn()>(F);

impl<F: Fn()> Drop for WhenDropped<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `body` while eight threads use the allocators.
fn among_busy_threads(body: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..8).map(|_| mpsc::sync_channel(4)).unzip();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, own) in receivers.into_iter().enumerate() {
            let (stop, next) = (&stop, senders[(number + 1) % 8].clone());
            threads.push(scope.spawn(move || keep_busy(number, stop, &next, &own)));
        }
        drop(senders);
        let stop_them = WhenDropped(|| stop.store(true, Ordering::Relaxed));
        body();
        drop(stop_them);
        // The end of the scope would not wait for the destructors of the threads.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    (SUBJECTS[1].flush)();
    assert_eq!((SUBJECTS[1].totals)().out_bytes, 0, "forks cost the parent nothing");
    println!("{} allocations beside", STEPS.load(Ordering::Relaxed));
}

#[test]
fn children_of_a_busy_program_allocate() {
    child::run("children_of_a_busy_program_allocate", patience(), || {
        let forks = times(2000);
        let fork_half = || {
            (0..forks / 2).for_each(|_| Forked::new(use_allocators).assert_ends_well());
        };
        among_busy_threads(|| {
            thread::scope(|scope| {
                scope.spawn(fork_half);
                fork_half();
            });
        });
        println!("{forks} forks");
    });
}

/// A child forks, too, and so does its child.
#[test]
fn children_fork() {
    child::run("children_fork", patience(), || {
        let generations = || {
            let grandchild = || {
                use_allocators();
                Forked::new(use_allocators).assert_ends_well();
            };
            use_allocators();
            Forked::new(grandchild).assert_ends_well();
        };
        among_busy_threads(|| {
            (0..times(50)).for_each(|_| Forked::new(generations).assert_ends_well());
        });
    });
}

/// Waits until a purge is seen; an alarm ends the process if there is none.
fn wait_for_a_purge(since: usize) {
    while (HELPED.totals)().purged_bytes == since {
        // Neither this nor asking for the totals makes the thread purge.
        thread::sleep(Duration::from_millis(2));
    }
}

/// Frees much, and sees it purged by another thread, since this one does not come by again.
fn free_and_wait_for_the_helper() {
    let held: Vec<_> = (0..200).map(|_| Block::new(HELPED, 60_000)).collect();
    let purged = (HELPED.totals)().purged_bytes;
    drop(held);
    wait_for_a_purge(purged);
}

#[test]
fn children_get_a_helper() {
    child::run("children_get_a_helper", patience(), || {
        free_and_wait_for_the_helper();
        let forks = times(10);
        among_busy_threads(|| {
            for _ in 0..forks {
                let child = Forked::new(|| {
                    free_and_wait_for_the_helper();
                    Forked::new(free_and_wait_for_the_helper).assert_ends_well();
                });
                free_and_wait_for_the_helper();
                child.assert_ends_well();
            }
        });
        println!("{forks} forks with a helper");
    });
}

/// Threads that the child does not have cache nothing there: it can use what the limit allows.
#[test]
fn a_child_is_not_charged_for_threads_that_it_lacks() {
    child::run("a_child_is_not_charged_for_threads_that_it_lacks", patience(), || {
        let (filled, over) = (Arc::new(Barrier::new(5)), Arc::new(Barrier::new(5)));
        let idle = |filled: Arc<Barrier>, over: Arc<Barrier>| {
            drop(blocks(TIGHT, &SIZES));
            filled.wait();
            over.wait();
        };
        let threads: Vec<_> = (0..4)
            .map(|_| (filled.clone(), over.clone()))
            .map(|(filled, over)| thread::spawn(move || idle(filled, over)))
            .collect();
        filled.wait();
        let charged = (TIGHT.totals)().cache_bytes;
        Forked::new(|| {
            (TIGHT.flush)();
            let left = (TIGHT.totals)().cache_bytes;
            assert_eq!(left, 0, "of {charged} bytes; this thread caches nothing");
        })
        .assert_ends_well();
        over.wait();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Whether the single thread is in the allocator, as the handler sees it.
static IS_INSIDE: AtomicBool = AtomicBool::new(false);
/// Whether a child forks once more before it ends.
static FORKS_TWICE: AtomicBool = AtomicBool::new(false);
/// Forks from the handler: outside and inside of the allocator.
static FORKS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// The first status that is not 0.
static BAD_STATUS: AtomicUsize = AtomicUsize::new(0);

/// Forks, and waits for the child. A child of code inside the allocator ends without using it.
extern "C" fn fork_in_handler(_: libc::c_int) {
    let is_inside = IS_INSIDE.load(Ordering::Relaxed);
    let child = Forked::new(|| {
        if !is_inside {
            use_allocators();
        }
        if FORKS_TWICE.load(Ordering::Relaxed) && Forked::new(|| ()).join() != 0 {
            // SAFETY: ends the process. A panic would allocate.
            unsafe { libc::_exit(2) };
        }
    });
    let status = usize::try_from(child.join()).unwrap_or(usize::MAX);
    if status != 0 {
        BAD_STATUS.store(status, Ordering::Relaxed);
    }
    FORKS[usize::from(is_inside)].fetch_add(1, Ordering::Relaxed);
}

/// Has the system call the handler every millisecond of processor time, or as often as it can.
fn start_timer() {
    let interval = libc::timeval { tv_sec: 0, tv_usec: 1000 };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    let handler: extern "C" fn(libc::c_int) = fork_in_handler;
    // SAFETY: the handler is a function of this signature.
    let before = unsafe { libc::signal(libc::SIGPROF, handler as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
    // SAFETY: the timer outlives the call.
    let refused = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, ptr::null_mut()) };
    assert_eq!(refused, 0);
}

/// The single thread's work, under lock and not, until there were enough forks.
fn allocate_under_a_timer(forks_of_each_kind: usize) {
    use_allocators();
    start_timer();
    let is_enough = |forks: &AtomicUsize| forks.load(Ordering::Relaxed) >= forks_of_each_kind;
    while !FORKS.iter().all(is_enough) && BAD_STATUS.load(Ordering::Relaxed) == 0 {
        IS_INSIDE.store(true, Ordering::Relaxed);
        for subject in SUBJECTS {
            drop(blocks(subject, &SIZES));
            // Most of this is done under the classes' locks.
            (subject.flush)();
            (subject.totals)();
        }
        IS_INSIDE.store(false, Ordering::Relaxed);
        (0..20_000).for_each(|step| _ = std::hint::black_box(step));
    }
    assert_eq!(BAD_STATUS.load(Ordering::Relaxed), 0, "status of a child of the handler");
    let [outside, inside] = FORKS.each_ref().map(|forks| forks.load(Ordering::Relaxed));
    println!("forks from a handler: {outside} outside of the allocators, {inside} inside");
}

/// Runs `work` in a process with a single thread, which that of a test never is.
fn alone(work: impl FnOnce()) {
    let child = Forked::new(|| {
        // SAFETY: touches no memory. The process of the test has an alarm of its own.
        unsafe { libc::alarm(0) };
        work();
    });
    child.assert_ends_well();
}

#[test]
fn a_signal_handler_may_fork() {
    child::run("a_signal_handler_may_fork", patience(), || {
        alone(|| allocate_under_a_timer(times(60)));
    });
}

#[test]
fn a_child_of_a_signal_handler_may_fork() {
    child::run("a_child_of_a_signal_handler_may_fork", patience(), || {
        FORKS_TWICE.store(true, Ordering::Relaxed);
        alone(|| allocate_under_a_timer(times(60)));
    });
}
