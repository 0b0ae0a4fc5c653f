//! A profile, to read: a snapshot, tables and JSON.

use core::fmt;

use super::histogram::Timer;
use super::{SizeSums, Sums};

/// Buckets of lifetimes: the last one is for 2^47 cycles and more, which is half a day.
pub const LIFETIME_BUCKETS: usize = 48;
/// Buckets of slow paths: the last one is for 2^31 cycles and more, which is most of a second.
pub const SLOW_BUCKETS: usize = 32;
/// Buckets of sizes: the last one is for 2^47 bytes and more, which no machine has.
pub const SIZE_BUCKETS: usize = 48;

/// What was sampled of an allocator with `N` classes since the start.
///
/// Histograms go by powers of two: bucket `n` is from `2^n` to below `2^(n + 1)`, the first one
/// from 0 on. Cycles are those of the processor's time-stamp counter, which has a fixed rate; where
/// there is none they are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile<const N: usize> {
    /// Bytes that a thread asks for between two samples, in the mean.
    pub sample_bytes: u64,
    /// Nanoseconds of a cycle, as measured from the first sample until now.
    pub cycle_ns: f64,
    /// Samples whose lifetime is not known, because the table of sampled blocks was full.
    pub untracked: u64,
    /// What was asked for, by size in bytes: see [`SizeProfile`].
    pub sizes: [SizeProfile; SIZE_BUCKETS],
    /// Per class, from small to large.
    pub classes: [ClassProfile; N],
    /// Requests above all classes.
    pub large: ClassProfile,
}

/// Requests of some sizes. Each sample stands for `1 / p` requests like it, where
/// `p = 1 - exp(-bytes / sample_bytes)` was its chance: sums of that have the right expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeProfile {
    /// Requests that were sampled.
    pub samples: u64,
    /// An estimate of all such requests.
    pub blocks: u64,
    /// An estimate of the bytes that they asked for.
    pub bytes: u64,
}

/// What was sampled of one class, and the times of its slow paths, which are all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassProfile {
    /// Bytes of a block; 0 for requests above all classes.
    pub bytes: usize,
    /// Allocations that were sampled.
    pub samples: u64,
    /// An estimate of all allocations.
    pub blocks: u64,
    /// An estimate of the bytes that they asked for.
    pub requested: u64,
    /// Of the sampled blocks, those that live.
    pub live: u64,
    /// Of the sampled blocks, those that another thread freed than allocated them.
    pub freed_elsewhere: u64,
    /// How long the freed ones lived: how many of them, by cycles. A block that a realloc moved
    /// has ended; one that it left in its place lives on.
    pub lifetimes: [u64; LIFETIME_BUCKETS],
    /// Allocs off the hit path.
    pub slow_alloc: SlowPath,
    /// Deallocs off the hit path.
    pub slow_dealloc: SlowPath,
}

/// The times of a slow path. What interrupted the thread counts, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowPath {
    /// How often it was taken.
    pub count: u64,
    /// Cycles of all of them.
    pub cycles: u64,
    /// Cycles of the longest.
    pub cycles_max: u64,
    /// How many there were, by cycles.
    pub buckets: [u64; SLOW_BUCKETS],
}

impl SlowPath {
    const NONE: SlowPath =
        SlowPath { count: 0, cycles: 0, cycles_max: 0, buckets: [0; SLOW_BUCKETS] };
}

impl ClassProfile {
    const NONE: ClassProfile = ClassProfile {
        bytes: 0,
        samples: 0,
        blocks: 0,
        requested: 0,
        live: 0,
        freed_elsewhere: 0,
        lifetimes: [0; LIFETIME_BUCKETS],
        slow_alloc: SlowPath::NONE,
        slow_dealloc: SlowPath::NONE,
    };

    pub(super) fn take(&mut self, sums: &Sums, [alloc, dealloc]: &[Timer; 2]) {
        self.samples = sums.samples;
        self.blocks = rounded(sums.blocks);
        self.requested = rounded(sums.bytes);
        self.freed_elsewhere = sums.freed_elsewhere;
        self.lifetimes = sums.lifetimes;
        self.slow_alloc = alloc.read();
        self.slow_dealloc = dealloc.read();
    }

    fn is_used(&self) -> bool {
        self.samples + self.slow_alloc.count + self.slow_dealloc.count > 0
    }
}

impl SizeProfile {
    pub(super) fn take(&mut self, sums: &SizeSums) {
        *self = SizeProfile {
            samples: sums.samples,
            blocks: rounded(sums.blocks),
            bytes: rounded(sums.bytes),
        };
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sums of positives")]
fn rounded(sum: f64) -> u64 {
    sum.round() as u64
}

impl<const N: usize> Profile<N> {
    pub(super) const fn new(sample_bytes: u64, cycle_ns: f64) -> Self {
        let none = SizeProfile { samples: 0, blocks: 0, bytes: 0 };
        Profile {
            sample_bytes,
            cycle_ns,
            untracked: 0,
            sizes: [none; SIZE_BUCKETS],
            classes: [ClassProfile::NONE; N],
            large: ClassProfile::NONE,
        }
    }

    /// The snapshot as one JSON object, with the names of the fields as keys. Histograms end at
    /// their last bucket that is not 0; `sizes` has an entry for each one that is not, with the key
    /// `from`, where it begins.
    pub fn json(&self) -> impl fmt::Display + '_ {
        Json(self)
    }
}

impl Profile<0> {
    /// Of an allocator without classes: a stub's.
    pub const NONE: Profile<0> = Profile::new(0, 0.0);
}

/// The end of the bucket below which a share of all counts lies, in hundredths.
fn below(buckets: &[u64], hundredths: u64) -> Option<u32> {
    let all: u64 = buckets.iter().sum();
    let mut sum = 0;
    let reaches = |count: &u64| {
        sum += count;
        sum * 100 >= all * hundredths
    };
    let bucket = buckets.iter().position(reaches).filter(|_| all > 0)?;
    u32::try_from(bucket + 1).ok()
}

/// A time in the unit that fits, or a dash.
struct Time(Option<f64>);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ns) = self.0 else { return f.pad("-") };
        let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
        let (scale, unit) = units.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or(units[3]);
        let width = f.width().unwrap_or(0).saturating_sub(unit.len() + 1);
        write!(f, "{:>width$.0} {unit}", ns / scale)
    }
}

