//! Text in columns.

/// Spaces between two columns.
const GAP: &str = "  ";

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Lines of cells, each column as wide as its widest cell. A row may end early.
pub(super) fn table(aligns: &[Align], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..aligns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded =
            row.iter().zip(aligns).zip(&widths).map(|((cell, align), &width)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
        padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Two blocks of lines, the right one beside a left one of this width.
pub(super) fn beside(left: &[String], right: &[String], width: usize) -> Vec<String> {
    let line = |at: usize| {
        let [left, right] = [left, right].map(|side| side.get(at).map_or("", String::as_str));
        format!("{left:<width$}{GAP}{GAP}{right}").trim_end().to_owned()
    };
    (0..left.len().max(right.len())).map(line).collect()
}

pub(super) fn width(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [lines(&["name", "bytes"]), lines(&["a", "1000000"]), lines(&["rest"])];
        let expected = ["name    bytes", "a     1000000", "rest"];
        assert_eq!(table(&[Align::Left, Align::Right], &rows), expected);
    }

    #[test]
    fn blocks_of_different_lengths_stand_side_by_side() {
        let (short, long) = (lines(&["ab"]), lines(&["c", "d"]));
        assert_eq!(beside(&short, &long, width(&short)), ["ab    c", "      d"]);
        assert_eq!(beside(&long, &short, width(&long)), ["c    ab", "d"]);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
