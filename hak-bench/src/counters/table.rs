//! The figures as tables: totals, for each operation, and as multiples of another row's.

use std::fmt::Write as _;

use crate::markdown;
use crate::terminal::{self, nanoseconds};

use super::output::Form;
use super::taken::{Figures, Row, Taken};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Branches,
    Mispredicted,
    /// Mispredicted ones of the branches.
    BranchRate,
    Instructions,
    Loads,
    LoadMisses,
    /// Missed ones of the loads.
    LoadRate,
    Time,
}

/// What rows are shown as multiples of.
pub(crate) struct Base {
    /// Head of the table.
    pub(crate) title: &'static str,
    /// For each row the number of the one that it is compared with.
    pub(crate) of: fn(usize) -> Option<usize>,
}

impl Figure {
    pub(crate) const ALL: [Figure; 8] = [
        Figure::Branches,
        Figure::Mispredicted,
        Figure::BranchRate,
        Figure::Instructions,
        Figure::Loads,
        Figure::LoadMisses,
        Figure::LoadRate,
        Figure::Time,
    ];

    pub(crate) fn head(self) -> &'static str {
        match self {
            Figure::Branches => "branches",
            Figure::Mispredicted => "mispredicted",
            Figure::BranchRate | Figure::LoadRate => "rate",
            Figure::Instructions => "instructions",
            Figure::Loads => "loads",
            Figure::LoadMisses => "L1 misses",
            Figure::Time => "time",
        }
    }

    /// Of the timed part as a whole. A time is in nanoseconds; a rate is nothing where there was
    /// nothing to miss.
    pub(crate) fn of(self, figures: &Figures) -> Option<f64> {
        let events = figures.events;
        let rate = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        match self {
            Figure::Branches => Some(events.branches as f64),
            Figure::Mispredicted => Some(events.mispredicted as f64),
            Figure::BranchRate => rate(events.mispredicted, events.branches),
            Figure::Instructions => Some(events.instructions as f64),
            Figure::Loads => Some(events.loads as f64),
            Figure::LoadMisses => Some(events.load_misses as f64),
            Figure::LoadRate => rate(events.load_misses, events.loads),
            Figure::Time => Some(figures.time()),
        }
    }

    fn is_rate(self) -> bool {
        matches!(self, Figure::BranchRate | Figure::LoadRate)
    }

    pub(crate) fn total(self, figures: &Figures) -> Option<String> {
        let value = self.of(figures)?;
        Some(match self {
            Figure::BranchRate | Figure::LoadRate => format!("{:.2} %", value * 100.0),
            Figure::Time => format!("{:.3} ms", value / 1e6),
            _ => grouped(value as u64),
        })
    }

    /// Rates stand in the table of totals.
    fn each(self, figures: &Figures) -> Option<String> {
        let value = self.of(figures)? / figures.operations as f64;
        Some(match self {
            Figure::Mispredicted | Figure::LoadMisses => format!("{value:.4}"),
            Figure::Time => format!("{} ns", nanoseconds(value)),
            _ => format!("{value:.2}"),
        })
    }

    /// As a multiple of another row's; nothing where that is zero.
    pub(crate) fn ratio(self, figures: &Figures, base: &Figures) -> Option<f64> {
        let (value, base) = (self.of(figures)?, self.of(base)?);
        (base > 0.0).then(|| value / base)
    }
}

/// What was counted, and all tables.
pub(crate) fn text(taken: &Taken, bases: &[Base], form: Form) -> String {
    let mut text = told(&head(taken), form);
    let all = Figure::ALL.as_slice();
    let total = |_: usize, row: &Figures| all.iter().map(|it| it.total(row)).collect();
    text += &table("in total", all, &taken.rows, total, form);
    let counts: Vec<_> = all.iter().copied().filter(|figure| !figure.is_rate()).collect();
    let each = |_: usize, row: &Figures| counts.iter().map(|it| it.each(row)).collect();
    text += &table(&format!("for each {}", taken.operation), &counts, &taken.rows, each, form);
    for base in bases {
        let ratios = |number: usize, row: &Figures| {
            let base = (base.of)(number).and_then(|of| taken.rows[of].figures.as_ref().ok());
            let ratio = |figure: &Figure| Some(format!("{:.2}", figure.ratio(row, base?)?));
            all.iter().map(ratio).collect()
        };
        text += &table(base.title, all, &taken.rows, ratios, form);
    }
    text + &threads(taken)
}

/// How the figures came to be.
fn head(taken: &Taken) -> String {
    let mut head = format!("{}\n\n", taken.about);
    if let Some(simulator) = &taken.simulator {
        let cache = simulator.caches.iter().find(|cache| cache.starts_with("D1"));
        let cache = cache.map_or("a first-level cache", String::as_str);
        let _ = writeln!(
            head,
            "Simulated by {}, not measured on this processor: the conditional branches of the\n\
             timed part, those that its branch predictor gets wrong, instructions, reads of data, \
             and\nthose that miss its first-level cache ({cache}).",
            simulator.name
        );
    }
    let runs = match taken.runs {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs in turn"),
    };
    let _ = writeln!(head, "Time is measured: the median of {runs} without the simulator.\n");
    head
}

