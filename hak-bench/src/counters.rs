//! `hak-bench counters`: branches, loads and instructions of a kernel on each peer.

pub(crate) mod file;
pub(crate) mod output;
pub(crate) mod table;
pub(crate) mod taken;

use std::slice;

use hak_bench_kernels::Group;

use crate::asked::{self, Asked};
use crate::callgrind;
use crate::choice::Choice;
use crate::failure::Failure;
use crate::options::name;
use crate::subjects;

use file::{File, KEYS};
use output::Output;
use table::Base;

/// The system allocator is the first row.
pub(crate) const TO_SYSTEM: Base = Base { title: "system = 1", of: |_| Some(0) };

/// Count branches, loads and instructions on a simulated processor.
///
/// Each peer runs the kernel once under callgrind, which counts what the timed part executes.
/// Branches are conditional ones; loads are reads of data. Mispredicted branches and misses of the
/// first-level cache are those of callgrind's simulated processor, not of this machine's. Time is
/// of runs without callgrind. The system allocator is always among the peers, since the others are
/// shown as multiples of it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = KEYS)]
pub(crate) struct Args {
    /// The kernel: of one thread.
    #[arg(value_parser = name)]
    pub(crate) kernel: String,
    /// The kernel's parameters in their order; where none is told, the defaults, but a hundredth
    /// of the first one.
    pub(crate) numbers: Vec<u64>,
    /// Peers; all where none is named.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = name)]
    pub(crate) peers: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Counts, and prints the tables.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    callgrind::find()?;
    let peers = asked::peers(args.peers.clone());
    let choice = Choice::of(slice::from_ref(&args.kernel), &peers)?;
    let [kernel] = choice.kernels.as_slice() else {
        let name = &args.kernel;
        return Err(Failure::Usage(format!(
            "`{name}` is several kernels; they are counted singly"
        )));
    };
    if kernel.group == Group::Threads {
        return Err(several_threads(&kernel.name));
    }
    let asked = Asked::new(kernel.clone(), &args.numbers)?;
    let countable: Vec<_> =
        choice.peers.iter().copied().filter(|peer| peer.not_under_valgrind.is_none()).collect();
    let subjects = subjects::ready(&countable, choice.subjects)?;
    let taken = taken::all(&asked, &subjects, args.output.runs, args.output.limit)?;
    let taken = taken.with_all_of(&choice.peers);
    let text = table::text(&taken, &[TO_SYSTEM], args.output.form());
    args.output.write(&File::of(&asked, &taken), &text)?;
    taken.any()
}

/// What callgrind counts of one thread, and in turn, says little of several at once.
pub(crate) fn several_threads(kernel: &str) -> Failure {
    Failure::Usage(format!(
        "`{kernel}` runs in several threads, and callgrind lets one run at a time: what it would \
         count is not what happens\nhelp: choose a kernel of one thread (`hak-bench list` shows \
         them), or time this one by `hak-bench run {kernel}`"
    ))
}
