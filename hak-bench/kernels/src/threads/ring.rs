//! Messages of mixed sizes, passed round a ring of threads.
//!
//! As actors, or the stages of a pipeline: each reads the messages that it gets, frees them, and
//! makes its own for the next. All threads allocate as much as they free, and all that a thread
//! frees was made by its neighbour.
//!
//! Messages go over in batches of 256. Two batches for each thread are under way, so that one lies
//! ready when another is done; a batch takes its vector and its random numbers along, so that what
//! is in it does not depend on who is faster.

use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::team::{side_by_side, threads};
use crate::block::Block;
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "ring",
    about: "4 threads in a ring, each of which gets 8 batches of 256 messages a round: it frees \
            the messages, makes others of 32 bytes to 4 KiB (each doubling as likely as the next, \
            seed 42) and passes them on",
    group: Group::Threads,
    operation: "message",
    parameters: &[parameter("rounds", 300).within(1, 1 << 24), threads(4), seed(42)],
    run,
};

const BATCH: u64 = 256;
/// Batches under way for each thread of the ring.
const UNDER_WAY: u64 = 2;

struct Batch {
    messages: Vec<Block>,
    random: Random,
    /// How many threads it is still to come to.
    stations: u64,
}

impl Batch {
    fn new(random: Random, stations: u64) -> Batch {
        let mut batch = Batch { messages: Vec::with_capacity(BATCH as usize), random, stations };
        batch.make();
        batch
    }

    /// All that one thread does with it.
    #[inline(never)]
    fn answer(&mut self) -> u64 {
        let sum = self.messages.drain(..).map(Block::free).sum();
        self.stations -= 1;
        if self.stations > 0 {
            self.make();
        }
        sum
    }

    fn make(&mut self) {
        for number in 0..BATCH {
            let size = self.random.scaled(32, 4096) as usize;
            self.messages.push(Block::new(size, number as u8));
        }
    }
}

/// A thread's place in the ring.
struct Station {
    /// How many batches come by, all rounds together.
    batches: u64,
    from: Receiver<Batch>,
    to: SyncSender<Batch>,
}

impl Station {
    fn work(self) -> u64 {
        let mut sum = 0;
        for mut batch in self.from.iter().take(self.batches as usize) {
            sum += batch.answer();
            if batch.stations > 0 {
                self.to.send(batch).expect("a station stays until its last batch has come");
            }
        }
        sum
    }
}

fn run(parameters: &[u64]) -> Measured {
    let &[rounds, threads, seed] = parameters else {
        unreachable!("one number for each parameter")
    };
    let mut ring = ring(rounds, threads, seed);
    let batches = UNDER_WAY * threads;
    measure(rounds * threads * batches * BATCH, || {
        side_by_side(mem::take(&mut ring), Station::work)
    })
}

/// The stations, with the first batches before them.
fn ring(rounds: u64, threads: u64, seed: u64) -> Vec<Station> {
    let batches = UNDER_WAY * threads;
    // There is room for all of them: no one waits for its successor.
    let channel = |_| sync_channel(batches as usize);
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..threads).map(channel).unzip();
    for (number, sender) in (0..batches).zip(senders.iter().cycle()) {
        let batch = Batch::new(Random::nth(seed, number), rounds * threads);
        sender.send(batch).expect("its receiver is in this function");
    }
    // A station sends to the next one, and the last to the first.
    senders.rotate_left(1);
    let station = |(from, to)| Station { batches: rounds * batches, from, to };
    receivers.into_iter().zip(senders).map(station).collect()
}

#[cfg(test)]
mod tests {
    use super::{BATCH, UNDER_WAY, run};

    #[test]
    fn every_message_is_read_once_at_every_number_of_threads() {
        for threads in 1..=5 {
            let measured = run(&[7, threads, 42]);
            let batches = 7 * threads * (UNDER_WAY * threads);
            let sum_of_batch = 2 * (0..BATCH).sum::<u64>();
            assert_eq!(measured.operations, batches * BATCH);
            assert_eq!(measured.checksum, batches * sum_of_batch);
        }
    }
}
