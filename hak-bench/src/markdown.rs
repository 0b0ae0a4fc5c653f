//! The tables of a page of Markdown, each between the lines that mark its place.
//!
//! `<!-- table: time -->` begins a place, `<!-- end -->` ends it; what stands between is replaced.
//! The tables of `preload` have `preload` before their names, and one page may have both: those
//! that are not of the results' kind stay as they are.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::notes;
use crate::results::{Kernel, Peer, PeerKind, Reached, Results};
use crate::summary::{self, Comparison, Overall, Standing};
use crate::targets;
use crate::terminal::nanoseconds;

/// Makes a table.
type Maker = fn(&Results, &[Comparison]) -> String;

/// The tables by their names, as a mark says them.
const TABLES: [(&str, Maker); 7] = [
    ("run", run),
    ("peers", peers),
    ("kernels", kernels),
    ("overall", overall),
    ("time", time),
    ("memory", memory),
    ("targets", targets),
];

const END: &str = "<!-- end -->";

/// The page with its tables made from results.
pub(crate) fn filled(page: &str, results: &Results) -> Result<String, Failure> {
    let comparisons = summary::comparisons(results);
    let tables = TABLES.map(|(name, table)| (name, table(results, &comparisons)));
    filled_with(page, &tables, results.reached)
}

/// A page as it is.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::could_not(format!("read {}", path.display()), error))
}

/// Whether a page has places for results of a kind, and all of them can be filled.
pub(crate) fn check(page: &str, reached: Reached) -> Result<(), Failure> {
    let tables = TABLES.map(|(name, _)| (name, String::new()));
    let filled = filled_with(page, &tables, reached)?;
    let of_kind = |name: &str| name.starts_with(PRELOAD) == (reached == Reached::Preloaded);
    if filled.lines().filter_map(mark).any(of_kind) {
        return Ok(());
    }
    let prefix = if reached == Reached::Preloaded { PRELOAD } else { "" };
    Err(Failure::Failed(format!(
        "there is no place for a table\nhelp: a line `<!-- table: {prefix}time -->` begins one, \
         and `{END}` ends it"
    )))
}

/// Before the names of tables of [`Reached::Preloaded`].
const PRELOAD: &str = "preload ";

fn filled_with(page: &str, tables: &[(&str, String)], reached: Reached) -> Result<String, Failure> {
    let mut filled = String::new();
    let mut lines = page.split_inclusive('\n').map(Line::of);
    while let Some(line) = lines.next() {
        line.push_to(&mut filled);
        let Some(name) = mark(line.text) else { continue };
        let of_preload = name.strip_prefix(PRELOAD);
        if of_preload.is_some() != (reached == Reached::Preloaded) {
            continue;
        }
        let name = of_preload.unwrap_or(name);
        let table = tables.iter().find(|(table, _)| *table == name);
        let (_, table) = table.ok_or_else(|| {
            let names: Vec<_> = tables.iter().map(|(name, _)| *name).collect();
            let (line, names) = (line.text, names.join(", "));
            Failure::Failed(format!("`{line}` names no table\nhelp: there are {names}"))
        })?;
        let end = lines.find(|line| line.text == END).ok_or_else(|| {
            let line = line.text;
            Failure::Failed(format!("no line `{END}` follows `{line}`"))
        })?;
        for text in table.lines() {
            Line { text, ..line }.push_to(&mut filled);
        }
        end.push_to(&mut filled);
    }
    Ok(filled)
}

/// A line of a page.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    /// As others of the same page end, or nothing: the last line may have none.
    end: &'a str,
}

impl Line<'_> {
    fn of(line: &str) -> Line<'_> {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let text = text.strip_suffix('\r').unwrap_or(text);
        Line { text, end: &line[text.len()..] }
    }

    fn push_to(self, page: &mut String) {
        page.push_str(self.text);
        page.push_str(self.end);
    }
}

fn mark(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- table: ")?.strip_suffix(" -->")
}

/// A table of which the first columns hold words, and the others figures.
pub(crate) struct Table(String);

impl Table {
    pub(crate) fn new<S: AsRef<str>>(head: &[S], words: usize) -> Table {
        let mut table = Table(String::new());
        table.row(head);
        let rule = |column| if column < words { "---" } else { "---:" };
        table.row(&(0..head.len()).map(rule).collect::<Vec<_>>());
        table
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        for cell in cells {
            // Writing to a string cannot fail.
            let cell = cell.as_ref().replace('|', "\\|").replace(['\n', '\r'], " ");
            let _ = write!(self.0, "| {cell} ");
        }
        self.0.push_str("|\n");
    }
}

