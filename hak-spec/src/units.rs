//! Sizes: integers in bytes, or text with a unit such as `"64 KiB"`.

use crate::problem::Located;

/// Units a size may be written in.
pub(crate) const UNITS: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Why a text is not a size.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotASize {
    /// It does not read `NUMBER UNIT`; the guess is what it may have meant.
    Form(Option<String>),
    /// It is more than 64 bits hold.
    TooLarge,
}

/// Bytes of a text such as `"64 KiB"`; the blank may be left out.
pub(crate) fn parse(text: &str) -> Result<u64, NotASize> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits_end);
    let unit = rest.strip_prefix(' ').unwrap_or(rest);
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(NotASize::Form(guess(digits, unit)));
    };
    if digits.is_empty() {
        return Err(NotASize::Form(None));
    }
    let number: u64 = digits.parse().map_err(|_| NotASize::TooLarge)?;
    number.checked_mul(*factor).ok_or(NotASize::TooLarge)
}

/// `64` + `kb` → `64 KiB`: the unit by its first letter.
fn guess(digits: &str, unit: &str) -> Option<String> {
    let unit = unit.trim().to_ascii_lowercase();
    let known = match unit.as_str() {
        "" | "b" | "byte" | "bytes" => "B",
        "k" | "kb" | "kib" => "KiB",
        "m" | "mb" | "mib" => "MiB",
        "g" | "gb" | "gib" => "GiB",
        "t" | "tb" | "tib" => "TiB",
        _ => return None,
    };
    (!digits.is_empty()).then(|| format!("{digits} {known}"))
}

/// A number of bytes for people: `48 bytes`, `32 KiB`, `1 MiB`.
pub(crate) fn show(bytes: u64) -> String {
    let larger =
        UNITS[1..].iter().rev().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match larger {
        Some((name, unit)) => format!("{} {name}", bytes / unit),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

/// A written number of bytes for people; of one that nobody wrote they learn that too.
pub(crate) fn show_written(bytes: &Located<u32>) -> String {
    format!("{}{}", show(bytes.value.into()), bytes.origin())
}
