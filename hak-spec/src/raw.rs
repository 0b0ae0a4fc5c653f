//! A spec as it is written: merged with what it extends, defaults filled in, not yet checked.

use std::collections::BTreeMap;

use crate::checks::CHECKS;
use crate::keys;
use crate::problem::{At, Located};
use crate::read::default_of;

/// A value of the right shape, or a sign that there was one of the wrong shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Flag(bool),
    Text(String),
    List(Vec<Located<Value>>),
    /// A table is here; what it holds stands at its own paths.
    Table,
    /// A problem was reported here: whoever needs the value keeps quiet.
    Broken,
}

impl Value {
    /// The same value without the places of its entries.
    pub(crate) fn without_places(self) -> Value {
        match self {
            Value::List(entries) => Value::List(
                entries.into_iter().map(|e| Located { value: e.value, at: None }).collect(),
            ),
            other => other,
        }
    }
}

/// Values by path.
pub(crate) type Values = BTreeMap<&'static str, Located<Value>>;

/// What one file says, or a file and its bases.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) values: Values,
    /// The entries of `[[classes.tune]]`.
    pub(crate) tunes: Vec<Values>,
}

/// Keys that are about one file.
const NOT_INHERITED: [&str; 4] = ["schema", "extends", "allocator.name", "allocator.summary"];

impl Written {
    /// Takes from a base what is not written here.
    pub(crate) fn inherit(&mut self, base: Written) {
        let own_classes = self.values.keys().any(|path| decides_classes(path));
        let own_bounds = self.values.contains_key("cache.adaptive");
        let own_level = self.values.contains_key("validation.level");
        let stays = |path: &str| {
            NOT_INHERITED.contains(&path)
                || (own_classes && decides_classes(path))
                || (own_bounds && path.starts_with("cache.adaptive"))
                || (own_level && CHECKS.iter().any(|check| check.path == path))
        };
        for (path, value) in base.values.into_iter().filter(|(path, _)| !stays(path)) {
            self.values.entry(path).or_insert(value);
        }
        self.inherit_tunes(base.tunes);
    }

    /// Matches entries by size. Two entries of the base for one size both stay, to be reported.
    fn inherit_tunes(&mut self, base: Vec<Values>) {
        let own = self.tunes.len();
        let mut seen = Vec::new();
        for tune in base {
            let size = size_of_tune(&tune);
            let same = self.tunes[..own].iter_mut().find(|t| size_of_tune(t) == size);
            match same {
                Some(same) if !seen.contains(&size) => {
                    for (path, value) in tune {
                        same.entry(path).or_insert(value);
                    }
                }
                _ => self.tunes.push(tune),
            }
            seen.push(size);
        }
    }
}

/// `classes.ladder` and `classes.sizes` are inherited together or not at all.
fn decides_classes(path: &str) -> bool {
    path.starts_with("classes.ladder") || path == "classes.sizes"
}

fn size_of_tune(tune: &Values) -> Option<u64> {
    match tune.get("classes.tune.size")?.value {
        Value::Number(size) => Some(size),
        _ => None,
    }
}

/// A value with its place; `None` when it is broken.
pub(crate) type Field<T> = Option<Located<T>>;

/// A spec as written, by field.
#[derive(Debug)]
pub(crate) struct Raw {
    /// All of it, by path.
    pub(crate) values: Values,
    /// `None` when the spec is silent: then the default is the name it got from outside.
    pub(crate) name: Option<Field<String>>,
    pub(crate) default_name: String,
    pub(crate) summary: Field<String>,
    pub(crate) ladder: Option<Ladder>,
    /// How far down the chain of bases the file stands that decides the classes.
    pub(crate) classes_depth: usize,
    pub(crate) sizes: Field<Vec<Located<u32>>>,
    pub(crate) tunes: Vec<Tune>,
    pub(crate) layers: Field<Vec<Located<String>>>,
    pub(crate) slots: Field<u32>,
    pub(crate) bytes: Field<u32>,
    pub(crate) refill: Refill,
    pub(crate) prewarm: Option<Field<u32>>,
    pub(crate) depot: Field<u64>,
    /// `None` for `"none"`.
    pub(crate) adaptive: Field<Option<Bounds>>,
    /// `None` for `"none"`.
    pub(crate) cache_limit: Field<Option<u64>>,
    pub(crate) hot: Field<Vec<Located<u32>>>,
    pub(crate) hit: Field<String>,
    pub(crate) room: Field<String>,
    pub(crate) small: Field<String>,
    pub(crate) inline: Field<String>,
    pub(crate) prefetch: Field<bool>,
    pub(crate) checks: Checks,
    pub(crate) superslab: Superslab,
    pub(crate) spans_to: Field<u32>,
    pub(crate) keep: Field<u64>,
    pub(crate) counters: Field<bool>,
    pub(crate) profile: Field<bool>,
    pub(crate) sample_bytes: Field<u64>,
}

