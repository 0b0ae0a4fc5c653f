//! The ends of threads, and of the program: allocators are used in destructors of thread-locals and
//! of pthread keys, before `main`, and in exit handlers, and nothing is left behind.
//!
//! Each test runs in a process of its own. `HAK_SOAK=10` runs ten times as many threads.

#[path = "support/child.rs"]
mod child;
#[path = "support/process.rs"]
mod process;
#[path = "support/subject.rs"]
#[expect(dead_code, reason = "not all of it is for threads")]
mod subject;

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;

use hak::hak_allocator;

use process::{Footprint, patience, times};
use subject::{Block, SIZES, SMALL_SIZES, Subject, blocks, subject};

hak_allocator!(struct Global = { schema = 1, extends = "general" });
hak_allocator!(struct Small = { schema = 1, extends = "tiny" });
hak_allocator!(struct Sharded = { schema = 1, extends = "web", superslab.shards = 4 });
hak_allocator!(struct NoDepot = { schema = 1, cache.layers = ["magazine"] });
hak_allocator!(struct Tight = { schema = 1, extends = "general", cache.limit = "64 KiB" });

#[global_allocator]
static GLOBAL: Global = Global;

/// All allocators of this program, the global one last.
const SUBJECTS: [Subject; 5] =
    [subject!(Small), subject!(Sharded), subject!(NoDepot), subject!(Tight), subject!(Global)];
const GLOBAL_SUBJECT: Subject = SUBJECTS[4];

/// Keys that are made before the allocators make theirs, and after.
static EARLY_KEYS: [AtomicU32; 40] = [const { AtomicU32::new(0) }; 40];
static LATE_KEYS: [AtomicU32; 40] = [const { AtomicU32::new(0) }; 40];

/// Set when a test wants that the system has no key left for the allocators.
const TAKE_ALL_KEYS_FOR: &str = "allocators_work_without_a_key";

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = before_main;

/// Blocks that were allocated before `main`.
static KEPT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

extern "C" fn before_main() {
    make_keys(&EARLY_KEYS);
    let takes_all_keys = is_child_of(TAKE_ALL_KEYS_FOR);
    if takes_all_keys {
        while let Some(key) = make_key() {
            LATE_KEYS[key as usize % LATE_KEYS.len()].store(key, Ordering::Relaxed);
        }
    }
    for subject in SUBJECTS {
        KEPT.lock().unwrap().extend(blocks(subject, &SIZES));
        (subject.flush)();
    }
    if takes_all_keys {
        // The standard library needs some.
        LATE_KEYS.iter().for_each(delete_key);
    } else {
        make_keys(&LATE_KEYS);
    }
    // SAFETY: the handler is a function, and does not unwind.
    assert_eq!(unsafe { libc::atexit(last_at_exit) }, 0);
}

/// `std::env` would allocate.
fn is_child_of(test: &str) -> bool {
    // SAFETY: the name ends with 0, and no thread changes the environment.
    let name = unsafe { libc::getenv(c"HAK_CHILD_OF".as_ptr()) };
    // SAFETY: a variable's text ends with 0 and stays.
    !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes() == test.as_bytes()
}

fn make_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is writable, and the destructor takes what this program sets for its keys.
    (unsafe { libc::pthread_key_create(&raw mut key, Some(key_destructor)) } == 0).then_some(key)
}

fn make_keys(keys: &[AtomicU32]) {
    for key in keys {
        key.store(make_key().unwrap(), Ordering::Relaxed);
    }
}

fn delete_key(key: &AtomicU32) {
    // SAFETY: the key was made, and no thread has a value for it.
    assert_eq!(unsafe { libc::pthread_key_delete(key.load(Ordering::Relaxed)) }, 0);
}

/// What a thread sets for a key, for the key's destructor to do.
struct Errand {
    key: libc::pthread_key_t,
    /// Rounds of destructors that are still to come after this one.
    rounds: u32,
    /// Whether to allocate and free in each round, or in the last one only.
    is_busy: bool,
    subject: Subject,
    /// Freed in the last round.
    blocks: Vec<Block>,
}

