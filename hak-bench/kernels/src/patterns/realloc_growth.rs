//! Vectors that grow by `push`, side by side.
//!
//! As output buffers, result sets and parsers' lists, whose ends are not known when they are begun:
//! each grows from empty by doubling, and what it leaves behind is too small for its next step.

use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "realloc-growth",
    about: "16 vectors grow side by side (seed 42), 1 to 256 records of 16 bytes at a turn, from \
            empty to an end of 16 bytes to 1 MiB (each doubling as likely as the next), and make \
            room for new ones",
    group: Group::Pattern,
    operation: "vector",
    parameters: &[parameter("vectors", 15_000), parameter("live", 16).within(1, 1 << 16), seed(42)],
    run,
};

const RECORD_BYTES: u64 = 16;
const MOST_BYTES: u64 = 1 << 20;

/// A vector on its way to its end.
struct Growing {
    records: Vec<[u64; 2]>,
    /// How many records it is to have.
    end: usize,
}

impl Growing {
    fn new(random: &mut Random) -> Growing {
        let end = random.scaled(1, MOST_BYTES / RECORD_BYTES) as usize;
        Growing { records: Vec::new(), end }
    }

    /// A turn. At its end the vector tells the sum of its first and last record.
    fn grow(&mut self, records: usize) -> Option<u64> {
        let first = self.records.len();
        let next = self.end.min(first + records);
        for number in first as u64..next as u64 {
            self.records.push([number, number + 1]);
        }
        (next == self.end).then(|| self.records[0][1] + self.records[next - 1][0])
    }
}

fn run(parameters: &[u64]) -> Measured {
    let &[vectors, live, seed] = parameters else { unreachable!("one number for each parameter") };
    let mut random = Random::new(seed);
    let mut growing: Vec<_> = (0..live).map(|_| Growing::new(&mut random)).collect();
    measure(vectors, || work(vectors, &mut growing, &mut random))
}

#[inline(never)]
fn work(vectors: u64, growing: &mut [Growing], random: &mut Random) -> u64 {
    let (mut sum, mut ended) = (0, 0);
    while ended < vectors {
        let vector = &mut growing[random.below(growing.len() as u64) as usize];
        if let Some(its) = vector.grow(random.within(1, 256) as usize) {
            sum += its;
            ended += 1;
            *vector = Growing::new(random);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{Growing, MOST_BYTES, RECORD_BYTES, Random};

    #[test]
    fn a_vector_grows_to_its_end_and_no_further() {
        let mut vector = Growing { records: Vec::new(), end: 300 };
        assert_eq!(vector.grow(256), None);
        assert_eq!(vector.grow(256), Some(1 + 299));
        assert_eq!(vector.records.len(), 300);
    }

    #[test]
    fn ends_are_not_beyond_the_most() {
        let mut random = Random::new(42);
        let ends: Vec<_> = (0..10_000).map(|_| Growing::new(&mut random).end as u64).collect();
        assert_eq!(ends.iter().min(), Some(&1));
        assert!(ends.iter().all(|&end| end * RECORD_BYTES <= MOST_BYTES));
        assert!(ends.iter().any(|&end| 2 * end * RECORD_BYTES > MOST_BYTES));
    }
}