/// `classes.ladder`.
#[derive(Debug)]
pub(crate) struct Ladder {
    pub(crate) quantum: Field<u32>,
    pub(crate) linear_to: Field<u32>,
    pub(crate) steps: Field<u32>,
    pub(crate) max: Field<u32>,
}

/// `cache.refill`.
#[derive(Debug)]
pub(crate) struct Refill {
    pub(crate) hot: Field<u32>,
    pub(crate) mid: Field<u32>,
    pub(crate) default: Field<u32>,
}

/// `cache.adaptive`; a bound is `None` where it is missing.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) min: Option<Field<u32>>,
    pub(crate) max: Option<Field<u32>>,
}

/// `validation`.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) level: Field<String>,
    /// The checks that have a key of their own, by path.
    pub(crate) single: BTreeMap<&'static str, Field<bool>>,
    pub(crate) quarantine_bytes: Field<u32>,
    pub(crate) seed: Option<Field<u64>>,
}

/// `superslab`.
#[derive(Debug)]
pub(crate) struct Superslab {
    /// `None` for `"auto"`.
    pub(crate) shards: Field<Option<u32>>,
    pub(crate) purge: Purge,
    /// `None` for `"none"`.
    pub(crate) limit: Field<Option<u64>>,
    pub(crate) huge_pages: Field<String>,
    /// `None` for `"growing"`.
    pub(crate) prefault: Field<Option<bool>>,
}

/// `superslab.purge`.
#[derive(Debug)]
pub(crate) struct Purge {
    pub(crate) how: Field<String>,
    /// Milliseconds.
    pub(crate) after: Field<u64>,
    pub(crate) helper: Field<bool>,
}

/// One entry of `[[classes.tune]]`.
#[derive(Debug)]
pub(crate) struct Tune {
    pub(crate) size: Located<u32>,
    pub(crate) slots: Option<Field<u32>>,
    pub(crate) refill: Option<Field<u32>>,
    pub(crate) prewarm: Option<Field<u32>>,
}

impl Raw {
    /// Sorts what is written into fields.
    pub(crate) fn new(written: &Written, default_name: &str) -> Raw {
        let v = &written.values;
        Raw {
            values: v.clone(),
            name: optional(v, "allocator.name"),
            default_name: default_name.to_owned(),
            summary: field(v, "allocator.summary"),
            ladder: has_ladder(v).then(|| Ladder::new(v)),
            classes_depth: classes_depth(v),
            sizes: field(v, "classes.sizes"),
            tunes: written.tunes.iter().filter_map(Tune::new).collect(),
            layers: field(v, "cache.layers"),
            slots: field(v, "cache.slots"),
            bytes: field(v, "cache.bytes"),
            refill: Refill::new(v),
            prewarm: optional(v, "cache.prewarm"),
            depot: field(v, "cache.depot"),
            adaptive: adaptive(v),
            cache_limit: field(v, "cache.limit"),
            hot: field(v, "hints.hot"),
            hit: field(v, "hints.hit"),
            room: field(v, "hints.room"),
            small: field(v, "hints.small"),
            inline: field(v, "hints.inline"),
            prefetch: field(v, "hints.prefetch"),
            checks: Checks::new(v),
            superslab: Superslab::new(v),
            spans_to: field(v, "large.spans_to"),
            keep: field(v, "large.keep"),
            counters: field(v, "stats.counters"),
            profile: field(v, "stats.profile"),
            sample_bytes: field(v, "stats.sample_bytes"),
        }
    }
}

