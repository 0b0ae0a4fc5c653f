//! Sizes and times: text with a unit such as `"64 KiB"` or `"500 ms"`.

use crate::problem::Located;

/// What a number and a unit may say.
#[derive(Debug)]
pub(crate) struct Scale {
    /// What a value is called.
    pub(crate) noun: &'static str,
    /// How it is written, as help for one that is not.
    pub(crate) form: &'static str,
    /// Names and worth of the units, from small to large.
    pub(crate) units: &'static [(&'static str, u64)],
    /// What else people write for them, in small letters.
    spellings: &'static [(&'static str, &'static [&'static str])],
}

/// Sizes, in bytes.
pub(crate) static SIZE: Scale = Scale {
    noun: "size",
    form: "a size is an integer in bytes, or a whole number and a unit",
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)],
    spellings: &[
        ("B", &["", "b", "byte", "bytes"]),
        ("KiB", &["k", "kb", "kib"]),
        ("MiB", &["m", "mb", "mib"]),
        ("GiB", &["g", "gb", "gib"]),
        ("TiB", &["t", "tb", "tib"]),
    ],
};

/// Times, in milliseconds.
pub(crate) static TIME: Scale = Scale {
    noun: "time",
    form: "a time is a whole number and a unit",
    units: &[("ms", 1), ("s", 1000), ("min", 60 * 1000), ("h", 60 * 60 * 1000)],
    spellings: &[
        ("ms", &["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"]),
        ("s", &["s", "sec", "secs", "second", "seconds"]),
        ("min", &["m", "min", "mins", "minute", "minutes"]),
        ("h", &["h", "hr", "hrs", "hour", "hours"]),
    ],
};

/// Why a text is not on a scale.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It does not read `NUMBER UNIT`; the guess is what it may have meant.
    Form(Option<String>),
    /// It is more than 64 bits hold.
    TooLarge,
}

impl Scale {
    /// The worth of a text such as `"64 KiB"`; the blank may be left out.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, Unread> {
        let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, rest) = text.split_at(digits_end);
        let unit = rest.strip_prefix(' ').unwrap_or(rest);
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(Unread::Form(self.guess(digits, unit)));
        };
        if digits.is_empty() {
            return Err(Unread::Form(None));
        }
        let number: u64 = digits.parse().map_err(|_| Unread::TooLarge)?;
        number.checked_mul(*factor).ok_or(Unread::TooLarge)
    }

    /// `64` + `kb` → `64 KiB`.
    fn guess(&self, digits: &str, unit: &str) -> Option<String> {
        let unit = unit.trim().to_ascii_lowercase();
        let known = self.spellings.iter().find(|(_, all)| all.contains(&unit.as_str()))?.0;
        (!digits.is_empty()).then(|| format!("{digits} {known}"))
    }

    /// The names of the units.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.units.iter().map(|(name, _)| *name).collect()
    }

    /// The number and the unit, the largest in which it is whole.
    fn split(&self, value: u64) -> (u64, &'static str) {
        let whole = |(_, unit): &&(&str, u64)| value >= *unit && value.is_multiple_of(*unit);
        let (name, unit) = self.units.iter().rev().find(whole).unwrap_or(&self.units[0]);
        (value / unit, name)
    }
}

/// A number of bytes for people: `48 bytes`, `32 KiB`, `1 MiB`.
pub(crate) fn show(bytes: u64) -> String {
    match SIZE.split(bytes) {
        (1, "B") => "1 byte".to_owned(),
        (number, "B") => format!("{number} bytes"),
        (number, unit) => format!("{number} {unit}"),
    }
}

/// A number of milliseconds for people: `500 ms`, `1 s`.
pub(crate) fn show_time(milliseconds: u64) -> String {
    let (number, unit) = TIME.split(milliseconds);
    format!("{number} {unit}")
}

/// A written number of bytes for people; of one that nobody wrote they learn that too.
pub(crate) fn show_written(bytes: &Located<u32>) -> String {
    format!("{}{}", show(bytes.value.into()), bytes.origin())
}