/// Errands done to their end.
static DONE: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn key_destructor(errand: *mut c_void) {
    // SAFETY: this program's keys hold boxed errands, and the system has forgotten this one.
    let mut errand = unsafe { Box::from_raw(errand.cast::<Errand>()) };
    if errand.is_busy || errand.rounds == 0 {
        drop(blocks(errand.subject, &SIZES));
    }
    if errand.rounds == 0 {
        errand.blocks.clear();
        DONE.fetch_add(1, Ordering::Relaxed);
        return;
    }
    errand.rounds -= 1;
    set(errand.key, Box::into_raw(errand));
}

fn set(key: libc::pthread_key_t, errand: *mut Errand) {
    // SAFETY: the key exists, and its destructor takes a boxed errand.
    assert_eq!(unsafe { libc::pthread_setspecific(key, errand.cast()) }, 0);
}

/// Rounds of destructors that the system runs after the first.
fn more_rounds() -> u32 {
    // SAFETY: `sysconf` has no preconditions.
    let rounds = unsafe { libc::sysconf(libc::_SC_THREAD_DESTRUCTOR_ITERATIONS) };
    u32::try_from(rounds).unwrap() - 1
}

/// Fails if allocators hold more for threads than before.
fn assert_nothing_is_left(before: &[subject::Totals; SUBJECTS.len()]) {
    for (subject, before) in SUBJECTS.iter().zip(before) {
        let after = totals(*subject);
        // Threads of the test program itself allocate from the global one.
        let slack = if subject.name == GLOBAL_SUBJECT.name { 64 << 10 } else { 0 };
        println!("{}: {before:?}, then {after:?}", subject.name);
        assert!(after.out_bytes <= before.out_bytes + slack, "{}: blocks are lost", subject.name);
        assert!(after.cache_bytes <= before.cache_bytes + 2 * slack, "{}: caches", subject.name);
    }
}

fn totals(subject: Subject) -> subject::Totals {
    (subject.flush)();
    (subject.totals)()
}

/// Runs threads one after the other. They must leave no block and no cache; and after the first
/// tenth of them the process must not grow.
fn run_and_compare(threads: usize, one_thread: impl Fn(usize)) {
    let before = SUBJECTS.map(totals);
    (0..threads / 10).for_each(&one_thread);
    let footprint = Footprint::now();
    (threads / 10..threads).for_each(&one_thread);
    let after = Footprint::now();
    assert_nothing_is_left(&before);
    after.assert_flat_since(footprint, 1024, &format!("{threads} threads"));
}

/// Uses the allocators once more when its thread ends.
struct Heirloom {
    blocks: RefCell<Vec<Block>>,
}

