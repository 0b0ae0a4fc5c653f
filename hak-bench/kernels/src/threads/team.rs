//! Threads that work side by side, and threads that follow each other.

use std::sync::mpsc::{self, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::kernel::{Parameter, parameter};

/// How many threads a kernel has at a time.
pub(super) const fn threads(default: u64) -> Parameter {
    parameter("threads", default).within(1, 64)
}

/// Each member works in a thread of its own; the sum of what they tell.
pub(super) fn side_by_side<M: Send>(members: Vec<M>, work: impl Fn(M) -> u64 + Sync) -> u64 {
    thread::scope(|scope| {
        let work = &work;
        let start = |member| scope.spawn(move || work(member));
        let threads: Vec<_> = members.into_iter().map(start).collect();
        join(threads).into_iter().sum()
    })
}

/// What each thread returned. The end of a scope does not do: threads may still be at their own end
/// then, and some allocators do not bear that the process ends meanwhile.
pub(super) fn join<'scope, T: 'scope>(
    threads: impl IntoIterator<Item = ScopedJoinHandle<'scope, T>>,
) -> Vec<T> {
    let join = |thread: ScopedJoinHandle<T>| thread.join().expect("a panic ends the process");
    threads.into_iter().map(join).collect()
}

/// What is handed from thread to thread.
pub(super) trait Estate: Send {
    /// All that one thread does with it.
    fn live(&mut self) -> u64;

    /// What the last thread does after that.
    fn dissolve(self) -> u64;
}

/// For each estate, `lives` threads one after the other: a thread lives, starts its successor,
/// hands the estate over and ends, while the successor is at work already. The sum of what all
/// told.
pub(super) fn in_succession<E: Estate>(lives: u64, estates: Vec<E>) -> u64 {
    thread::scope(|scope| {
        let (sender, threads) = mpsc::channel();
        for estate in estates {
            succeed(scope, lives, estate, sender.clone());
        }
        drop(sender);
        join(threads).into_iter().sum()
    })
}

/// Each thread is sent to whoever joins it.
fn succeed<'scope, E: Estate + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    lives: u64,
    mut estate: E,
    threads: Sender<ScopedJoinHandle<'scope, u64>>,
) {
    let heir = threads.clone();
    let thread = scope.spawn(move || {
        let told = estate.live();
        match lives - 1 {
            0 => told + estate.dissolve(),
            lives => {
                succeed(scope, lives, estate, heir);
                told
            }
        }
    });
    threads.send(thread).expect("threads are joined until there are no more");
}

#[cfg(test)]
mod tests {
    use super::{Estate, in_succession, side_by_side};

    /// Counts the threads it went through, which are all different.
    struct Visited(Vec<std::thread::ThreadId>);

    impl Estate for Visited {
        fn live(&mut self) -> u64 {
            let id = std::thread::current().id();
            assert!(!self.0.contains(&id));
            self.0.push(id);
            1
        }

        fn dissolve(self) -> u64 {
            100 * self.0.len() as u64
        }
    }

    #[test]
    fn each_life_is_a_thread_of_its_own() {
        let estates = vec![Visited(Vec::new()), Visited(Vec::new())];
        assert_eq!(in_succession(5, estates), 2 * (5 + 500));
    }

    #[test]
    fn all_members_are_added() {
        assert_eq!(side_by_side(vec![1, 20, 300], |member| 2 * member), 642);
    }
}
