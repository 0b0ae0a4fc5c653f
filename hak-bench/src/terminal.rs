//! Results as text for a terminal.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use hak_bench_kernels::Listed;

use crate::notes;
use crate::peers::Peer;
use crate::results::{PeerKind, Reached, Results};
use crate::spread::Spread;
use crate::summary::{self, Comparison, Overall, Standing};
use crate::targets;

/// The kernels and the peers there are.
pub(crate) fn list(kernels: &[Listed], peers: &[Peer]) -> String {
    let mut table = table(&["kernel", "kind", "parameters", "what it does"], 4);
    for kernel in kernels {
        let Listed { name, group, about, .. } = kernel;
        table.add_row([name.as_str(), group.name(), &kernel.defaults(), about]);
    }
    let mut allocators = self::table(&["peer", "what it is"], 2);
    for peer in peers {
        allocators.add_row([peer.name, peer.about]);
    }
    format!("{table}\n\n{allocators}\n")
}

/// What there is to preload, and the tools to run on it.
pub(crate) fn list_preloaded(tools: &[Listed], libraries: &[(&str, &str)]) -> String {
    let mut table = table(&["tool of `preload`", "what it does"], 2);
    for Listed { name, about, .. } in tools {
        table.add_row([name, about]);
    }
    let mut allocators = self::table(&["library of `preload`", "what it is"], 2);
    for (name, about) in libraries {
        allocators.add_row([name, about]);
    }
    format!("\n{table}\n\n{allocators}\n")
}

/// All of a run.
pub(crate) fn report(results: &Results) -> String {
    let comparisons = summary::comparisons(results);
    let mut text = String::new();
    for comparison in &comparisons {
        push(&mut text, kernel(comparison));
    }
    push(&mut text, overall(results, &comparisons));
    if results.reached == Reached::Preloaded {
        push(&mut text, targets(&comparisons));
    }
    let notes = notes::of(&comparisons);
    if !notes.is_empty() {
        push(&mut text, notes.join("\n"));
    }
    push(&mut text, run(results));
    text
}

/// How it came to be.
fn run(results: &Results) -> String {
    let Results { machine, compiler, commit, command, .. } = results;
    let (rounds, control) = (results.rounds_told(), results.control());
    format!(
        "{machine}, {compiler}\ncommit {commit}; {rounds}; {control} ran twice, as the control\n\
         hak-bench {command}"
    )
}

fn push(text: &mut String, part: String) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{part}\n");
}

fn kernel(comparison: &Comparison) -> String {
    let kernel = comparison.kernel;
    let mut text = format!("{}: {}\n", kernel.name, kernel.about);
    let noise = match comparison.noise {
        Ok(noise) => format!("noise floor {:.0} %", noise * 100.0),
        Err(_) => "noise floor –".to_owned(),
    };
    let _ = writeln!(text, "ns per \"{}\"; {noise}", kernel.operation);
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
    let _ = write!(text, "{table}");
    for row in &kernel.rows {
        if let Some(failure) = &row.failure {
            let _ = write!(text, "\n{} failed: {failure}", row.peer);
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

fn overall(results: &Results, comparisons: &[Comparison]) -> String {
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
    table.to_string()
}

fn targets(comparisons: &[Comparison]) -> String {
    let mut table = table(&targets::HEAD, 1);
    for row in targets::rows(comparisons) {
        table.add_row(row);
    }
    table.to_string()
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
    use super::report;
    use crate::summary::tests::rounds;

    #[test]
    fn a_report_says_how_it_came_to_be() {
        let told = "\
made up for a test: no machine, made up: no compiler
commit 0000000-dirty; 3 rounds; hak-general ran twice, as the control
hak-bench run --rounds 9 --html made-up.html

";
        let report = report(&rounds(3));
        assert!(report.ends_with(told), "{report}");
    }

    #[test]
    fn of_one_round_nothing_is_claimed() {
        let mut results = rounds(1);
        results.kernels.truncate(1);
        let report = report(&results);
        assert!(report.contains("noise floor –\n"), "{report}");
        let why = "one round has no noise floor: no difference is claimed\n";
        assert_eq!(report.matches(why).count(), 1, "{report}");
        let hak = report.lines().find(|line| line.starts_with(" hak-general *")).unwrap();
        let cells: Vec<_> = hak.split_whitespace().collect();
        assert_eq!(cells[3..5], ["–", "–"], "{hak}");
    }
}
