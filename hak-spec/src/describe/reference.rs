//! The reference page of the language, in Markdown.

use std::fmt::Write as _;

use crate::keys::{self, Key, Kind, Status};
use crate::read::expected;

/// The reference page: every key with its type, default and purpose, and how specs are merged.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    top_level(&mut page);
    for key in keys::all().filter(|key| key.is_table()) {
        section(&mut page, key);
    }
    page.push_str(&EXTENDING.replace("SHIPPED", &crate::load::shipped_names()));
    not_yet(&mut page);
    errors(&mut page);
    page
}

const INTRODUCTION: &str = "\
# Spec reference

A spec is one TOML file that describes one allocator. Every key but `schema` may be left out; a
spec that says `schema = 1` and nothing else is a complete general-purpose allocator, the one that
`specs/general.toml` writes out. A key that is not on this page is an error.

    schema  = 1
    extends = \"general\"

    [allocator]
    name = \"Web\"

    [cache]
    bytes = \"8 KiB\"

Sizes are integers in bytes, or text with a unit: `B`, `KiB`, `MiB`, `GiB` or `TiB`, as in
`\"64 KiB\"`. Times are text with a unit: `ms`, `s`, `min` or `h`, as in `\"500 ms\"`.

This page is generated from the table that the reader works from.

";

const EXTENDING: &str = "\
## Extending

`extends` starts a spec from another one: `extends = \"general\"` from one that is shipped with hak
(SHIPPED), `extends = \"base.toml\"` from a file, its path seen from the folder of
the spec that names it. A base may extend another base, but not in a circle.

- What the spec writes wins. Tables are merged key by key at every depth; a list is replaced whole.
- `[[classes.tune]]` entries are matched by `size`, then merged key by key.
- `classes.ladder` and `classes.sizes` are one group. A spec that writes either takes neither from
  its base: with `sizes` alone there is no ladder, and what is left out of a `ladder` has the
  default of this page, not the value of the base.
- `cache.adaptive` is a group of its own: a spec that writes it takes neither bound from its base.
- A spec that writes `validation.level` takes no single checks from its base; with single checks
  alone it adds them to those of the base, or takes them from it.
- `allocator.name` and `allocator.summary` are not inherited.
- What a base says about a class that the spec does not have (in `classes.tune` or `hints.hot`) is
  left out. So is its `cache.depot` where the spec's layers have no depot, all that is about a
  cache where the spec's layers are `[]`, its `after` and `helper` of `superslab.purge` where the
  spec's `how` is `\"never\"`, and its `large.spans_to` and `large.keep` where the spec asks for
  `poison` or `guard`.
- The result is checked as a whole. A problem points into the file that wrote the value.

";

fn top_level(page: &mut String) {
    page.push_str("## The top of the file\n\n");
    rows(page, "");
}

fn section(page: &mut String, table: &Key) {
    if !keys::inside(table.path).any(is_value) {
        return;
    }
    let header = match table.kind {
        Kind::Tables => format!("[[{}]]", table.path),
        _ => format!("[{}]", table.path),
    };
    let _ = write!(page, "## `{header}`\n\n");
    // One that a word may stand for is a row of the table it stands in, its purpose beside it.
    if table.kind.word().is_none() {
        let _ = write!(page, "{}\n\n", table.doc);
    }
    rows(page, table.path);
}

/// Whether a key is a value that may be chosen today.
fn is_value(key: &Key) -> bool {
    key.status == Status::Supported && (!key.is_table() || key.kind.word().is_some())
}

fn rows(page: &mut String, table: &str) {
    page.push_str("| key | value | default | |\n|---|---|---|---|\n");
    for key in keys::inside(table).filter(|key| is_value(key)) {
        let default = key.default.map_or(String::new(), |default| format!("`{default}`"));
        let value = match key.path {
            "schema" => "`1`".to_owned(),
            _ => expected(key.kind),
        };
        let _ = writeln!(page, "| `{}` | {value} | {default} | {} |", key.name(), key.doc);
    }
    page.push('\n');
}

/// Keys of which one value only is generated.
fn not_yet(page: &mut String) {
    page.push_str(
        "## Not supported yet\n\nOther values of these keys are refused rather than ignored; the \
         one below says what is done today.\n\n| key | accepted | |\n|---|---|---|\n",
    );
    for key in keys::all().filter(|key| key.status == Status::OnlyDefault) {
        let value = key.default.unwrap_or_default();
        let _ = writeln!(page, "| `{}` | `{value}` | {} |", key.path, key.doc);
    }
    page.push('\n');
}

/// How problems are shown: by one that is real.
fn errors(page: &mut String) {
    let text = "schema = 1\n\n[classes]\nsizes = [64, 48]\n\n[hints]\nhit = \"likly\"\n";
    let report = crate::parse(text, "specs/web.toml", "Web", None).expect_err("a bad spec");
    let _ = write!(
        page,
        "## Errors\n\nAll problems of a spec are reported in one go, in source order, by the macro \
         and by `hak check` alike:\n\n```text\n{report}\n```\n"
    );
}
