//! What is said about specs: the shape of the JSON, described in `docs/inspect.md`.

use std::path::Path;

use hak_spec::{Class, Inline, Spec};
use serde::Serialize;

use super::canary_bytes;

/// The number that grows when a key goes or changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Report {
    schema: u32,
    pub(super) specs: Vec<Inspected>,
}

/// All about one spec.
#[derive(Serialize)]
pub(super) struct Inspected {
    /// As it was named on the command line.
    pub(super) spec: String,
    /// The type's name.
    pub(super) name: String,
    /// `hints.inline`.
    pub(super) inline: &'static str,
    /// Bytes that the constant layouts ask for.
    pub(super) request_bytes: u32,
    pub(super) classes: Vec<ClassRow>,
    pub(super) paths: Vec<PathReport>,
    pub(super) costs: Costs,
}

/// A row of the class table.
#[derive(Serialize)]
pub(super) struct ClassRow {
    pub(super) bytes: u32,
    pub(super) blocks_per_slab: u32,
    /// `None` without a cache.
    pub(super) slots: Option<u32>,
    pub(super) refill: Option<u32>,
    pub(super) tail_bytes: u32,
    pub(super) worst_waste_percent: u32,
}

/// One function's hit path.
#[derive(Serialize)]
pub(super) struct PathReport {
    /// `alloc`, `dealloc` or `realloc`.
    pub(super) operation: &'static str,
    /// `constant` or `variable`.
    pub(super) layout: &'static str,
    #[serde(flatten)]
    pub(super) counts: Counts,
    pub(super) branches: Vec<Branch>,
    /// Functions of the runtime and of libraries that it calls.
    pub(super) called: Vec<Called>,
    #[serde(skip)]
    pub(super) listing: Vec<String>,
}

/// What ran, called functions included.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) instructions: usize,
    pub(super) conditional_branches: usize,
    pub(super) loads: usize,
    pub(super) stores: usize,
    pub(super) calls: usize,
}

/// A conditional branch.
#[derive(Serialize)]
pub(super) struct Branch {
    /// What is asked, or `unrecognised: INSTRUCTION`.
    pub(super) tests: String,
    pub(super) recognised: bool,
    pub(super) layer: Option<&'static str>,
    /// Whether the hit path jumps; else it falls through.
    pub(super) jumps: bool,
    /// How often it ran.
    pub(super) times: usize,
    /// The key that says which way it usually goes.
    pub(super) hint: Option<&'static str>,
    pub(super) hint_value: Option<&'static str>,
    /// The first function on the other side.
    pub(super) otherwise: Option<String>,
    pub(super) compare: String,
    pub(super) instruction: String,
}

/// A function outside of the generated code.
#[derive(Serialize)]
pub(super) struct Called {
    pub(super) function: String,
    #[serde(flatten)]
    pub(super) counts: Counts,
}

/// What a spec costs, in bytes.
#[derive(Serialize)]
pub(super) struct Costs {
    pub(super) thread_local_bytes: u64,
    pub(super) thread_local_variables: Vec<Variable>,
    pub(super) cached_bytes_per_thread_max: u64,
    /// `None` when nothing bounds it.
    pub(super) cached_bytes_all_threads_max: Option<u64>,
    pub(super) depot_bytes_max: u64,
    pub(super) metadata_bytes_per_superslab: u64,
    pub(super) superslab_bytes: u64,
}

/// A thread-local variable.
#[derive(Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) bytes: u64,
}

impl Report {
    pub(super) fn new(specs: Vec<Inspected>) -> Self {
        Report { schema: SCHEMA, specs }
    }
}

impl Inspected {
    pub(super) fn new(
        origin: &Path,
        spec: &Spec,
        request_bytes: u32,
        paths: Vec<PathReport>,
        costs: Costs,
    ) -> Self {
        let inline = match spec.hints.inline {
            Inline::Always => "always",
            Inline::Constant => "constant",
            Inline::Never => "never",
        };
        Inspected {
            spec: origin.display().to_string(),
            name: spec.name.clone(),
            inline,
            request_bytes,
            classes: classes(spec),
            paths,
            costs,
        }
    }
}

fn classes(spec: &Spec) -> Vec<ClassRow> {
    let (canary, has_cache) = (canary_bytes(spec), spec.layers.has_cache());
    let before = std::iter::once(0).chain(spec.classes.iter().map(|class| class.bytes));
    let row = |(class, before): (&Class, u32)| {
        let smallest_request = (before + 1).saturating_sub(canary).max(1);
        ClassRow {
            bytes: class.bytes,
            blocks_per_slab: class.blocks,
            slots: has_cache.then_some(class.slots),
            refill: has_cache.then_some(class.refill),
            tail_bytes: class.tail(),
            worst_waste_percent: (class.bytes - smallest_request) * 100 / class.bytes,
        }
    };
    spec.classes.iter().zip(before).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waste_is_that_of_the_smallest_request() {
        let wastes = |text: &str| -> Vec<_> {
            let text = format!("schema = 1\nclasses.sizes = [16, 64]\n{text}");
            let spec = hak_spec::parse(&text, "test.toml", "Test", None).unwrap();
            classes(&spec).iter().map(|class| class.worst_waste_percent).collect()
        };
        // 1 byte in 16, 17 in 64; with 8 bytes for a canary 9 in 64.
        assert_eq!(wastes(""), [93, 73]);
        assert_eq!(wastes("validation.canary = true\n"), [93, 85]);
    }
}
