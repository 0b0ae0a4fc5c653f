//! Some threads allocate only, others free only.
//!
//! After the test of Lever and Boreham ("malloc() Performance in a Multithreaded Linux
//! Environment", 2000). As a pipeline whose readers build records that its writers throw away, or a
//! logger with a thread of its own. No thread ever gets back what it gave: what the freeing threads
//! cache must find its way to those that allocate.
//!
//! Blocks go over in batches of 4096, as a vector that the consumer frees too, so that the queues
//! are no part of what is measured. A producer hands its batches to the consumers in turn; it waits
//! when four are queued, so that memory does not depend on who is faster.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::team::{self, threads};
use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "xmalloc",
    about: "2 threads allocate blocks of 16 bytes to 1 KiB (each doubling as likely as the next, \
            seed 42) and hand them over in batches of 4096 to 2 threads that free them",
    group: Group::Threads,
    operation: "allocate and free",
    parameters: &[parameter("batches", 250).within(1, 1 << 32), threads(4).within(2, 64), seed(42)],
    run,
};

const BATCH: u64 = 4096;
/// Batches that wait for a consumer.
const QUEUED: usize = 4;

type Batch = Vec<Block>;

fn run(parameters: &[u64]) -> Measured {
    let &[batches, threads, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let producers = threads >> 1;
    let consumers = threads - producers;
    measure(producers * batches * BATCH, || work(batches, producers, consumers, seed))
}

fn work(batches: u64, producers: u64, consumers: u64, seed: u64) -> u64 {
    thread::scope(|scope| {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..consumers).map(|_| sync_channel(QUEUED)).unzip();
        let start = |number: u64| {
            let (senders, random) = (senders.clone(), Random::nth(seed, number));
            // Producers begin with different consumers.
            let first = number as usize;
            scope.spawn(move || produce(batches, random, senders.iter().cycle().skip(first)))
        };
        let producers: Vec<_> = (0..producers).map(start).collect();
        // A consumer ends when all senders are gone.
        drop(senders);
        let start = |receiver| scope.spawn(move || consume(receiver));
        let consumers: Vec<_> = receivers.into_iter().map(start).collect();
        team::join(producers);
        team::join(consumers).into_iter().sum()
    })
}

#[inline(never)]
fn produce<'a>(
    batches: u64,
    mut random: Random,
    turns: impl Iterator<Item = &'a SyncSender<Batch>>,
) {
    for sender in turns.take(batches as usize) {
        let make = |number| Block::new(random.scaled(16, 1024) as usize, number as u8);
        let batch = (0..BATCH).map(make).collect();
        sender.send(batch).expect("consumers stay as long as there are producers");
    }
}

#[inline(never)]
fn consume(batches: Receiver<Batch>) -> u64 {
    batches.into_iter().flatten().map(Block::free).sum()
}

#[cfg(test)]
mod tests {
    use super::{BATCH, run};

    #[test]
    fn every_block_is_freed_also_when_consumers_are_more() {
        for threads in 2..=5 {
            let measured = run(&[3, threads, 42]);
            let batches = 3 * (threads / 2);
            let sum_of_batch = (0..BATCH).map(|number| 2 * (number % 256)).sum::<u64>();
            assert_eq!(measured.operations, batches * BATCH);
            assert_eq!(measured.checksum, batches * sum_of_batch);
        }
    }
}
