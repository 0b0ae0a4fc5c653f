//! What is said about one spec, or about two side by side, as text.

use super::columns::{Align, beside, grouped, table, width};
use super::report::{Branch, Called, ClassRow, Costs, Counts, Inspected, PathReport, Report};

pub(super) fn text(report: &Report, listing: bool) -> String {
    let specs = &report.specs;
    let mut lines = heads(specs);
    for section in [classes(specs), hit_paths(specs), branches(specs), costs(specs)] {
        lines.push(String::new());
        lines.extend(section);
    }
    if listing {
        lines.extend(specs.iter().flat_map(listings));
    }
    lines.join("\n") + "\n"
}

fn heads(specs: &[Inspected]) -> Vec<String> {
    let head = |spec: &Inspected| {
        let Inspected { spec, name, inline, request_bytes, classes, .. } = spec;
        let count = classes.len();
        let classes = if count == 1 { "1 class".to_owned() } else { format!("{count} classes") };
        format!(
            "{spec}: `{name}`, {classes}, hints.inline = {inline}; looked at by requests of \
             {request_bytes} bytes aligned to 8"
        )
    };
    specs.iter().map(head).collect()
}

/// A row for each size that one of the specs has.
fn classes(specs: &[Inspected]) -> Vec<String> {
    let mut sizes: Vec<_> = specs.iter().flat_map(|spec| &spec.classes).map(|c| c.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let blocks: Vec<_> = specs.iter().map(|spec| class_table(spec, &sizes, specs)).collect();
    match &blocks[..] {
        [one] => one.clone(),
        [left, right, ..] => beside(left, right, width(left)),
        [] => Vec::new(),
    }
}

fn class_table(spec: &Inspected, sizes: &[u32], specs: &[Inspected]) -> Vec<String> {
    let head = ["bytes", "blocks", "slots", "refill", "tail", "worst waste"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for size in sizes {
        let class = spec.classes.iter().find(|class| class.bytes == *size);
        rows.push(class.map_or_else(|| vec!["-".to_owned()], class_row));
    }
    let title = title("classes", spec, specs);
    [vec![title], indented(&table(&[Align::Right; 6], &rows))].concat()
}

fn class_row(class: &ClassRow) -> Vec<String> {
    let ClassRow { bytes, blocks_per_slab, slots, refill, tail_bytes, worst_waste_percent } = class;
    let [slots, refill] =
        [slots, refill].map(|figure| figure.map_or_else(|| "-".to_owned(), |f| f.to_string()));
    let [bytes, blocks, tail] = [bytes, blocks_per_slab, tail_bytes].map(u32::to_string);
    vec![bytes, blocks, slots, refill, tail, format!("{worst_waste_percent} %")]
}

/// `classes`, or `classes of general` when there are two specs.
fn title(of: &str, spec: &Inspected, specs: &[Inspected]) -> String {
    if specs.len() == 1 { of.to_owned() } else { format!("{of} of {}", spec.spec) }
}

const COUNT_HEADS: [&str; 5] = ["instructions", "branches", "loads", "stores", "calls"];

/// The specs' names have a column when there are two.
fn hit_paths(specs: &[Inspected]) -> Vec<String> {
    let names = |name: &str| (specs.len() > 1).then(|| name.to_owned()).into_iter();
    let row = |label: String, spec: &str, figures: Vec<String>| -> Vec<String> {
        [label].into_iter().chain(names(spec)).chain(figures).collect()
    };
    let mut rows = vec![row("hit paths".into(), "", COUNT_HEADS.map(str::to_owned).to_vec())];
    for at in 0..specs[0].paths.len() {
        for (nth, spec) in specs.iter().enumerate() {
            let path = &spec.paths[at];
            let label = if nth == 0 { format!("  {}", name(path)) } else { String::new() };
            rows.push(row(label, &spec.spec, counts(&path.counts)));
            for called in &path.called {
                let label = format!("    of which in {}", called.function);
                rows.push(row(label, "", counts(&called.counts)));
            }
        }
    }
    let columns = rows[0].len();
    let aligns = [vec![Align::Left; columns - COUNT_HEADS.len()], vec![Align::Right; 5]].concat();
    table(&aligns, &rows)
}

fn counts(counts: &Counts) -> Vec<String> {
    let Counts { instructions, conditional_branches, loads, stores, calls } = counts;
    [instructions, conditional_branches, loads, stores, calls].map(usize::to_string).to_vec()
}

/// `alloc, constant layout`
fn name(path: &PathReport) -> String {
    let in_place = if path.operation == "realloc" { " in place" } else { "" };
    format!("{}{in_place}, {} layout", path.operation, path.layout)
}

fn branches(specs: &[Inspected]) -> Vec<String> {
    let tables: Vec<_> = match specs {
        [one] => branch_tables(one),
        specs => branch_blocks(specs),
    };
    let mut lines = vec!["branches, in the order in which a hit path meets them".to_owned()];
    for (path, table) in specs[0].paths.iter().zip(tables) {
        lines.push(format!("  {}", name(path)));
        lines.extend(indented(&table));
    }
    lines
}

/// One line for each branch; for each path those of its branches.
fn branch_tables(spec: &Inspected) -> Vec<Vec<String>> {
    let row = |(number, branch): (usize, &Branch)| {
        let layer = branch.layer.unwrap_or("-").to_owned();
        let cells = [number.to_string(), asked(branch), layer, way(branch)];
        [cells.to_vec(), vec![hint(branch), otherwise(branch)]].concat()
    };
    let all = spec.paths.iter().flat_map(|path| (1..).zip(&path.branches));
    let rows: Vec<_> = all.map(row).collect();
    let aligns = [&[Align::Right][..], &[Align::Left; 5]].concat();
    let mut lines = indented(&table(&aligns, &rows)).into_iter();
    let of_path = |path: &PathReport| -> Vec<_> {
        let listed = lines.by_ref().take(path.branches.len());
        listed.chain(indented(&not_listed(path))).collect()
    };
    spec.paths.iter().map(of_path).collect()
}

/// For each path two blocks side by side.
fn branch_blocks(specs: &[Inspected]) -> Vec<Vec<String>> {
    let blocks = |spec: &Inspected| -> Vec<_> {
        spec.paths.iter().map(|path| branch_block(spec, path)).collect()
    };
    let (lefts, rights) = (blocks(&specs[0]), blocks(&specs[1]));
    let width = lefts.iter().map(|block| width(block)).max().unwrap_or(0);
    lefts.iter().zip(&rights).map(|(left, right)| beside(left, right, width)).collect()
}

/// Two lines for each branch, so that another block finds room beside it.
fn branch_block(spec: &Inspected, path: &PathReport) -> Vec<String> {
    let mut lines = vec![spec.spec.clone()];
    for (number, branch) in (1..).zip(&path.branches) {
        lines.push(format!("{number}  {}", asked(branch)));
        let layer = branch.layer.map(|layer| format!("{layer}, ")).unwrap_or_default();
        let parts = [way(branch), hint(branch), otherwise(branch)];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        lines.push(format!("   {layer}{}", parts.join(", ")));
    }
    lines.extend(not_listed(path));
    lines
}

/// What is to be said about branches beside those in the list.
fn not_listed(path: &PathReport) -> Vec<String> {
    let with_branches = path.called.iter().filter(|called| called.counts.conditional_branches > 0);
    let mut lines: Vec<_> = with_branches
        .map(|Called { function, counts }| {
            format!("in {function}: {}, not listed", counts.conditional_branches)
        })
        .collect();
    if path.counts.conditional_branches == 0 {
        lines.push("none".to_owned());
    }
    lines
}

fn asked(branch: &Branch) -> String {
    // What has a layer, or leads somewhere, is a question.
    let is_question = branch.recognised && (branch.layer.is_some() || branch.otherwise.is_some());
    let mark = if is_question { "?" } else { "" };
    match branch.times {
        1 => format!("{}{mark}", branch.tests),
        times => format!("{}{mark} ({times} times)", branch.tests),
    }
}

fn way(branch: &Branch) -> String {
    if branch.jumps { "jumps" } else { "falls through" }.to_owned()
}

fn hint(branch: &Branch) -> String {
    match (branch.hint, branch.hint_value) {
        (Some(key), Some(value)) => format!("{key} = {value}"),
        _ => "no hint".to_owned(),
    }
}

fn otherwise(branch: &Branch) -> String {
    branch.otherwise.as_ref().map(|name| format!("else {name}")).unwrap_or_default()
}

fn costs(specs: &[Inspected]) -> Vec<String> {
    let heads = specs.iter().map(|spec| if specs.len() == 1 { "bytes" } else { &spec.spec });
    let mut rows: Vec<Vec<String>> =
        vec![["costs"].into_iter().chain(heads).map(str::to_owned).collect()];
    let figures = |of: fn(&Costs) -> Option<u64>| {
        specs.iter().map(move |spec| of(&spec.costs).map_or("no bound".to_owned(), grouped))
    };
    for (label, of) in COSTS {
        rows.push([format!("  {label}")].into_iter().chain(figures(of)).collect());
    }
    let aligns = [&[Align::Left][..], &vec![Align::Right; specs.len()]].concat();
    table(&aligns, &rows)
}

/// A line of the costs, and what it shows.
type Cost = (&'static str, fn(&Costs) -> Option<u64>);

const COSTS: [Cost; 6] = [
    ("thread-local storage of each thread", |costs| Some(costs.thread_local_bytes)),
    ("blocks that one thread caches at most", |costs| Some(costs.cached_bytes_per_thread_max)),
    ("blocks that all threads cache at most", |costs| costs.cached_bytes_all_threads_max),
    ("blocks that depots keep at most", |costs| Some(costs.depot_bytes_max)),
    ("metadata of each superslab", |costs| Some(costs.metadata_bytes_per_superslab)),
    ("each superslab, metadata included", |costs| Some(costs.superslab_bytes)),
];

/// The instructions of each hit path.
fn listings(spec: &Inspected) -> Vec<String> {
    let mut lines = Vec::new();
    for path in &spec.paths {
        lines.push(String::new());
        lines.push(format!("{}: {}", spec.spec, name(path)));
        lines.extend(indented(&path.listing));
    }
    lines
}

fn indented(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| format!("  {line}")).collect()
}
