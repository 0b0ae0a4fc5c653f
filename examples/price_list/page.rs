//! The page: how the figures were taken, how to read them, and a table for each group of rows.

use std::fmt;

use super::callgrind::{self, Counts, RowCounts};
use super::counting::{Operation, REPETITIONS};
use super::kernels;
use super::machine;
use super::script::{RESIZED, SLOTS};
use super::table::{Table, figure};
use super::timing::{Spread, Times};
use super::variants::{Group, Variant};

const COMMAND: &str = "cargo run --release --example price_list -- --write docs/price-list.md";

/// What was taken of which rows.
pub(crate) struct Page {
    pub(crate) rows: Vec<&'static Variant>,
    pub(crate) machine: String,
    pub(crate) valgrind: Option<String>,
    /// Whether counts were asked for; they are not there without valgrind.
    pub(crate) wants_counts: bool,
    pub(crate) counts: Option<Vec<RowCounts>>,
    pub(crate) times: Option<Times>,
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        if self.counts.is_some() {
            write_counts_legend(f)?;
        } else if self.wants_counts {
            writeln!(f, "\nNothing was counted: {}.", callgrind::MISSING)?;
        }
        if let Some(times) = &self.times {
            write_times_legend(f, times)?;
        }
        Group::ALL.iter().try_for_each(|group| self.write_group(f, *group))
    }
}

impl Page {
    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# The price list\n")?;
        writeln!(f, "What each choice of a spec costs. One command takes all figures:\n")?;
        writeln!(f, "    {COMMAND}\n")?;
        writeln!(
            f,
            "Each row is `specs/general.toml` with what the column `spec` says, unless that"
        )?;
        writeln!(f, "names another file. All rows are compiled into one program, with fat LTO.\n")?;
        write!(f, "hak {}, {}", env!("CARGO_PKG_VERSION"), machine::compiler())?;
        if let Some(valgrind) = &self.valgrind {
            write!(f, ", {valgrind}")?;
        }
        writeln!(f, "; {}.", self.machine)
    }

    fn write_group(&self, f: &mut fmt::Formatter<'_>, group: Group) -> fmt::Result {
        let places: Vec<_> =
            (0..self.rows.len()).filter(|place| self.rows[*place].group == group).collect();
        if places.is_empty() {
            return Ok(());
        }
        let rows = places.into_iter().map(|place| self.cells(place)).collect();
        let table = Table { words: 2, heads: self.heads(), rows };
        write!(f, "\n## {}\n\n{table}", group.title())
    }

    fn heads(&self) -> Vec<String> {
        let words = ["row", "spec"].map(str::to_owned);
        let counts = self.counts.iter().flat_map(|_| Operation::ALL).map(head);
        let times = self.times.iter().flat_map(|_| kernels::NAMES).map(|name| format!("× {name}"));
        words.into_iter().chain(counts.map(str::to_owned)).chain(times).collect()
    }

    fn cells(&self, place: usize) -> Vec<String> {
        let row = self.rows[place];
        let words = [row.name, row.spec].map(|text| format!("`{}`", one_line(text)));
        let counts = self.counts.iter().flat_map(|counts| counts[place]).map(cell);
        let times = self.times.iter().flat_map(|times| times.rows[place]);
        let times = times.map(|ratio| format!("{ratio:.2}"));
        words.into_iter().chain(counts).chain(times).collect()
    }
}

/// The head of an operation's column.
fn head(operation: Operation) -> &'static str {
    match operation {
        Operation::AllocConstant => "alloc 64",
        Operation::DeallocConstant => "dealloc 64",
        Operation::AllocVariable => "alloc 16–1040",
        Operation::DeallocVariable => "dealloc 16–1040",
        Operation::Realloc => "realloc",
    }
}

fn cell(counts: Counts) -> String {
    let Counts { instructions, branches, mispredicted } = counts;
    format!("{} / {} / {}", figure(instructions, 1), figure(branches, 1), figure(mispredicted, 2))
}

/// Text of a source file may go over several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write_counts_legend(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let [one, other] = RESIZED.map(|layout| layout.size());
    writeln!(
        f,
        "
## How to read the counts

A cell is `instructions / conditional branches / mispredicted branches` of one operation, the mean
of {REPETITIONS}, by callgrind. It is what the operation adds to a caller: the code that is inlined,
or the call and all that is called. The functions around it are counted alone and taken off. One
block at a time is made and dropped, after so many before that the thread finds each block, and
room for it, in what it keeps: all are hits, and the run fails if one is not. Without layers there
is nothing to hit, and each alloc and dealloc goes to the slabs.

- `alloc 64`, `dealloc 64`: 64 bytes, which the compiler knows.
- `alloc 16–1040`, `dealloc 16–1040`: sizes drawn before, which it does not know.
- `realloc`: from {one} to {other} bytes or back, in place; sizes it does not know."
    )
}

