//! Results as text for a terminal.

use std::fmt::Write;
use std::iter;
use std::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use hak_bench_kernels::Listed;
use textwrap::{Options, WordSplitter};

use crate::notes;
use crate::peers::Peer;
use crate::results::{PeerKind, Reached, Results};
use crate::spread::Spread;
use crate::summary::{self, Comparison, Overall, Standing};
use crate::targets;

/// What a text is to fit in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// With so many columns.
    Terminal(u16),
    /// A file, or another program.
    Other,
}

impl Room {
    /// That of what is printed.
    pub(crate) fn found() -> Room {
        let width = Table::new().width().filter(|width| *width > 0);
        width.map_or(Room::Other, Room::Terminal)
    }

    /// Columns for words.
    fn words(self) -> u16 {
        match self {
            Room::Terminal(width) => width,
            Room::Other => 100,
        }
    }

    /// Columns for figures, which are read by programs as well.
    fn figures(self) -> u16 {
        match self {
            Room::Terminal(width) => width,
            Room::Other => u16::MAX,
        }
    }
}

/// The kernels and the peers there are.
pub(crate) fn list(kernels: &[Listed], peers: &[Peer], room: Room) -> String {
    let mut table = table(&["kernel", "kind", "parameters", "what it does"], 4);
    for kernel in kernels {
        let Listed { name, group, about, .. } = kernel;
        table.add_row([name.as_str(), group.name(), &kernel.defaults(), about]);
    }
    let mut allocators = self::table(&["peer", "what it is"], 2);
    for peer in peers {
        allocators.add_row([peer.name, peer.about]);
    }
    format!("{}\n\n{}\n", fitted(table, 4, room), fitted(allocators, 2, room))
}

/// What there is to preload, and the tools to run on it.
pub(crate) fn list_preloaded(tools: &[Listed], libraries: &[(&str, &str)], room: Room) -> String {
    let mut table = table(&["tool of `preload`", "what it does"], 2);
    for Listed { name, about, .. } in tools {
        table.add_row([name, about]);
    }
    let mut allocators = self::table(&["library of `preload`", "what it is"], 2);
    for (name, about) in libraries {
        allocators.add_row([name, about]);
    }
    format!("\n{}\n\n{}\n", fitted(table, 2, room), fitted(allocators, 2, room))
}

/// All of a run.
pub(crate) fn report(results: &Results, room: Room) -> String {
    let comparisons = summary::comparisons(results);
    let mut text = String::new();
    for comparison in &comparisons {
        push(&mut text, kernel(comparison, room));
    }
    push(&mut text, overall(results, &comparisons, room));
    if results.reached == Reached::Preloaded {
        push(&mut text, targets(&comparisons, room));
    }
    let notes = notes::of(&comparisons);
    if !notes.is_empty() {
        push(&mut text, wrapped(&notes.join("\n"), room));
    }
    push(&mut text, run(results, room));
    text
}

/// How it came to be. A command is not wrapped: it is to be copied.
fn run(results: &Results, room: Room) -> String {
    let Results { machine, compiler, commit, command, .. } = results;
    let (rounds, control) = (results.rounds_told(), results.control());
    let told = format!(
        "{machine}, {compiler}\ncommit {commit}; {rounds}; {control} ran twice, as the control"
    );
    format!("{}\nhak-bench {command}", wrapped(&told, room))
}

fn push(text: &mut String, part: String) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{part}\n");
}

fn kernel(comparison: &Comparison, room: Room) -> String {
    let kernel = comparison.kernel;
    let mut text = wrapped(&format!("{}: {}", kernel.name, kernel.about), room) + "\n";
    let noise = match comparison.noise {
        Ok(noise) => format!("noise floor {:.0} %", noise * 100.0),
        Err(_) => "noise floor –".to_owned(),
    };
    text += &(wrapped(&format!("ns per \"{}\"; {noise}", kernel.operation), room) + "\n");
    let head = [
        "peer",
        "ns",
        "from",
        "to",
        "× best",
        "× system",
        "peak MiB",
        "× leanest",
        "faults",
        "switches",
    ];
    let mut table = table(&head, 1);
    for standing in &comparison.standings {
        table.add_row(cells(comparison, standing));
    }
    text += &fitted(table, 1, room);
    for row in &kernel.rows {
        if let Some(failure) = &row.failure {
            let told = format!("\n{} failed: {failure}", row.peer);
            text += &wrapped(&told, room);
        }
    }
    text
}