impl Drop for Heirloom {
    fn drop(&mut self) {
        for subject in SUBJECTS {
            drop(blocks(subject, &SIZES));
            self.blocks.borrow_mut().extend(blocks(subject, &[48, 592, 40_000]));
        }
        // The other one may be gone already, or be made anew.
        let _ = SECOND_HEIRLOOM.try_with(|second| second.blocks.borrow_mut().clear());
        DONE.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static FIRST_HEIRLOOM: Heirloom = const { Heirloom { blocks: RefCell::new(Vec::new()) } };
    static SECOND_HEIRLOOM: Heirloom = const { Heirloom { blocks: RefCell::new(Vec::new()) } };
}

/// One way of using allocators and thread-locals before the end of a thread.
fn leave_heirlooms(way: usize) {
    if way.is_multiple_of(2) {
        drop(blocks(SUBJECTS[way % 5], &SIZES));
    }
    FIRST_HEIRLOOM.with(|first| {
        let mut kept = first.blocks.borrow_mut();
        kept.extend(blocks(SUBJECTS[way % 3], &SIZES[..way % SMALL_SIZES]));
    });
    if way.is_multiple_of(3) {
        SECOND_HEIRLOOM.with(|second| second.blocks.borrow_mut().reserve(way % 50));
    }
    if !way.is_multiple_of(2) {
        drop(blocks(SUBJECTS[way % 5], &SIZES));
    }
}

#[test]
fn thread_locals_use_the_allocators_when_they_are_dropped() {
    child::run("thread_locals_use_the_allocators_when_they_are_dropped", patience(), || {
        let threads = times(3000);
        run_and_compare(threads, |number| {
            thread::spawn(move || leave_heirlooms(number)).join().unwrap();
        });
        assert!(DONE.load(Ordering::Relaxed) >= threads);
    });
}

#[test]
fn key_destructors_use_the_allocators_in_every_round() {
    child::run("key_destructors_use_the_allocators_in_every_round", patience(), || {
        let threads = times(300);
        let keys: Vec<_> = EARLY_KEYS.iter().chain(&LATE_KEYS).collect();
        run_and_compare(threads, |number| {
            let keys = keys.clone();
            let one_thread = move || {
                for (place, key) in keys.iter().map(|key| key.load(Ordering::Relaxed)).enumerate() {
                    let subject = SUBJECTS[(number + place) % SUBJECTS.len()];
                    let rounds = (number + place) as u32 % (more_rounds() + 1);
                    let blocks = blocks(subject, &SIZES[..place % SMALL_SIZES]);
                    let errand = Errand { key, rounds, is_busy: true, subject, blocks };
                    set(key, Box::into_raw(Box::new(errand)));
                }
            };
            // The keys live as long as the program.
            thread::scope(|scope| scope.spawn(one_thread).join().unwrap());
        });
        assert_eq!(DONE.load(Ordering::Relaxed), threads * keys.len());
    });
}

/// The body of a thread that uses no allocator: it leaves what it was given to a key.
extern "C" fn pass_on(errand: *mut c_void) -> *mut c_void {
    // SAFETY: the thread was started with a boxed errand.
    let key = unsafe { &*errand.cast::<Errand>() }.key;
    // SAFETY: the key exists, and its destructor takes a boxed errand.
    unsafe { libc::pthread_setspecific(key, errand) };
    ptr::null_mut()
}

/// Runs a thread that is not one of the standard library's, and waits for its end.
fn run_bare_thread(main: ThreadMain, argument: *mut c_void) {
    let mut thread: libc::pthread_t = 0;
    let attributes = ptr::null();
    // SAFETY: the thread's main takes the argument that it gets.
    let made = unsafe { libc::pthread_create(&raw mut thread, attributes, main, argument) };
    assert_eq!(made, 0);
    // SAFETY: the thread was made, and is joined once.
    assert_eq!(unsafe { libc::pthread_join(thread, ptr::null_mut()) }, 0);
}

/// The same for a thread that has used every allocator before. Without that, a first use in the
/// last round, from a key made after the allocators' own, comes too late for the cache to be
/// emptied.
extern "C" fn use_and_pass_on(errand: *mut c_void) -> *mut c_void {
    SUBJECTS.iter().for_each(|&subject| drop(blocks(subject, &SIZES)));
    pass_on(errand)
}

type ThreadMain = extern "C" fn(*mut c_void) -> *mut c_void;

/// Threads that free a burst of blocks in the last round of destructors.
fn free_in_the_last_round(threads: usize, keys: &[AtomicU32], main: ThreadMain) {
    const BURST: usize = 130;
    run_and_compare(threads, |number| {
        let subject = SUBJECTS[number % SUBJECTS.len()];
        let sizes = [[16, 48, 592, 1024][number / SUBJECTS.len() % 4], 64, 200];
        let blocks = (0..BURST * sizes.len()).map(|n| Block::new(subject, sizes[n % 3])).collect();
        let key = keys[number % keys.len()].load(Ordering::Relaxed);
        let errand = Errand { key, rounds: more_rounds(), is_busy: false, subject, blocks };
        run_bare_thread(main, Box::into_raw(Box::new(errand)).cast());
    });
    assert_eq!(DONE.load(Ordering::Relaxed), threads);
}

#[test]
fn frees_in_the_last_round_of_earlier_keys() {
    child::run("frees_in_the_last_round_of_earlier_keys", patience(), || {
        free_in_the_last_round(times(5000), &EARLY_KEYS, pass_on);
    });
}

#[test]
fn frees_in_the_last_round_of_later_keys() {
    child::run("frees_in_the_last_round_of_later_keys", patience(), || {
        free_in_the_last_round(times(5000), &LATE_KEYS, use_and_pass_on);
    });
}

#[test]
fn allocators_work_without_a_key() {
    child::run(TAKE_ALL_KEYS_FOR, patience(), || {
        run_and_compare(times(300), |number| {
            thread::spawn(move || leave_heirlooms(number)).join().unwrap();
        });
        for subject in SUBJECTS {
            let held = blocks(subject, &SIZES);
            assert_eq!((subject.totals)().cache_bytes, 0, "{} caches", subject.name);
            drop(held);
        }
    });
}

#[test]
fn blocks_from_before_main_are_whole() {
    child::run("blocks_from_before_main_are_whole", patience(), || {
        let kept = std::mem::take(&mut *KEPT.lock().unwrap());
        assert_eq!(kept.len(), SIZES.len() * SUBJECTS.len());
        // Freed by a thread that did not allocate them; the drop checks their contents.
        thread::spawn(move || drop(kept)).join().unwrap();
        for subject in SUBJECTS {
            let out = totals(subject).out_bytes;
            assert!(out == 0 || subject.name == GLOBAL_SUBJECT.name, "{}: {out}", subject.name);
        }
    });
}

static IS_EXITING: AtomicBool = AtomicBool::new(false);

/// Was registered first, so it runs last.
extern "C" fn last_at_exit() {
    SUBJECTS.iter().for_each(|&subject| drop(blocks(subject, &SIZES)));
    if IS_EXITING.load(Ordering::Relaxed) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) };
    }
}

