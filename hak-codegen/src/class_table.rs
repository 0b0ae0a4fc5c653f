//! The type's rustdoc: what the spec says of itself, and its classes as a table.

use proc_macro2::TokenStream;
use quote::quote;

use hak_spec::{Class, Spec, UNIT_BYTES};

const HEAD: &str =
    "class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot";

const LEGEND: [&str; 9] = [
    "- bytes: of a block. blocks: in a slab. tail: bytes at the slab's end that no block covers.",
    "- step: growth over the class before.",
    "- worst: share of a block that the smallest request of the class leaves unused.",
    "- slots: blocks in a magazine; a thread holds up to two magazines of a class.",
    "- refill: blocks fetched from slabs at a time. prewarm: the same at a thread's first use.",
    "- depot: full magazines kept for all threads.",
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
    lines.extend(["```text".to_owned(), HEAD.to_owned()]);
    lines.extend(rows(&spec.classes));
    lines.extend(["```".to_owned(), String::new()]);
    lines.extend(LEGEND.map(str::to_owned));
    let lines =
        lines.iter().map(|line| if line.is_empty() { line.clone() } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}

fn rows(classes: &[Class]) -> impl Iterator<Item = String> {
    let before = std::iter::once(0).chain(classes.iter().map(|class| class.bytes));
    classes.iter().zip(before).enumerate().map(|(number, (class, before))| {
        format!(
            "{number:>5} {:>7} {:>7} {:>9} {:>7} {:>7} {:>7} {:>6} {:>7} {:>8} {:>6}",
            class.bytes,
            class.blocks,
            (class.units * UNIT_BYTES) >> 10,
            class.tail(),
            step(class.bytes, before),
            format!("{}%", (class.bytes - before - 1) * 100 / class.bytes),
            class.slots,
            class.refill,
            class.prewarm,
            class.depot,
        )
    })
}

fn step(bytes: u32, before: u32) -> String {
    match before {
        0 => "-".to_owned(),
        before => format!("{}%", (bytes - before) * 100 / before),
    }
}