fn run(results: &Results, _: &[Comparison]) -> String {
    let Results { machine, compiler, commit, command, .. } = results;
    let (rounds, control) = (results.rounds_told(), code(&results.control()));
    format!(
        "{machine}; {compiler}; commit {commit}; {rounds}; the control is {control}.\n\n    \
         cargo run --release -p hak-bench -- {command}\n"
    )
}

fn peers(results: &Results, _: &[Comparison]) -> String {
    let mut table = Table::new(&["peer", "version", "what it is"], 3);
    for peer in &results.peers {
        table.row(&[&code(&peer.name), &peer.version, &peer.about]);
    }
    table.0
}

fn kernels(results: &Results, _: &[Comparison]) -> String {
    let mut table = Table::new(&["kernel", "kind", "an operation", "what it does"], 4);
    for Kernel { name, group, operation, about, .. } in &results.kernels {
        table.row(&[&code(name), group, operation, about]);
    }
    table.0
}

fn overall(results: &Results, comparisons: &[Comparison]) -> String {
    let head = ["", "kernels", "time × best", "time × system", "peak × leanest", "`.text` KiB"];
    let mut table = Table::new(&head, 1);
    let mut add = |name: String, overall: Option<Overall>, text: Option<u64>| {
        let Some(overall) = overall else { return };
        table.row(&[
            name,
            overall.kernels.to_string(),
            times(overall.to_best),
            overall.to_system.map_or(String::new(), times),
            times(overall.peak_to_leanest),
            text.map_or(String::new(), |bytes| format!("{:.0}", bytes as f64 / 1024.0)),
        ]);
    };
    add("**the kernel's own spec**".to_owned(), summary::overall_own(comparisons), None);
    for Peer { name, text_bytes, .. } in &results.peers {
        add(code(name), summary::overall(comparisons, name), Some(*text_bytes));
    }
    table.0
}

fn time(results: &Results, comparisons: &[Comparison]) -> String {
    let with_unit = |comparison: &Comparison, best: &Standing| {
        let noise = comparison.noise.map_or("–".to_owned(), |it| format!("{:.0} %", it * 100.0));
        (vec![noise], format!("{} ns", nanoseconds(best.time.median)))
    };
    let table = by_kernel(
        results,
        comparisons,
        &["noise"],
        |it| it.best,
        with_unit,
        |standing| standing.to_best.map(|ratio| ratio.median),
    );
    let notes = notes::of(comparisons).into_iter().map(|note| format!("\n{}.\n", sentence(&note)));
    notes.fold(table, |text, note| text + &note)
}

fn memory(results: &Results, comparisons: &[Comparison]) -> String {
    let with_unit = |_: &Comparison, leanest: &Standing| {
        (Vec::new(), format!("{:.1} MiB", leanest.peak / f64::from(1 << 20)))
    };
    by_kernel(
        results,
        comparisons,
        &[],
        |it| it.leanest,
        with_unit,
        |standing| standing.peak_to_leanest,
    )
}

fn targets(_: &Results, comparisons: &[Comparison]) -> String {
    let mut table = Table::new(&targets::HEAD, 1);
    for row in targets::rows(comparisons) {
        table.row(&row);
    }
    table.0
}

/// A row for each kernel: more columns, the peer that all are compared with and its figure, and
/// each peer's ratio to it. What is hak's and not above one is bold.
fn by_kernel(
    results: &Results,
    comparisons: &[Comparison],
    more: &[&str],
    reference: impl for<'a> Fn(&Comparison<'a>) -> Option<&'a str>,
    figures: impl Fn(&Comparison, &Standing) -> (Vec<String>, String),
    ratio: impl Fn(&Standing) -> Option<f64>,
) -> String {
    let mut head = vec!["kernel".to_owned()];
    head.extend(more.iter().map(|&name| name.to_owned()));
    head.extend(["best peer", "its figure", "own spec"].map(str::to_owned));
    head.extend(results.peers.iter().map(|peer| code(&peer.name)));
    let mut table = Table::new(&head, 1);
    for comparison in comparisons {
        let Some(best) = reference(comparison).and_then(|name| comparison.standing(name)) else {
            continue;
        };
        let (columns, figure) = figures(comparison, best);
        let cell = |peer: &str| match comparison.standing(peer).map(|it| (it, ratio(it))) {
            Some((standing, Some(ratio)))
                if standing.peer.kind == PeerKind::Hak && ratio <= 1.0 =>
            {
                format!("**{}**", times(ratio))
            }
            Some((_, Some(ratio))) => times(ratio),
            None if comparison.kernel.row(peer).is_some() => "failed".to_owned(),
            _ => "–".to_owned(),
        };
        let mut row = vec![code(&comparison.kernel.name)];
        row.extend(columns);
        row.extend([code(&best.peer.name), figure]);
        let own = &comparison.kernel.own;
        row.push(format!("{} ({})", cell(own), own.trim_start_matches("hak-")));
        row.extend(results.peers.iter().map(|peer| cell(&peer.name)));
        table.row(&row);
    }
    table.0
}