fn cells(comparison: &Comparison, standing: &Standing) -> Vec<String> {
    let Standing { peer, row, time, .. } = standing;
    let own = peer.kind == PeerKind::Hak && peer.name == comparison.kernel.own;
    let ratio = |ratio: Option<Spread>| ratio.map_or(String::new(), |it| times(it.median));
    let bound = |time: f64| match standing.has_bounds() {
        true => nanoseconds(time),
        false => "–".to_owned(),
    };
    let switches = row.median(|it| it.voluntary_switches as f64 + it.involuntary_switches as f64);
    vec![
        format!("{}{}", peer.name, if own { " *" } else { "" }),
        nanoseconds(time.median),
        bound(time.low),
        bound(time.high),
        ratio(standing.to_best),
        ratio(standing.to_system),
        format!("{:.1}", standing.peak / f64::from(1 << 20)),
        standing.peak_to_leanest.map_or(String::new(), times),
        format!("{:.0}", row.median(|it| it.minor_faults as f64 + it.major_faults as f64)),
        format!("{switches:.0}"),
    ]
}

fn overall(results: &Results, comparisons: &[Comparison], room: Room) -> String {
    let head = ["over all kernels", "kernels", "× best", "× system", "× leanest", ".text KiB"];
    let mut table = table(&head, 1);
    let mut add = |name: &str, overall: Option<Overall>, text_bytes: Option<u64>| {
        let Some(overall) = overall else { return };
        table.add_row([
            name.to_owned(),
            overall.kernels.to_string(),
            times(overall.to_best),
            overall.to_system.map_or(String::new(), times),
            times(overall.peak_to_leanest),
            text_bytes.map_or(String::new(), |bytes| format!("{:.0}", bytes as f64 / 1024.0)),
        ]);
    };
    add("the kernel's own spec *", summary::overall_own(comparisons), None);
    for peer in &results.peers {
        add(&peer.name, summary::overall(comparisons, &peer.name), Some(peer.text_bytes));
    }
    fitted(table, 1, room)
}

fn targets(comparisons: &[Comparison], room: Room) -> String {
    let mut table = table(&targets::HEAD, 1);
    for row in targets::rows(comparisons) {
        table.add_row(row);
    }
    fitted(table, 1, room)
}

/// With so many columns of words; the others are of figures.
pub(crate) fn table(head: &[&str], words: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head);
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// With lines that fit in the room, but for a word or a figure that does not. Figures for which
/// there is no room stand in another table below. Nothing stands behind the last word of a line.
pub(crate) fn fitted(mut table: Table, words: usize, room: Room) -> String {
    let longest = |cell: &str| cell.split(' ').map(|it| it.chars().count()).max().unwrap_or(0);
    let mut widths = table.column_max_content_widths();
    for (at, width) in widths.iter_mut().enumerate() {
        let cells = table.column_cells_with_header_iter(at).flatten();
        let longest = cells.map(|cell| longest(&cell.content())).max().unwrap_or(0);
        let Some(column) = table.column_mut(at) else { continue };
        if at < words {
            *width = u16::try_from(longest).unwrap_or(u16::MAX);
        }
        *width = width.saturating_add(column.padding_width());
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
    }
    table.set_width(if words < widths.len() { room.figures() } else { room.words() });
    let parts: Vec<_> = parts(&widths, words, room.figures())
        .map(|part| {
            for at in words..widths.len() {
                let Some(column) = table.column_mut(at) else { continue };
                let is_shown = part.contains(&at);
                column.set_constraint(match is_shown {
                    true => ColumnConstraint::ContentWidth,
                    false => ColumnConstraint::Hidden,
                });
            }
            table.trim_fmt()
        })
        .collect();
    parts.join("\n\n")
}

/// The columns of figures for each table, all of which begin with the words.
fn parts(widths: &[u16], words: usize, room: u16) -> impl Iterator<Item = Range<usize>> {
    let total =
        |part: Range<usize>| widths[part].iter().map(|width| u32::from(*width)).sum::<u32>();
    let left = u32::from(room).saturating_sub(total(0..words));
    let mut begin = Some(words);
    iter::from_fn(move || {
        let from = begin?;
        let fits = (from + 1..=widths.len()).take_while(|to| total(from..*to) <= left).last();
        let to = fits.unwrap_or(from + 1).min(widths.len());
        begin = (to < widths.len()).then_some(to);
        Some(from..to)
    })
}

