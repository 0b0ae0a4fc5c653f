//! What the report expected of each step and of the whole, beside what was found.

use crate::counters::output::Form;
use crate::counters::table::{Figure, grouped, rendered, told};
use crate::counters::taken::{Figures, Taken};

use super::Step;

/// One of the report's measures of success.
struct Criterion {
    what: &'static str,
    /// Where the report's allocator stood.
    began: &'static str,
    target: Goal,
    stretch: Goal,
    /// The figure of a row, and the system allocator's to compare it with.
    of: fn(&Figures, &Figures) -> Option<f64>,
    show: fn(f64) -> String,
}

/// What a figure must be.
#[derive(Clone, Copy)]
enum Goal {
    Below(f64),
    Above(f64),
}

impl Goal {
    fn is_met(self, figure: f64) -> bool {
        match self {
            Goal::Below(limit) => figure < limit,
            Goal::Above(limit) => figure > limit,
        }
    }

    fn text(self, show: fn(f64) -> String) -> String {
        match self {
            Goal::Below(limit) => format!("< {}", show(limit)),
            Goal::Above(limit) => format!("> {}", show(limit)),
        }
    }
}

/// The report's numbers are of this many cycles.
const CYCLES: f64 = 100_000.0;

const CRITERIA: [Criterion; 4] = [
    Criterion {
        what: "branches in 100 000 cycles",
        began: "17 098 340",
        target: Goal::Below(10e6),
        stretch: Goal::Below(8e6),
        of: |row, _| Some(Figure::Branches.of(row)? * CYCLES / row.operations as f64),
        show: |branches| grouped(branches.round() as u64),
    },
    Criterion {
        what: "mispredicted branches",
        began: "10.89 %",
        target: Goal::Below(0.08),
        stretch: Goal::Below(0.07),
        of: |row, _| Figure::BranchRate.of(row),
        show: |rate| format!("{:.2} %", rate * 100.0),
    },
    Criterion {
        what: "time, system allocator = 1",
        began: "8.5",
        target: Goal::Below(5.0),
        stretch: Goal::Below(3.0),
        of: |row, system| Figure::Time.ratio(row, system),
        show: |ratio| format!("{ratio:.2}"),
    },
    Criterion {
        what: "million cycles per second",
        began: "1.07",
        target: Goal::Above(2.0),
        stretch: Goal::Above(3.0),
        of: |row, _| Some(row.operations as f64 * 1e3 / row.time()),
        show: |millions| format!("{millions:.2}"),
    },
];

const READING: &str = "\
The report counted its own allocator, on a processor and with the start and end of the process in
it; here the timed part is counted, on a simulated one. That a goal is met says that this allocator
is on the good side of it, not that the same allocator was mended by so much; where step 0 is there
already, the goal tells nothing of the steps. The report's step of reading settings from the
environment only once has no counterpart: a spec is read by the compiler.
";

/// Both tables, and how to read them. Nothing of a step or a goal whose rows have no figures.
pub(super) fn text(taken: &Taken, steps: &[Step], form: Form) -> String {
    let (changes, goals) = (changes(taken, steps, form), goals(taken, form));
    format!("{changes}\n{goals}\n{}", told(READING, form))
}

/// What each step changed. The rows of the steps stand behind that of the system allocator.
fn changes(taken: &Taken, steps: &[Step], form: Form) -> String {
    let heads = ["what a step mends", "figure", "the report expects", "found"];
    let figures = |row: usize| taken.rows.get(row)?.figures.as_ref().ok();
    let row = |(number, step): (usize, &Step)| {
        let change = step.change.as_ref()?;
        let ratio = change.figure.ratio(figures(number + 1)?, figures(number)?);
        let found =
            ratio.map_or("-".to_owned(), |ratio| format!("{:+.1} %", (ratio - 1.0) * 100.0));
        let what = format!("{number}: {}", change.what);
        Some(vec![what, change.figure.head().to_owned(), change.expected.to_owned(), found])
    };
    let rows: Vec<_> = steps.iter().enumerate().filter_map(row).collect();
    rendered(&heads, 2, &rows, form)
}

