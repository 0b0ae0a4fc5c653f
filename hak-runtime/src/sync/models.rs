//! Models of the lock on its futex. All other models use loom's lock in its place.

use std::sync::Arc;

use loom::thread;

use super::UnsafeCell;
use super::modelled::check;
use super::mutex::Mutex;

/// Counts up on threads of their own and here. Each count must happen after the one before, and no
/// one may sleep for ever.
fn count(threads: usize) {
    let total = Arc::new(Mutex::new((UnsafeCell::new(()), 0)));
    let count_once = |total: &Mutex<(UnsafeCell<()>, usize)>| {
        let mut total = total.lock();
        total.0.get();
        total.1 += 1;
    };
    count_once(&total);
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let total = total.clone();
            thread::spawn(move || count_once(&total))
        })
        .collect();
    count_once(&total);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(total.lock().1, threads + 1);
}

#[test]
fn two_threads_exclude_each_other() {
    check(6, || count(2));
}

#[test]
fn three_threads_wake_each_other() {
    check(3, || count(3));
}