fn write_times_legend(f: &mut fmt::Formatter<'_>, times: &Times) -> fmt::Result {
    let rounds = times.rounds;
    writeln!(
        f,
        "
## How to read the times

A figure is the time of an iteration as a multiple of that of `general`: the median of {rounds}
rounds, in each of which every row had its turn, right behind a turn of `general`. `general-again`
is the same spec under another name: what lies within its bounds is noise. Of so
many rows some leave them by chance: equal counts with unlike times are noise, or where code stands.

| kernel | an iteration | `general` | `general-again`, median (bounds) |
|---|---|---:|---:|"
    )?;
    let mixed = format!("one of {SLOTS} live blocks is replaced by one of another size");
    let iterations =
        ["64 bytes are made and dropped", "16 to 1040 bytes are made and dropped", &mixed];
    for (place, (name, iteration)) in kernels::NAMES.iter().zip(iterations).enumerate() {
        let nanoseconds = times.general[place];
        let Spread { median, least, most } = times.noise[place];
        writeln!(
            f,
            "| × {name} | {iteration} | {nanoseconds:.1} ns | \
             {median:.2} ({least:.2}–{most:.2}) |"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{COMMAND, Page, kernels};
    use crate::callgrind::Counts;
    use crate::timing::{Spread, Times};
    use crate::variants;

    fn page(names: &[&str]) -> Page {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let rows = variants::select(&names).unwrap();
        let machine = "a machine".to_owned();
        Page { rows, machine, valgrind: None, wants_counts: false, counts: None, times: None }
    }

    fn last_line(page: &Page) -> String {
        page.to_string().lines().last().unwrap().to_owned()
    }

    #[test]
    fn counts_stand_behind_the_spec() {
        let mut page = page(&["poison"]);
        let counts = Counts { instructions: 14.0, branches: 2.0, mispredicted: 0.03 };
        page.counts = Some(vec![[counts; 5]]);
        let cells = " | 14 / 2 / 0.03".repeat(5);
        let expected = format!("| `poison` | `validation.poison = true`{cells} |");
        assert_eq!(last_line(&page), expected);
        assert!(page.to_string().contains("## How to read the counts"));
        assert!(!page.to_string().contains("## How to read the times"));
    }

    #[test]
    fn times_stand_behind_the_spec() {
        let mut page = page(&["poison"]);
        page.times = Some(Times {
            rows: vec![[1.0, 1.256, 40.0]],
            general: [2.0, 3.0, 4.0],
            noise: [Spread { median: 1.0, least: 0.9, most: 1.125 }; kernels::NAMES.len()],
            rounds: 9,
        });
        let expected = "| `poison` | `validation.poison = true` | 1.00 | 1.26 | 40.00 |";
        assert_eq!(last_line(&page), expected);
        assert!(page.to_string().contains("| 2.0 ns | 1.00 (0.90–1.12) |"), "{page}");
    }

    #[test]
    fn a_page_without_counts_says_why() {
        let mut page = page(&["poison"]);
        assert!(!page.to_string().contains("Nothing was counted"));
        page.wants_counts = true;
        assert!(page.to_string().contains("\nNothing was counted: valgrind is not installed"));
    }

    #[test]
    fn a_group_without_rows_has_no_table() {
        let page = page(&["web"]).to_string();
        assert!(page.contains("## Shipped specs") && !page.contains("## Layers"), "{page}");
    }

    /// A row that was added, taken out or given another spec makes the page a false one.
    #[test]
    fn the_committed_page_has_these_rows() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/price-list.md");
        let text = fs::read_to_string(path).unwrap_or_default();
        let is_whole = ["counts", "times"]
            .iter()
            .all(|part| text.contains(&format!("\n## How to read the {part}\n")));
        let committed = |line: &&str| line.starts_with("| `");
        let words = |line: &str| line.split(" | ").take(2).collect::<Vec<_>>().join(" | ");
        let committed: Vec<_> = text.lines().filter(committed).map(words).collect();
        let page = page(&[]);
        let here = page.to_string();
        let here: Vec<_> = here.lines().filter(|line| line.starts_with("| `")).collect();
        let here: Vec<_> = here.iter().map(|line| line.trim_end_matches(" |")).collect();
        let message = "docs/price-list.md is not there, lacks a part or has other rows";
        assert!(is_whole && committed == here, "{message}; take it anew: `{COMMAND}`");
    }
}
