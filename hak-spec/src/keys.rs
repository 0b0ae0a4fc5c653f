//! Every key of the language, with its type, its default and what it is for.
//!
//! The reader, the "did you mean" of its errors, the JSON schema and the reference page all work
//! from these tables; a default that is written here is written nowhere else.

mod cache;
mod classes;
mod hints;
mod memory;
mod stats;
mod validation;

use std::ops::RangeInclusive;

use crate::spec::{CLASS_BYTES_MAX, CLASS_BYTES_MIN, SLOTS_MAX};

/// One key, or one table, of the language.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted path from the top of the file.
    pub path: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// What a spec that is silent gets, as TOML; `None` where silence has a meaning of its own.
    pub default: Option<&'static str>,
    /// How much of the key is generated today.
    pub status: Status,
    /// What it is for: one paragraph.
    pub doc: &'static str,
}

/// What may stand at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A table.
    Table,
    /// A list of tables.
    Tables,
    /// One line of text.
    Text,
    /// `true` or `false`.
    Flag,
    /// An integer within bounds.
    Count(u64, u64),
    /// A size within bounds, in bytes.
    Bytes(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// A list of class sizes.
    Sizes,
    /// A time within bounds, in milliseconds.
    Time(u64, u64),
    /// A word that stands for nothing, or a value of the other kind.
    Or(&'static str, &'static Kind),
}

impl Kind {
    /// The word of [`Kind::Or`].
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Kind::Or(word, _) => Some(word),
            _ => None,
        }
    }

    /// What may stand there instead of the word of [`Kind::Or`].
    pub(crate) fn without_word(self) -> Kind {
        match self {
            Kind::Or(_, other) => *other,
            kind => kind,
        }
    }

    /// The bounds of a number.
    pub(crate) fn bounds(self) -> Option<RangeInclusive<u64>> {
        match self.without_word() {
            Kind::Count(min, max) | Kind::Bytes(min, max) | Kind::Time(min, max) => Some(min..=max),
            _ => None,
        }
    }
}

/// How much of a key is generated today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All of it.
    Supported,
    /// Only what the default says; other values are refused.
    OnlyDefault,
}

impl Key {
    /// The last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// Whether it is a table, or may be one.
    pub fn is_table(&self) -> bool {
        matches!(self.kind.without_word(), Kind::Table | Kind::Tables)
    }

    /// The path of the table it stands in; empty for the top of the file.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }
}

/// All keys, tables before what they hold, in the order of the reference page.
pub fn all() -> impl Iterator<Item = &'static Key> {
    let tables = [
        classes::TOP,
        classes::CLASSES,
        cache::CACHE,
        hints::HINTS,
        validation::VALIDATION,
        memory::MEMORY,
        stats::STATS,
    ];
    tables.into_iter().flatten()
}

/// The key of a path.
pub fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

/// The keys that stand directly in a table.
pub fn inside(table: &str) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.table() == table)
}

const fn key(
    path: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    doc: &'static str,
) -> Key {
    Key { path, kind, default, status: Status::Supported, doc }
}

const fn table(path: &'static str, doc: &'static str) -> Key {
    key(path, Kind::Table, None, doc)
}

const fn only(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default: Some(default), status: Status::OnlyDefault, doc }
}

const SLOTS: Kind = Kind::Count(1, SLOTS_MAX as u64);
/// The size of a class.
pub(crate) const CLASS: Kind = Kind::Bytes(CLASS_BYTES_MIN as u64, CLASS_BYTES_MAX as u64);
