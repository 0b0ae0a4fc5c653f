//! Figures as the page writes them.

/// With three digits, or as many as stand before the point: `0.91`, `12.3`, `1 234`.
pub(crate) fn number(figure: f64) -> String {
    // What rounds up to the next digit is one of the larger ones.
    match figure {
        _ if !figure.is_finite() => "–".to_owned(),
        ..9.995 => format!("{figure:.2}"),
        9.995..99.95 => format!("{figure:.1}"),
        _ => grouped(figure),
    }
}

/// Without what is behind the point, in groups of three digits.
pub(crate) fn grouped(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A multiple: `0.91×`.
pub(crate) fn times(ratio: f64) -> String {
    number(ratio) + "×"
}

/// A part of one: `2.3 %`.
pub(crate) fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.1}\u{202f}%", part * 100.0) } else { "–".to_owned() }
}

pub(crate) fn mebibytes(bytes: f64) -> String {
    number(bytes / f64::from(1 << 20))
}

pub(crate) fn kibibytes(bytes: f64) -> String {
    grouped(bytes / f64::from(1 << 10))
}

/// `1 kernel`, `2 kernels`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The unit of a kernel's times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    nanoseconds: f64,
}

impl Unit {
    /// The one in which a time has at most four digits before the point.
    pub(crate) fn of(nanoseconds: f64) -> Unit {
        match nanoseconds {
            ..1e4 => Unit { name: "ns", nanoseconds: 1.0 },
            1e4..1e7 => Unit { name: "µs", nanoseconds: 1e3 },
            _ => Unit { name: "ms", nanoseconds: 1e6 },
        }
    }

    pub(crate) fn number(self, nanoseconds: f64) -> String {
        number(nanoseconds / self.nanoseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, number, percent};

    #[test]
    fn a_figure_has_three_digits() {
        let shown = [0.0, 0.909, 1.0, 9.994, 9.996, 99.94, 99.96, 999.6, 1_234_567.8].map(number);
        let expected = [
            "0.00",
            "0.91",
            "1.00",
            "9.99",
            "10.0",
            "99.9",
            "100",
            "1\u{202f}000",
            "1\u{202f}234\u{202f}568",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_no_number_is_a_dash() {
        assert_eq!([f64::NAN, f64::INFINITY].map(number), ["–", "–"]);
    }

    #[test]
    fn a_unit_suits_its_time() {
        let shown = |time: f64| {
            let unit = Unit::of(time);
            format!("{} {}", unit.number(time), unit.name)
        };
        assert_eq!(shown(4.52), "4.52 ns");
        assert_eq!(shown(12_340.0), "12.3 µs");
        assert_eq!(shown(56_700_000.0), "56.7 ms");
    }

    #[test]
    fn a_part_is_in_percent() {
        assert_eq!([0.0234, f64::INFINITY].map(percent), ["2.3\u{202f}%", "–"]);
    }
}