/// A table, and behind it a row for each that has no figures. A cell that has none says `-`.
fn table(
    title: &str,
    figures: &[Figure],
    rows: &[Row],
    cells: impl Fn(usize, &Figures) -> Vec<Option<String>>,
    form: Form,
) -> String {
    let heads: Vec<_> = [title].into_iter().chain(figures.iter().map(|it| it.head())).collect();
    let row = |(number, row): (usize, &Row)| {
        let cells = cells(number, row.figures.as_ref().ok()?).into_iter();
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        Some([row.name.clone()].into_iter().chain(cells).collect())
    };
    let full = rows.iter().enumerate().filter_map(row).collect::<Vec<_>>();
    let mut text = rendered(&heads, 1, &full, form);
    for row in rows {
        if let Err(why) = &row.figures {
            // Writing to a string cannot fail.
            let _ = match form {
                Form::Columns(_) => {
                    writeln!(text, "{}", told(&format!(" {}  not counted: {why}", row.name), form))
                }
                Form::Markdown => {
                    writeln!(text, "| {} | not counted: {} |", row.name, why.replace('|', "\\|"))
                }
            };
        }
    }
    text + "\n"
}

/// With so many columns of words; the others are of figures.
pub(crate) fn rendered(heads: &[&str], words: usize, rows: &[Vec<String>], form: Form) -> String {
    match form {
        Form::Columns(room) => {
            let mut table = terminal::table(heads, words);
            table.add_rows(rows);
            terminal::fitted(table, words, room) + "\n"
        }
        Form::Markdown => {
            let mut table = markdown::Table::new(heads, words);
            rows.iter().for_each(|row| table.row(row));
            table.into_text()
        }
    }
}

/// Sentences, whose lines fit as well.
pub(crate) fn told(text: &str, form: Form) -> String {
    match form {
        Form::Columns(room) => terminal::wrapped(text, room),
        Form::Markdown => text.to_owned(),
    }
}

/// Who does something beside what is counted.
fn threads(taken: &Taken) -> String {
    let mut text = String::new();
    for row in &taken.rows {
        let others = row.figures.as_ref().map_or(0, |figures| figures.other_threads);
        if others > 0 {
            let threads = if others == 1 { "thread" } else { "threads" };
            let _ = writeln!(text, "{}: {others} more {threads}, not counted", row.name);
        }
    }
    text
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let place = |(index, digit): (usize, char)| {
        let is_group = index > 0 && (digits.len() - index).is_multiple_of(3);
        is_group.then_some(' ').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::{Base, Form, grouped, text};
    use crate::counters::taken::tests::taken;
    use crate::terminal::Room;

    const SYSTEM: Base = Base { title: "of system", of: |_| Some(0) };

    #[test]
    fn digits_stand_in_groups() {
        let groups = [0, 999, 1000, 123_456, 1_234_567].map(grouped);
        assert_eq!(groups, ["0", "999", "1 000", "123 456", "1 234 567"]);
    }

    #[test]
    fn a_row_without_figures_says_why() {
        let expected = "\
pair 10: makes

Simulated by callgrind-3.19.0, not measured on this processor: the conditional branches of the
timed part, those that its branch predictor gets wrong, instructions, reads of data, and
those that miss its first-level cache (D1 cache: 32768 B).
Time is measured: the median of 3 runs in turn without the simulator.

 in total  branches  mispredicted     rate  instructions  loads  L1 misses     rate      time
 system         100            10  10.00 %           400     50          5  10.00 %  0.002 ms
 hak             25             0   0.00 %           200      0          0        -  0.001 ms
 tcmalloc  not counted: ended with signal: 4
";
        let text = text(&taken(), &[SYSTEM], Form::Columns(Room::Other));
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn ratios_are_to_the_base() {
        let text = text(&taken(), &[SYSTEM], Form::Markdown);
        let (_, ratios) = text.split_once("of system").unwrap();
        let hak = ratios.lines().find(|line| line.starts_with("| hak")).unwrap();
        let cells: Vec<_> = hak.split('|').map(str::trim).collect();
        assert_eq!(
            cells,
            ["", "hak", "0.25", "0.00", "0.00", "0.50", "0.00", "0.00", "-", "0.50", ""]
        );
        assert!(ratios.contains("| tcmalloc | not counted: ended with signal: 4 |"), "{ratios}");
        assert!(ratios.ends_with("hak: 1 more thread, not counted\n"), "{ratios}");
    }
}
