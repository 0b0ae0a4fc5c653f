//! The type's rustdoc: what the spec says of itself, and its classes as a table.

use proc_macro2::TokenStream;
use quote::quote;

use crate::layers;
use hak_spec::{CANARY_BYTES, Layers, Spec, UNIT_BYTES};

const HEAD: &str = "class   bytes  blocks  slab KiB    tail    step   worst";
const CACHE_HEAD: &str = "  slots  refill  prewarm";
const DEPOT_HEAD: &str = "  depot";

const LEGEND: [&str; 3] = [
    "- bytes: of a block. blocks: in a slab. tail: bytes at the slab's end that no block covers.",
    "- step: growth over the class before.",
    "- worst: share of a block that the smallest request of the class leaves unused.",
];
const CACHE_LEGEND: &str =
    "- refill: blocks fetched from slabs at a time. prewarm: the same at a thread's first use.";
const END: [&str; 3] = [
    "",
    "A request goes to the smallest class that is not below its size, rounded up to a multiple of",
    "its alignment. What is above the last class becomes a span of 64 KiB units, or a mapping.",
];

/// The doc attributes of the type.
pub(crate) fn rustdoc(spec: &Spec, origin: Option<&str>) -> TokenStream {
    let mut lines = Vec::new();
    if !spec.summary.is_empty() {
        lines.extend([spec.summary.clone(), String::new()]);
    }
    let origin = origin.map_or("an inline spec".to_owned(), |path| format!("`{path}`"));
    lines.extend([format!("A memory allocator, generated from {origin}."), String::new()]);
    lines.extend(["```text".to_owned(), head(spec.layers)]);
    lines.extend(rows(spec));
    lines.extend(["```".to_owned(), String::new()]);
    lines.extend(legend(spec));
    let lines =
        lines.iter().map(|line| if line.is_empty() { line.clone() } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}

fn head(layers: Layers) -> String {
    let cache = if layers.has_cache() { CACHE_HEAD } else { "" };
    let depot = if layers.has_depot() { DEPOT_HEAD } else { "" };
    [HEAD, cache, depot].concat()
}

/// What the columns mean: those of the layers that the spec has.
fn legend(spec: &Spec) -> impl Iterator<Item = String> {
    let slots = slots_legend(spec);
    let cache = slots.is_some().then(|| CACHE_LEGEND.to_owned());
    let full = format!("- depot: full {} kept for all threads.", layers::parcels(spec.layers));
    let depot = spec.layers.has_depot().then_some(full);
    let end = end(spec);
    LEGEND.map(str::to_owned).into_iter().chain(slots).chain(cache).chain(depot).chain(end)
}

fn slots_legend(spec: &Spec) -> Option<String> {
    let (thing, behind) = match spec.layers {
        Layers::None => return None,
        Layers::Magazine { .. } => ("magazine", "magazines"),
        Layers::Freelist { .. } => ("chain", "chains"),
        Layers::MagazineFreelist { .. } => ("magazine", "chains of half as many"),
    };
    let holds = match (spec.layers, spec.adaptive) {
        (Layers::MagazineFreelist { .. }, None) => format!("one of a class, and two {behind}"),
        (_, None) => format!("up to two {behind} of a class"),
        (Layers::MagazineFreelist { .. }, Some(most)) => {
            format!("one of a class, and two to {} {behind}", 2 * most)
        }
        (_, Some(most)) => format!("up to two {behind} of a class, {} if need be", most + 1),
    };
    Some(format!("- slots: blocks in a {thing}; a thread holds {holds}."))
}

/// How requests find their class, or what is above all classes.
fn end(spec: &Spec) -> Vec<String> {
    let mut end: Vec<_> = END.map(str::to_owned).into();
    if spec.spans_to == 0 {
        end[2] = "its alignment. What is above the last class becomes a mapping.".to_owned();
    }
    if spec.checks.canary {
        end.push(format!("{CANARY_BYTES} bytes are added to each request first."));
    }
    end
}

fn rows(spec: &Spec) -> impl Iterator<Item = String> {
    let layers = spec.layers;
    let classes = &spec.classes;
    let before = std::iter::once(0).chain(classes.iter().map(|class| class.bytes));
    classes.iter().zip(before).enumerate().map(move |(number, (class, before))| {
        let mut row = format!(
            "{number:>5} {:>7} {:>7} {:>9} {:>7} {:>7} {:>7}",
            class.bytes,
            class.blocks,
            (class.units * UNIT_BYTES) >> 10,
            class.tail(),
            step(class.bytes, before),
            format!("{}%", (class.bytes - before - 1) * 100 / class.bytes),
        );
        if layers.has_cache() {
            row += &format!(" {:>6} {:>7} {:>8}", class.slots, class.refill, class.prewarm);
        }
        if layers.has_depot() {
            row += &format!(" {:>6}", class.depot);
        }
        row
    })
}

fn step(bytes: u32, before: u32) -> String {
    match before {
        0 => "-".to_owned(),
        before => format!("{}%", (bytes - before) * 100 / before),
    }
}