extern "C" fn first_at_exit() {
    SUBJECTS.iter().for_each(|&subject| drop(blocks(subject, &SIZES)));
    IS_EXITING.store(true, Ordering::Relaxed);
}

/// Both handlers must run to their ends to turn the status into 0. Threads allocate meanwhile.
#[test]
fn exit_handlers_use_the_allocators() {
    child::run("exit_handlers_use_the_allocators", patience(), || {
        // SAFETY: the handler is a function, and does not unwind.
        assert_eq!(unsafe { libc::atexit(first_at_exit) }, 0);
        let (ready, wait) = std::sync::mpsc::channel();
        for number in 0..2 {
            let ready = ready.clone();
            thread::spawn(move || {
                leave_heirlooms(number);
                ready.send(()).unwrap();
                loop {
                    SUBJECTS.iter().for_each(|&subject| drop(blocks(subject, &SIZES)));
                }
            });
        }
        wait.iter().take(2).for_each(drop);
        leave_heirlooms(2);
        std::process::exit(1);
    });
}

#[test]
fn ten_thousand_threads_that_do_it_all() {
    child::run("ten_thousand_threads_that_do_it_all", patience(), || {
        run_and_compare(times(10_000), |number| {
            let one_thread = move || {
                leave_heirlooms(number);
                let keys = if number.is_multiple_of(2) { &EARLY_KEYS } else { &LATE_KEYS };
                let key = keys[number % keys.len()].load(Ordering::Relaxed);
                let (subject, rounds) = (SUBJECTS[number % 5], number as u32 % (more_rounds() + 1));
                let blocks = blocks(subject, &SIZES[..SMALL_SIZES]);
                let errand = Errand { key, rounds, is_busy: true, subject, blocks };
                set(key, Box::into_raw(Box::new(errand)));
            };
            thread::spawn(one_thread).join().unwrap();
        });
    });
}
