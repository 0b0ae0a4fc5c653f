//! Callgrind's report of one thread.
//!
//! What is read is its format version 1 with neither names nor positions compressed. Figures
//! stand under the file and the function that they belong to:
//!
//! ```text
//! positions: instr line    what the first columns hold
//! events: Ir Bc Bcm        and what the others
//! fl=/src/alloc.rs         a function's own file
//! fn=alloc
//! 0x1f0 25 10 2 1          at 0x1f0, of line 25: executed 10 times, twice as a branch, once wrong
//! fi=/src/bin.rs           what follows was inlined from there
//! 0x1f4 31 4               columns at the end that would be 0 are left out
//! fe=/src/alloc.rs         back
//! cfn=refill               a call; its figures are in those of `refill`, too,
//! calls=1 0x300 80
//! 0x1f8 26 900 70 3        so this line is not added
//! ```

/// Events of the timed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Events {
    /// `Ir`.
    pub(crate) instructions: u64,
    /// Conditional branches: `Bc`.
    pub(crate) branches: u64,
    /// Those of them that were mispredicted: `Bcm`.
    pub(crate) mispredicted: u64,
    /// Reads of data: `Dr`.
    pub(crate) loads: u64,
    /// Those of them that the first-level cache did not have: `D1mr`.
    pub(crate) load_misses: u64,
}

/// What is read of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Callgrind's name and version.
    pub(crate) creator: String,
    /// The simulated caches, a sentence for each.
    pub(crate) caches: Vec<String>,
    pub(crate) totals: Events,
    /// Instructions that were executed.
    pub(crate) instructions: Vec<Executed>,
}

/// One instruction of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executed {
    /// As in the tables of the program or library that it is of.
    pub(crate) address: u64,
    /// Source file of the line that it is from, inlined or not.
    pub(crate) file: String,
    /// How often it was executed.
    pub(crate) times: u64,
}

impl Report {
    /// An error says what is not as expected.
    pub(crate) fn parse(text: &str) -> Result<Report, String> {
        let mut report = Report {
            creator: header(text, "creator:").ok_or("callgrind's report has no `creator:`")?,
            caches: text.lines().filter_map(cache).collect(),
            totals: Events::default(),
            instructions: Vec::new(),
        };
        let positions = header(text, "positions:").unwrap_or_default();
        if positions != POSITIONS {
            let message = format!("has the positions `{positions}`, not `{POSITIONS}`");
            return Err(format!("callgrind's report {message}"));
        }
        let events = header(text, "events:").ok_or("callgrind's report has no `events:`")?;
        let columns = Columns::of(&events)?;
        report.totals = columns.events(&totals(text)?)?;
        report.add_lines(text, &columns)?;
        Ok(report)
    }

    /// Reads what stands under the files.
    fn add_lines(&mut self, text: &str, columns: &Columns) -> Result<(), String> {
        let mut file = "";
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            match line.split_once('=') {
                // The next line holds what was called.
                Some(("calls", _)) => drop(lines.next()),
                Some(("fl" | "fi" | "fe", name)) => file = name,
                None if line.starts_with("0x") => {
                    let (address, times) = executed(line, columns)?;
                    self.instructions.push(Executed { address, file: file.to_owned(), times });
                }
                _ => {}
            }
        }
        // Whoever reads a line too many or too few is found out here.
        let total = self.totals.instructions;
        let sum: u64 = self.instructions.iter().map(|executed| executed.times).sum();
        if sum != total {
            return Err(format!("the lines of callgrind's report sum up to {sum}, not to {total}"));
        }
        Ok(())
    }
}

const POSITIONS: &str = "instr line";

/// Address and number of executions of a line of figures.
fn executed(line: &str, columns: &Columns) -> Result<(u64, u64), String> {
    let unreadable = || format!("`{line}` in callgrind's report is not understood");
    let mut words = line.split_whitespace();
    let address = words.next().and_then(|word| word.strip_prefix("0x"));
    let address = address.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let number = words.next().and_then(|word| word.parse::<u64>().ok());
    let (Some(address), Some(_)) = (address, number) else { return Err(unreadable()) };
    let figures = words.map(str::parse).collect::<Result<Vec<u64>, _>>();
    let figures = figures.map_err(|_| unreadable())?;
    Ok((address, columns.events(&figures)?.instructions))
}

/// What stands behind a key.
fn header(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.trim().to_owned())
}

/// `desc: D1 cache: 32768 B, 64 B, 8-way associative`
fn cache(line: &str) -> Option<String> {
    let described = line.strip_prefix("desc: ")?;
    described.contains(" cache: ").then(|| described.to_owned())
}