impl Ladder {
    fn new(values: &Values) -> Ladder {
        Ladder {
            quantum: field(values, "classes.ladder.quantum"),
            linear_to: field(values, "classes.ladder.linear_to"),
            steps: field(values, "classes.ladder.steps_per_doubling"),
            max: field(values, "classes.ladder.max"),
        }
    }
}

/// A spec that names sizes and no ladder has none; one that names neither has the default one.
fn has_ladder(values: &Values) -> bool {
    values.contains_key("classes.ladder") || !values.contains_key("classes.sizes")
}

fn classes_depth(values: &Values) -> usize {
    let deciding = values.iter().filter(|(path, _)| decides_classes(path));
    deciding.map(|(_, value)| value.depth()).min().unwrap_or(usize::MAX)
}

impl Refill {
    fn new(values: &Values) -> Refill {
        Refill {
            hot: field(values, "cache.refill.hot"),
            mid: field(values, "cache.refill.mid"),
            default: field(values, "cache.refill.default"),
        }
    }
}

fn adaptive(values: &Values) -> Field<Option<Bounds>> {
    let bounds = || Bounds {
        min: optional(values, "cache.adaptive.min"),
        max: optional(values, "cache.adaptive.max"),
    };
    let at = values.get("cache.adaptive").and_then(|written| written.at.clone());
    match values.get("cache.adaptive").map(|written| &written.value) {
        Some(Value::Table) => Some(Located { value: Some(bounds()), at }),
        Some(Value::Broken) => None,
        _ => Some(Located { value: None, at }),
    }
}

impl Checks {
    fn new(values: &Values) -> Checks {
        let single = CHECKS.iter().map(|check| check.path);
        Checks {
            level: field(values, "validation.level"),
            single: single.filter_map(|path| Some((path, optional(values, path)?))).collect(),
            quarantine_bytes: field(values, "validation.quarantine_bytes"),
            seed: optional(values, "validation.seed"),
        }
    }
}

impl Superslab {
    fn new(values: &Values) -> Superslab {
        Superslab {
            shards: field(values, "superslab.shards"),
            purge: Purge {
                how: field(values, "superslab.purge.how"),
                after: field(values, "superslab.purge.after"),
                helper: field(values, "superslab.purge.helper"),
            },
            limit: field(values, "superslab.limit"),
            huge_pages: field(values, "superslab.huge_pages"),
            prefault: field(values, "superslab.prefault"),
        }
    }
}

impl Tune {
    /// An entry without a usable size was reported and is about no class.
    fn new(values: &Values) -> Option<Tune> {
        Some(Tune {
            size: optional(values, "classes.tune.size")??,
            slots: optional(values, "classes.tune.slots"),
            refill: optional(values, "classes.tune.refill"),
            prewarm: optional(values, "classes.tune.prewarm"),
        })
    }
}

/// The value of a key: written, or else its default. What stands in a broken table is broken.
fn field<T: FromValue>(values: &Values, path: &str) -> Field<T> {
    if let Some(written) = values.get(path) {
        return located(&written.value, written.at.clone());
    }
    let mut tables = path.match_indices('.').filter_map(|(dot, _)| values.get(&path[..dot]));
    if tables.any(|table| table.value == Value::Broken) {
        return None;
    }
    let key = keys::find(path).expect("fields are keys of the language");
    located(&default_of(key), None)
}

/// The value of a key that has no default.
fn optional<T: FromValue>(values: &Values, path: &str) -> Option<Field<T>> {
    let written = values.get(path)?;
    Some(located(&written.value, written.at.clone()))
}

fn located<T: FromValue>(value: &Value, at: Option<At>) -> Field<T> {
    T::from_value(value).map(|value| Located { value, at })
}

/// Rust types a value may become; `None` for a broken one.
trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for u64 {
    fn from_value(value: &Value) -> Option<u64> {
        match value {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<u32> {
        u64::from_value(value).and_then(|number| u32::try_from(number).ok())
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<bool> {
        match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }
}

/// A number, or a word that stands for none.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Text(_) => Some(None),
            number => T::from_value(number).map(Some),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<String> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Vec<Located<T>> {
    fn from_value(value: &Value) -> Option<Vec<Located<T>>> {
        match value {
            Value::List(entries) => {
                entries.iter().map(|entry| located(&entry.value, entry.at.clone())).collect()
            }
            _ => None,
        }
    }
}
