//! `hak-bench plan`: a plan to mend a slow allocator, step by step, as specs.
//!
//! The plan is that of a report on another allocator, which found debugging code left on, three
//! cache layers where one would do, and wrong branch hints. Here each step is a spec in
//! `hak-bench/specs/plan/` that extends the one before, so that two neighbours differ in one thing.

mod criteria;

use crate::asked::{self, Asked};
use crate::callgrind;
use crate::choice::Choice;
use crate::counters::file::{File, KEYS};
use crate::counters::output::Output;
use crate::counters::table::{self, Base};
use crate::counters::{TO_SYSTEM, taken};
use crate::failure::Failure;
use crate::peers::{Peer, made_from};
use crate::subjects;

/// Mend a slow allocator step by step, and count what each step brings.
///
/// On the kernel `random-mixed`: step 0 has checks and figures left on, three cache layers, and
/// wrong branch hints. Step 1 turns off checks and figures, step 2 leaves one layer, step 3 puts
/// the hints right. The figures are those of `hak-bench counters`, beside the goals of the report
/// that the plan is from.
#[derive(Debug, clap::Args)]
#[command(after_long_help = KEYS)]
pub(crate) struct Args {
    /// Cycles, live blocks and seed; where none is told, those of the report: 100000 256 42.
    pub(crate) numbers: Vec<u64>,
    #[command(flatten)]
    pub(crate) output: Output,
}

const KERNEL: &str = "random-mixed";
const NUMBERS: [u64; 3] = [100_000, 256, 42];

/// One spec.
struct Step {
    peer: Peer,
    /// What is mended, and what the report expects of it.
    change: Option<Change>,
}

struct Change {
    what: &'static str,
    figure: table::Figure,
    /// The report's, in percent.
    expected: &'static str,
}

/// In the order of the plan.
const STEPS: [Step; 4] = [
    Step {
        peer: made_from("plan-0-all-wrong", "hak-bench/specs/plan/plan-0-all-wrong.toml"),
        change: None,
    },
    Step {
        peer: made_from("plan-1-no-checks", "hak-bench/specs/plan/plan-1-no-checks.toml"),
        change: Some(Change {
            what: "checks and figures off",
            figure: table::Figure::Branches,
            expected: "-40 to -50 %",
        }),
    },
    Step {
        peer: made_from("plan-2-one-layer", "hak-bench/specs/plan/plan-2-one-layer.toml"),
        change: Some(Change {
            what: "one layer instead of three",
            figure: table::Figure::Branches,
            expected: "-5 to -10 %",
        }),
    },
    Step {
        peer: made_from("plan-3-hints-right", "hak-bench/specs/plan/plan-3-hints-right.toml"),
        change: Some(Change {
            what: "hints right",
            figure: table::Figure::Mispredicted,
            expected: "-2 to -5 %",
        }),
    },
];

/// The first row is the system allocator's, the second that of step 0, which has none before it.
const TO_STEP_BEFORE: Base =
    Base { title: "step before = 1", of: |row| row.checked_sub(1).filter(|before| *before > 0) };

/// Counts, and prints the tables.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    callgrind::find()?;
    let Choice { kernels, mut peers, subjects } =
        Choice::of(&[KERNEL.to_owned()], &[asked::SYSTEM.to_owned()])?;
    let [kernel] = kernels.as_slice() else {
        return Err(Failure::Failed(format!("`{KERNEL}` is not one kernel")));
    };
    let numbers = if args.numbers.is_empty() { &NUMBERS[..] } else { &args.numbers };
    let asked = Asked::new(kernel.clone(), numbers)?;
    peers.extend(STEPS.iter().map(|step| &step.peer));
    let subjects = subjects::ready(&peers, subjects)?;
    let taken = taken::all(&asked, &subjects, args.output.runs, args.output.limit)?;
    let form = args.output.form();
    let tables = table::text(&taken, &[TO_STEP_BEFORE, TO_SYSTEM], form);
    let text = tables + &criteria::text(&taken, &STEPS, form);
    args.output.write(&File::of(&asked, &taken), &text)?;
    taken.any()
}

#[cfg(test)]
mod tests {
    use super::{STEPS, TO_STEP_BEFORE};
    use crate::subjects::root;

    #[test]
    fn every_step_has_its_spec_and_its_program() {
        for step in &STEPS {
            let spec = root().join(step.peer.spec.unwrap());
            assert!(spec.is_file(), "{} is missing", spec.display());
            let program = root().join(format!("hak-bench/peers/src/bin/{}.rs", step.peer.name));
            assert!(program.is_file(), "{} is missing", program.display());
        }
    }

    #[test]
    fn the_first_step_has_none_before_it() {
        assert_eq!([0, 1, 2, 3].map(TO_STEP_BEFORE.of), [None, None, Some(1), Some(2)]);
    }
}