fn totals(text: &str) -> Result<Vec<u64>, String> {
    let totals = header(text, "totals:").ok_or("callgrind's report was cut off before its end")?;
    let figures = totals.split_whitespace().map(str::parse).collect::<Result<_, _>>();
    figures.map_err(|_| format!("`{totals}` in callgrind's report are not numbers"))
}

/// Where each event stands in a line of figures.
struct Columns {
    instructions: usize,
    branches: usize,
    mispredicted: usize,
    loads: usize,
    load_misses: usize,
    count: usize,
}

impl Columns {
    fn of(events: &str) -> Result<Columns, String> {
        let events: Vec<_> = events.split_whitespace().collect();
        let place = |name| {
            let place = events.iter().position(|event| *event == name);
            place.ok_or_else(|| format!("callgrind's report has no event `{name}`"))
        };
        Ok(Columns {
            instructions: place("Ir")?,
            branches: place("Bc")?,
            mispredicted: place("Bcm")?,
            loads: place("Dr")?,
            load_misses: place("D1mr")?,
            count: events.len(),
        })
    }

    fn events(&self, figures: &[u64]) -> Result<Events, String> {
        if figures.len() > self.count {
            return Err(format!("{figures:?} in callgrind's report are more than the events"));
        }
        let figure = |place: usize| figures.get(place).copied().unwrap_or(0);
        Ok(Events {
            instructions: figure(self.instructions),
            branches: figure(self.branches),
            mispredicted: figure(self.mispredicted),
            loads: figure(self.loads),
            load_misses: figure(self.load_misses),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Events, Executed, Report};

    const REPORT: &str = "\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 1

desc: I1 cache: 32768 B, 64 B, 8-way associative
desc: D1 cache: 32768 B, 64 B, 8-way associative

desc: Trigger: Program termination

positions: instr line
events: Ir Dr Dw D1mr Bc Bcm
summary: 39 6 4 1 5 2

ob=/bench/system
fl=/src/work.rs
fn=work
0x10 25 10 2 1 1 3 2
fi=/src/block.rs
0x14 31 4
fe=/src/work.rs
0x1a 0 6 1
0x1f 27 2 0 0 0 1
cob=/lib/libc.so.6
cfi=./malloc/malloc.c
cfn=malloc
calls=2 0x8000 80
0x22 26 17 3 3 0 1
0x28 28 1

ob=/lib/libc.so.6
fl=./malloc/malloc.c
fn=malloc
0x8000 80 16 3 3 0 1

totals: 39 6 4 1 5 2
";

    fn parse_with(from: &str, to: &str) -> Result<Report, String> {
        assert!(REPORT.contains(from));
        Report::parse(&REPORT.replacen(from, to, 1))
    }

    #[test]
    fn an_instruction_belongs_to_the_file_it_was_inlined_from() {
        let report = Report::parse(REPORT).unwrap();
        let expected = [
            (0x10, "/src/work.rs", 10),
            (0x14, "/src/block.rs", 4),
            (0x1a, "/src/work.rs", 6),
            (0x1f, "/src/work.rs", 2),
            (0x28, "/src/work.rs", 1),
            (0x8000, "./malloc/malloc.c", 16),
        ];
        let expected = expected.map(|(address, file, times)| {
            let file = file.to_owned();
            Executed { address, file, times }
        });
        assert_eq!(report.instructions, expected);
    }

    #[test]
    fn events_are_found_by_their_names() {
        let report = Report::parse(REPORT).unwrap();
        let expected =
            Events { instructions: 39, branches: 5, mispredicted: 2, loads: 6, load_misses: 1 };
        assert_eq!(report.totals, expected);
        assert_eq!(report.creator, "callgrind-3.19.0");
        assert_eq!(report.caches.len(), 2);
        let message = "callgrind's report has no event `Bcm`";
        assert_eq!(parse_with(" Bcm", " Bim"), Err(message.to_owned()));
    }

    #[test]
    fn what_a_call_took_is_not_added_again() {
        let message = "the lines of callgrind's report sum up to 56, not to 39";
        assert_eq!(parse_with("calls=2 0x8000 80\n", ""), Err(message.to_owned()));
    }

    #[test]
    fn another_form_is_refused() {
        let message = "callgrind's report was cut off before its end";
        assert_eq!(parse_with("totals:", "total:"), Err(message.to_owned()));
        let message = "callgrind's report has the positions `line`, not `instr line`";
        assert_eq!(parse_with(": instr line", ": line"), Err(message.to_owned()));
        let message = "`0x10 25 10 2 1 1 x` in callgrind's report is not understood";
        assert_eq!(parse_with("3 2\n", "x\n"), Err(message.to_owned()));
        let message = "[10, 2, 1, 1, 3, 2, 7] in callgrind's report are more than the events";
        assert_eq!(parse_with("3 2\n", "3 2 7\n"), Err(message.to_owned()));
    }
}
