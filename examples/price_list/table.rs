//! A table of markdown: the first columns hold words, the others figures.

use std::fmt;

/// Rows have as many cells as there are heads.
pub(crate) struct Table {
    /// Columns that hold words.
    pub(crate) words: usize,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_row(f, &self.heads)?;
        let rule = |place| if place < self.words { "---" } else { "---:" };
        let rules: Vec<_> = (0..self.heads.len()).map(|place| rule(place).to_owned()).collect();
        writeln!(f, "|{}|", rules.join("|"))?;
        self.rows.iter().try_for_each(|row| self.write_row(f, row))
    }
}

impl Table {
    fn write_row(&self, f: &mut fmt::Formatter<'_>, cells: &[String]) -> fmt::Result {
        assert_eq!(cells.len(), self.heads.len(), "a row is as long as the head");
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        writeln!(f, "| {} |", cells.join(" | "))
    }
}

/// A figure with at most so many digits behind the point, and no zeros at the end.
pub(crate) fn figure(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    // Rounded from below zero.
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Table, figure};

    #[test]
    fn figures_stand_to_the_right() {
        let cells = |texts: [&str; 3]| texts.map(str::to_owned).to_vec();
        let table = Table {
            words: 1,
            heads: cells(["row", "alloc", "time"]),
            rows: vec![cells(["a|b", "6", "1.00"]), cells(["c", "14", "1.25"])],
        };
        let expected = "\
| row | alloc | time |
|---|---:|---:|
| a\\|b | 6 | 1.00 |
| c | 14 | 1.25 |
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn figures_have_no_zeros_at_the_end() {
        let cases = [(6.0, "6"), (63.84, "63.8"), (100.0, "100"), (0.04, "0"), (-0.01, "0")];
        for (value, text) in cases {
            assert_eq!(figure(value, 1), text);
        }
        assert_eq!(figure(120.0, 0), "120");
    }
}