/// With words of more than one line on the next.
pub(crate) fn wrapped(text: &str, room: Room) -> String {
    let options = Options::new(room.words().into()).break_words(false);
    textwrap::fill(text, options.word_splitter(WordSplitter::NoHyphenation))
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// With three digits or more.
pub(crate) fn nanoseconds(time: f64) -> String {
    match time {
        ..10.0 => format!("{time:.2}"),
        10.0..100.0 => format!("{time:.1}"),
        _ => format!("{time:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use hak_bench_kernels::{Listed, kernels};

    use super::{Room, fitted, list, report, table};
    use crate::peers::PEERS;
    use crate::results::Reached;
    use crate::summary::tests::rounds;

    /// As a subject would list them.
    fn listed() -> Vec<Listed> {
        let line = |kernel: &hak_bench_kernels::Kernel| {
            let (name, group, about) = (kernel.name, kernel.group.name(), kernel.about);
            format!("{name}\t{group}\tmake\tcycles=100:1:9 live=256:1:999\t{about}\n")
        };
        Listed::parse(&kernels().iter().map(line).collect::<String>()).unwrap()
    }

    /// Words that both texts have, in whatever lines.
    fn words(text: &str) -> Vec<&str> {
        let mut words: Vec<_> = text.split_whitespace().collect();
        words.sort_unstable();
        words
    }

    #[test]
    fn no_word_is_broken_and_nothing_stands_behind_the_last() {
        let mut results = rounds(3);
        results.kernels.truncate(5);
        results.reached = Reached::Preloaded;
        let kernels = listed();
        let texts = |room| [list(&kernels, PEERS, room), report(&results, room)];
        let wide = texts(Room::Terminal(u16::MAX));
        // Narrower ones have some figures in tables of their own, with the words once more.
        for room in [Room::Terminal(200), Room::Other] {
            for (text, wide) in texts(room).iter().zip(&wide) {
                assert_eq!(words(text), words(wide), "{room:?}");
            }
        }
        for width in [1, 10, 40, 60, 80] {
            for (text, wide) in texts(Room::Terminal(width)).iter().zip(&wide) {
                let (mut found, mut expected) = (words(text), words(wide));
                assert!(text.lines().all(|line| !line.ends_with(' ')), "{width}: {text}");
                found.dedup();
                expected.dedup();
                assert_eq!(found, expected, "{width}");
            }
        }
    }

    #[test]
    fn lines_fit() {
        let mut results = rounds(3);
        results.kernels.truncate(3);
        results.peers.retain(|peer| peer.name.len() < 20);
        for width in [72, 90, 150] {
            let room = Room::Terminal(width);
            for text in [list(&listed(), PEERS, room), report(&results, room)] {
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(width.into()), "{width}: {text}");
            }
        }
    }

    #[test]
    fn figures_without_room_stand_below() {
        let mut rows = table(&["peer", "time", "peak", "faults"], 1);
        rows.add_row(["system", "1", "2", "3"]).add_row(["hak", "4", "5", "6"]);
        let wide =
            " peer    time  peak  faults\n system     1     2       3\n hak        4     5       6";
        assert_eq!(fitted(rows.clone(), 1, Room::Other), wide);
        assert_eq!(fitted(rows.clone(), 1, Room::Terminal(28)), wide);
        let narrow = " peer    time  peak\n system     1     2\n hak        4     5\n\n \
                      peer    faults\n system       3\n hak          6";
        assert_eq!(fitted(rows.clone(), 1, Room::Terminal(27)), narrow);
        assert_eq!(fitted(rows, 1, Room::Terminal(1)).matches("peer").count(), 3);
    }

    #[test]
    fn a_report_says_how_it_came_to_be() {
        let told = "\
made up for a test: no machine, made up: no compiler
commit 0000000-dirty; 3 rounds; hak-general ran twice, as the control
hak-bench run --rounds 9 --html made-up.html

";
        let report = report(&rounds(3), Room::Other);
        assert!(report.ends_with(told), "{report}");
    }

    #[test]
    fn of_one_round_nothing_is_claimed() {
        let mut results = rounds(1);
        results.kernels.truncate(1);
        let report = report(&results, Room::Other);
        assert!(report.contains("noise floor –\n"), "{report}");
        let why = "one round has no noise floor: no difference is claimed\n";
        assert_eq!(report.matches(why).count(), 1, "{report}");
        let hak = report.lines().find(|line| line.starts_with(" hak-general *")).unwrap();
        let cells: Vec<_> = hak.split_whitespace().collect();
        assert_eq!(cells[3..5], ["–", "–"], "{hak}");
    }
}