/// The report's goals, where the first step stands, and where the last one.
fn goals(taken: &Taken, form: Form) -> String {
    let heads = ["goal", "report began", "target", "stretch", "step 0", "last step", "verdict"];
    let mut rows = Vec::new();
    if let [Ok(system), Ok(first), .., Ok(last)] =
        taken.rows.iter().map(|row| row.figures.as_ref()).collect::<Vec<_>>().as_slice()
    {
        rows.extend(CRITERIA.iter().filter_map(|criterion| criterion.row(system, first, last)));
    }
    rendered(&heads, 1, &rows, form)
}

impl Criterion {
    fn row(&self, system: &Figures, first: &Figures, last: &Figures) -> Option<Vec<String>> {
        let (first, last) = ((self.of)(first, system)?, (self.of)(last, system)?);
        let verdict = if self.stretch.is_met(last) {
            "stretch met"
        } else if self.target.is_met(last) {
            "target met"
        } else {
            "missed"
        };
        let goals = [self.target, self.stretch].map(|goal| goal.text(self.show));
        let [target, stretch] = goals;
        let (what, began, verdict) = (self.what.into(), self.began.into(), verdict.into());
        Some(vec![what, began, target, stretch, (self.show)(first), (self.show)(last), verdict])
    }
}

#[cfg(test)]
mod tests {
    use super::super::STEPS;
    use super::{Form, text};
    use crate::callgrind::Events;
    use crate::counters::taken::{Figures, Row, Taken};
    use crate::terminal::Room;

    /// Rows of as many branches and mispredicted ones, and of so many nanoseconds.
    fn taken(rows: &[(u64, u64, f64)]) -> Taken {
        let row = |&(branches, mispredicted, time)| {
            let events = Events { branches, mispredicted, ..Events::default() };
            let figures =
                Figures { operations: 50_000, events, times: vec![time], other_threads: 0 };
            Row { name: "row".to_owned(), figures: Ok(figures) }
        };
        let mut taken = crate::counters::taken::tests::taken();
        taken.rows = rows.iter().map(row).collect();
        taken
    }

    fn line<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
        let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
        line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn a_verdict_is_on_the_last_step() {
        let rows = [
            (1_000_000, 10, 1e7),
            (9_000_000, 900_000, 9e7),
            (7_000_000, 1, 1e7),
            (7_000_000, 1, 1e7),
            (4_500_000, 333_000, 6e7),
        ];
        let text = text(&taken(&rows), &STEPS, Form::Columns(Room::Other));
        assert_eq!(
            line(&text, "branches in"),
            ["branches in 100 000 cycles", "17 098 340", "< 10 000 000", "< 8 000 000"]
                .into_iter()
                .chain(["18 000 000", "9 000 000", "target met"])
                .collect::<Vec<_>>()
        );
        assert_eq!(line(&text, "mispredicted")[4..], ["10.00 %", "7.40 %", "target met"]);
        assert_eq!(line(&text, "time,")[4..], ["9.00", "6.00", "missed"]);
        assert_eq!(line(&text, "million")[4..], ["0.56", "0.83", "missed"]);
        assert_eq!(line(&text, "1: checks")[3], "-22.2 %");
        assert_eq!(line(&text, "2: one layer")[3], "+0.0 %");
        assert_eq!(line(&text, "3: hints")[3], "+33299900.0 %");
    }

    #[test]
    fn a_step_that_was_not_counted_is_left_out() {
        let mut taken = taken(&[(1, 1, 1.0); 5]);
        taken.rows[2].figures = Err("ended".to_owned());
        let text = text(&taken, &STEPS, Form::Columns(Room::Other));
        assert!(!text.contains("1: checks") && !text.contains("2: one layer"), "{text}");
        assert!(text.contains("3: hints") && text.contains("stretch met"), "{text}");
    }
}
