//! What was counted, to read: a snapshot, a table and JSON.

use core::fmt;

use crate::depot::{Depot, Depots};
use crate::heap::Heap;
use crate::large::Larges;

use super::{HITS, RARE, Rare};

/// What an allocator with `N` classes counted since the start.
///
/// Each count is exact once the threads that do what is counted are quiet. Of threads at work the
/// counts are not of one moment: a block may be seen freed and not yet allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters<const N: usize> {
    /// Per class, from small to large.
    pub classes: [ClassCounters; N],
    /// Requests above all classes.
    pub large: LargeCounters,
}

/// What was counted of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassCounters {
    /// Bytes of a block.
    pub bytes: usize,
    /// Blocks that the program got. A realloc that moves a block counts as an alloc in its new
    /// class and a dealloc in its old one.
    pub allocs: u64,
    /// Blocks that it gave back.
    pub deallocs: u64,
    /// Allocs that found no block in the thread's own cache, the failed ones too. None without
    /// cache layers.
    pub misses: u64,
    /// Deallocs that found no room there. None without cache layers.
    pub overflows: u64,
    /// Allocs that got nothing: the system had no memory, or the allocator was at its limit.
    pub failures: u64,
    /// Reallocs that left their block where it was.
    pub resizes: u64,
    /// Times that a thread fetched blocks from slabs.
    pub refills: u64,
    /// Full parcels that threads got from the depot.
    pub exchanges_in: u64,
    /// Full parcels that threads gave to the depot.
    pub exchanges_out: u64,
    /// Blocks that went back to their slabs.
    pub returned: u64,
}

/// What was counted of requests above all classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LargeCounters {
    /// Spans and mappings that the program got.
    pub allocs: u64,
    /// Spans and mappings that it gave back.
    pub deallocs: u64,
    /// Allocs that got nothing.
    pub failures: u64,
    /// Reallocs that copied nothing: in place, or moved by the system.
    pub resizes: u64,
}

impl ClassCounters {
    /// Blocks that the program has.
    pub fn live(&self) -> u64 {
        self.allocs.saturating_sub(self.deallocs)
    }

    fn new(bytes: usize, sums: &[u64; HITS + RARE]) -> Self {
        let rare = |what: Rare| sums[HITS + what as usize];
        let (misses, overflows, failures) =
            (rare(Rare::Miss), rare(Rare::Overflow), rare(Rare::Failure));
        ClassCounters {
            bytes,
            allocs: (sums[0] + misses).saturating_sub(failures),
            deallocs: sums[1] + overflows,
            misses,
            overflows,
            failures,
            resizes: rare(Rare::Resize),
            ..ClassCounters::default()
        }
    }
}

impl LargeCounters {
    /// Spans and mappings that the program has.
    pub fn live(&self) -> u64 {
        self.allocs.saturating_sub(self.deallocs)
    }

    fn new(sums: [u64; HITS + RARE]) -> Self {
        let failures = sums[HITS + Rare::Failure as usize];
        LargeCounters {
            allocs: sums[0].saturating_sub(failures),
            deallocs: sums[1],
            failures,
            resizes: sums[HITS + Rare::Resize as usize],
        }
    }
}

impl<const N: usize> Counters<N> {
    /// Puts together what the threads counted and what the heap knows, both in the heap's order.
    pub(super) fn new<D: Depots, L: Larges>(
        heap: &'static Heap<D, L>,
        sums: &[[u64; HITS + RARE]; N],
        large: [u64; HITS + RARE],
    ) -> Self {
        let mut classes = [ClassCounters::default(); N];
        for (place, (class, sums)) in classes.iter_mut().zip(sums).enumerate() {
            *class = ClassCounters::new(heap.classes[place].size.bytes as usize, sums);
        }
        for place in 0..heap.classes.len() {
            let [_, given] = heap.at(place).1.map_or([0; 2], |depot| Depot::census(depot).1);
            classes[place % heap.count].exchanges_out += given;
        }
        // The statics have the hot ones first.
        classes.sort_unstable_by_key(|class| class.bytes);
        for (class, seen) in classes.iter_mut().zip(heap.stats::<N>().classes) {
            class.refills = seen.refills;
            class.exchanges_in = seen.exchanges;
            class.returned = seen.supplied.saturating_sub(seen.blocks_out as u64);
        }
        Counters { classes, large: LargeCounters::new(large) }
    }

    /// The snapshot as one JSON object, with the names of the fields as keys.
    pub fn json(&self) -> impl fmt::Display {
        Json(*self)
    }
}

impl Counters<0> {
    /// Of an allocator without classes: a stub's.
    pub const NONE: Counters<0> = Counters {
        classes: [],
        large: LargeCounters { allocs: 0, deallocs: 0, failures: 0, resizes: 0 },
    };
}

/// A table with a row for each class that was used.
impl<const N: usize> fmt::Display for Counters<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            " class      allocs    deallocs      live   misses  overflows  refills  exchanges in  \
             out   returned    resizes  failures"
        )?;
        let is_used = |class: &&ClassCounters| {
            class.allocs + class.deallocs + class.resizes + class.failures > 0
        };
        for class in self.classes.iter().filter(is_used) {
            writeln!(
                f,
                "{:>6} {:>11} {:>11} {:>9} {:>8} {:>10} {:>8} {:>13} {:>4} {:>10} {:>10} {:>9}",
                class.bytes,
                class.allocs,
                class.deallocs,
                class.live(),
                class.misses,
                class.overflows,
                class.refills,
                class.exchanges_in,
                class.exchanges_out,
                class.returned,
                class.resizes,
                class.failures,
            )?;
        }
        let LargeCounters { allocs, deallocs, failures, resizes } = self.large;
        let live = self.large.live();
        write!(f, "large: {allocs} allocs, {deallocs} deallocs, {live} live, ")?;
        write!(f, "{resizes} resizes, {failures} failures")
    }
}

struct Json<const N: usize>(Counters<N>);

impl<const N: usize> fmt::Display for Json<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LargeCounters { allocs, deallocs, failures, resizes } = self.0.large;
        write!(f, "{{\"large\":{{\"allocs\":{allocs},\"deallocs\":{deallocs}")?;
        write!(f, ",\"failures\":{failures},\"resizes\":{resizes}}},\"classes\":[")?;
        for (number, class) in self.0.classes.iter().enumerate() {
            let ClassCounters { bytes, allocs, deallocs, misses, overflows, .. } = class;
            let ClassCounters { failures, resizes, refills, returned, .. } = class;
            let ClassCounters { exchanges_in, exchanges_out, .. } = class;
            write!(f, "{}{{\"bytes\":{bytes}", if number == 0 { "" } else { "," })?;
            write!(f, ",\"allocs\":{allocs},\"deallocs\":{deallocs},\"misses\":{misses}")?;
            write!(f, ",\"overflows\":{overflows},\"failures\":{failures}")?;
            write!(f, ",\"resizes\":{resizes},\"refills\":{refills}")?;
            write!(f, ",\"exchanges_in\":{exchanges_in},\"exchanges_out\":{exchanges_out}")?;
            write!(f, ",\"returned\":{returned}}}")?;
        }
        f.write_str("]}")
    }
}