/// Tables: of the sizes that were sampled, and of the classes that were used.
impl<const N: usize> fmt::Display for Profile<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Profile { sample_bytes, cycle_ns, untracked, .. } = self;
        writeln!(f, "one sample in {sample_bytes} bytes; a cycle is {cycle_ns:.3} ns")?;
        writeln!(f, "      size from    samples      blocks           bytes  (estimates)")?;
        for (power, size) in self.sizes.iter().enumerate().filter(|(_, size)| size.samples > 0) {
            let SizeProfile { samples, blocks, bytes } = size;
            writeln!(f, "{:>15} {samples:>10} {blocks:>11} {bytes:>15}", 1u64 << power)?;
        }
        writeln!(
            f,
            " class  samples   live elsewhere  half live  99% live  slow allocs    mean   max  \
             slow deallocs    mean   max  (cycles)"
        )?;
        for class in self.classes.iter().filter(|class| class.is_used()) {
            self.row(f, class)?;
        }
        if self.large.is_used() {
            self.row(f, &self.large)?;
        }
        write!(f, "{untracked} samples without a lifetime")
    }
}

impl<const N: usize> Profile<N> {
    fn row(&self, f: &mut fmt::Formatter<'_>, class: &ClassProfile) -> fmt::Result {
        let lived = |hundredths| {
            let power = below(&class.lifetimes, hundredths);
            Time(power.map(|power| 2f64.powf(f64::from(power)) * self.cycle_ns))
        };
        if class.bytes == 0 {
            write!(f, " large")?;
        } else {
            write!(f, "{:>6}", class.bytes)?;
        }
        let ClassProfile { samples, live, freed_elsewhere, .. } = class;
        write!(f, " {samples:>8} {live:>6} {freed_elsewhere:>9}")?;
        write!(f, " {:>10} {:>9}", lived(50), lived(99))?;
        for (slow, width) in [(&class.slow_alloc, 12), (&class.slow_dealloc, 14)] {
            let SlowPath { count, cycles, cycles_max, .. } = slow;
            let mean = cycles.checked_div(*count).unwrap_or(0);
            write!(f, " {count:>width$} {mean:>7} {cycles_max:>5}")?;
        }
        writeln!(f)
    }
}

struct Json<'a, const N: usize>(&'a Profile<N>);

impl<const N: usize> fmt::Display for Json<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Profile { sample_bytes, cycle_ns, untracked, sizes, classes, large } = self.0;
        write!(f, "{{\"sample_bytes\":{sample_bytes},\"cycle_ns\":{cycle_ns:.6}")?;
        write!(f, ",\"untracked\":{untracked},\"sizes\":[")?;
        let mut comma = "";
        for (power, size) in sizes.iter().enumerate().filter(|(_, size)| size.samples > 0) {
            let SizeProfile { samples, blocks, bytes } = size;
            write!(f, "{comma}{{\"from\":{},\"samples\":{samples}", 1u64 << power)?;
            write!(f, ",\"blocks\":{blocks},\"bytes\":{bytes}}}")?;
            comma = ",";
        }
        f.write_str("],\"large\":")?;
        json_class(f, large)?;
        f.write_str(",\"classes\":[")?;
        for (number, class) in classes.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "," })?;
            json_class(f, class)?;
        }
        f.write_str("]}")
    }
}

fn json_class(f: &mut fmt::Formatter<'_>, class: &ClassProfile) -> fmt::Result {
    let ClassProfile { bytes, samples, blocks, requested, live, freed_elsewhere, .. } = class;
    write!(f, "{{\"bytes\":{bytes},\"samples\":{samples},\"blocks\":{blocks}")?;
    write!(f, ",\"requested\":{requested},\"live\":{live}")?;
    write!(f, ",\"freed_elsewhere\":{freed_elsewhere},\"lifetimes\":")?;
    json_buckets(f, &class.lifetimes)?;
    for (name, slow) in [("slow_alloc", &class.slow_alloc), ("slow_dealloc", &class.slow_dealloc)] {
        let SlowPath { count, cycles, cycles_max, buckets } = slow;
        write!(f, ",\"{name}\":{{\"count\":{count},\"cycles\":{cycles}")?;
        write!(f, ",\"cycles_max\":{cycles_max},\"buckets\":")?;
        json_buckets(f, buckets)?;
        f.write_str("}")?;
    }
    f.write_str("}")
}

fn json_buckets(f: &mut fmt::Formatter<'_>, buckets: &[u64]) -> fmt::Result {
    let used = buckets.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    f.write_str("[")?;
    for (number, count) in buckets[..used].iter().enumerate() {
        write!(f, "{}{count}", if number == 0 { "" } else { "," })?;
    }
    f.write_str("]")
}