/// With a capital letter.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}")
}

#[cfg(test)]
mod tests {
    use super::{Reached, Table, filled, filled_with};
    use crate::summary::tests::rounds;

    fn tables() -> [(&'static str, String); 1] {
        [("time", "| new |\n".to_owned())]
    }

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let page = "a\n<!-- table: time -->\n| old |\n| old |\n<!-- end -->\nb\n";
        let expected = "a\n<!-- table: time -->\n| new |\n<!-- end -->\nb\n";
        let filled = |page| filled_with(page, &tables(), Reached::Linked).unwrap();
        assert_eq!(filled(page), expected);
        assert_eq!(filled(expected), expected);
    }

    #[test]
    fn lines_end_as_they_did() {
        let page = "a\r\n<!-- table: time -->\r\n| old |\r\n<!-- end -->\r\nb\nlast";
        let expected = page.replace("old", "new");
        assert_eq!(filled_with(page, &tables(), Reached::Linked).unwrap(), expected);
        let page = "<!-- table: time -->\n<!-- end -->";
        let expected = "<!-- table: time -->\n| new |\n<!-- end -->";
        assert_eq!(filled_with(page, &tables(), Reached::Linked).unwrap(), expected);
    }

    #[test]
    fn tables_of_the_other_kind_stay() {
        let page = "<!-- table: time -->\n1\n<!-- end -->\n<!-- table: preload time -->\n2\n\
                    <!-- end -->\n";
        let filled = |reached| filled_with(page, &tables(), reached).unwrap();
        assert_eq!(filled(Reached::Linked), page.replace("\n1\n", "\n| new |\n"));
        assert_eq!(filled(Reached::Preloaded), page.replace("\n2\n", "\n| new |\n"));
    }

    #[test]
    fn a_mark_that_is_wrong_is_quoted() {
        let message = |page| filled_with(page, &tables(), Reached::Linked).unwrap_err().to_string();
        let expected = "`<!-- table: tim -->` names no table\nhelp: there are time";
        assert_eq!(message("<!-- table: tim -->\n<!-- end -->\n"), expected);
        let expected = "no line `<!-- end -->` follows `<!-- table: time -->`";
        assert_eq!(message("<!-- table: time -->\n"), expected);
    }

    #[test]
    fn of_one_round_nothing_is_claimed() {
        let results = rounds(1);
        let page = "<!-- table: time -->\n<!-- end -->\n";
        let page = filled(page, &results).unwrap();
        assert!(page.contains("| `pair` | – |"), "{page}");
        let why = "|\n\nOne round has no noise floor: no difference is claimed on 35 kernels.\n";
        assert!(page.contains(why), "{page}");
    }

    #[test]
    fn who_was_not_asked_for_has_not_failed() {
        let mut results = rounds(9);
        results.kernels.retain(|kernel| kernel.name == "ring");
        let kernel = &mut results.kernels[0];
        kernel.own = "hak-parallel".to_owned();
        kernel.rows.retain(|row| row.peer != "rusty");
        let page = filled("<!-- table: time -->\n<!-- end -->\n", &results).unwrap();
        let row = page.lines().find(|line| line.starts_with("| `ring` |")).unwrap();
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let of = |peer: &str| {
            let place = results.peers.iter().position(|it| it.name == peer).unwrap();
            cells[6 + place]
        };
        assert_eq!((cells[5], of("rusty"), of("jemalloc")), ("– (parallel)", "–", "failed"));
        let note = "The own spec of ring was not among the peers: hak-parallel.\n";
        assert!(page.contains(note), "{page}");
    }

    #[test]
    fn the_control_is_named() {
        let page = filled("<!-- table: run -->\n<!-- end -->\n", &rounds(2)).unwrap();
        assert!(page.contains("commit 0000000-dirty; 2 rounds; the control is `hak-general`.\n"));
    }

    #[test]
    fn figures_stand_to_the_right() {
        let mut table = Table::new(&["name", "figure"], 1);
        table.row(&["a|b\nc", "1"]);
        assert_eq!(table.0, "| name | figure |\n| --- | ---: |\n| a\\|b c | 1 |\n");
    }
}
