//! Resident memory over time: a line for each peer.

use maud::{Markup, html};

use crate::page::figures::number;
use crate::page::frame::{Frame, Sheet, TITLE};
use crate::page::labels;
use crate::page::marks::{LETTER_BOLD, Look, shortened, tenth};
use crate::results::{Resident, Row};
use crate::summary::Comparison;

/// One peer's line.
struct Line<'a> {
    name: &'a str,
    /// In the order of the peers.
    place: usize,
    look: Look,
    points: &'a [Resident],
}

const WIDE: Sheet =
    Sheet { width: 800, height: 344, right: 150, across: "milliseconds since the process began" };
const NARROW: Sheet =
    Sheet { width: 352, height: 354, right: 114, across: "milliseconds since the start" };
/// Between two names at the right.
const APART: f64 = 14.5;
/// Between a line's end and its name.
const BEFORE_NAME: f64 = 14.0;

/// Colours and patterns that the page's style has for lines.
const HUES: usize = 6;
const PATTERNS: usize = 4;

/// Nothing where no peer has two points. Open where the memory of one falls below this part of its
/// peak.
pub(crate) fn details(comparison: &Comparison) -> Markup {
    const FALLS: f64 = 0.5;
    let lines = lines(comparison);
    let falls = |line: &Line| line.last() < line.peak() * FALLS;
    html! {
        @if !lines.is_empty() {
            details open[lines.iter().any(falls)] {
                summary { "Resident memory over time" }
                figure {
                    (picture(&lines, &WIDE, "wide"))
                    (picture(&lines, &NARROW, "narrow"))
                    figcaption.note { "One run for each allocator, which was not timed. MiB." }
                }
            }
        }
    }
}

/// hak's are drawn upon the others, and the kernel's own upon all.
fn lines<'a>(comparison: &Comparison<'a>) -> Vec<Line<'a>> {
    let kernel = comparison.kernel;
    let line = |(place, row): (usize, &'a Row)| {
        let look = Look::on(kernel, comparison.standing(&row.peer)?.peer);
        let line = Line { name: &row.peer, place, look, points: &row.resident };
        (line.points.len() > 1).then_some(line)
    };
    let mut lines: Vec<Line> = kernel.rows.iter().enumerate().filter_map(line).collect();
    lines.sort_by_key(|line| match line.look {
        Look::Other => 0,
        Look::System => 1,
        Look::Hak => 2,
        Look::Own => 3,
    });
    lines
}

impl Line<'_> {
    /// MiB.
    fn peak(&self) -> f64 {
        self.points.iter().map(mebibytes).fold(0.0, f64::max)
    }

    /// MiB.
    fn last(&self) -> f64 {
        self.points.last().map_or(0.0, mebibytes)
    }

    /// A colour, which is used where the look has none, and a pattern of dashes: the same on every
    /// kernel.
    fn classes(&self) -> String {
        let Line { place, look, .. } = self;
        let pattern = if *look == Look::Other { place / HUES % PATTERNS } else { place % PATTERNS };
        format!("{} hue-{} dash-{pattern}", look.class(), place % HUES)
    }

    fn until(&self) -> f64 {
        self.points.iter().map(|point| point.milliseconds as f64).fold(0.0, f64::max)
    }
}

fn mebibytes(point: &Resident) -> f64 {
    point.bytes as f64 / f64::from(1 << 20)
}

fn picture(lines: &[Line], sheet: &Sheet, class: &str) -> Markup {
    let most = |figure: fn(&Line) -> f64| lines.iter().map(figure).fold(1.0, f64::max);
    let (until, peak) = (most(|it| it.until()), most(|it| it.peak()) * 1.05);
    let frame = Frame::linear(*sheet, 0.0..until, 0.0..peak);
    let place = |point: &Resident| frame.place(point.milliseconds as f64, mebibytes(point));
    let plot = frame.plot;
    let drawn: Vec<Vec<(f64, f64)>> =
        lines.iter().map(|line| thinned(line.points.iter().map(place))).collect();
    let ends: Vec<(f64, f64)> = drawn.iter().filter_map(|points| points.last().copied()).collect();
    let wished: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    let heights = labels::stacked(&wished, APART, plot.top, plot.bottom);
    let letters = (f64::from(sheet.right) - BEFORE_NAME) / LETTER_BOLD;
    let name_at = plot.right + BEFORE_NAME;
    html! {
        svg.picture.lines.(class) viewBox=(format!("0 0 {} {}", sheet.width, sheet.height))
            role="group" aria-label="Resident memory over time, a line for each allocator"
            data-plot=(format!("{} {} {} {}", plot.left, plot.top, plot.right, plot.bottom))
            data-until=(until) data-peak=(peak)
        {
            g.frame aria-hidden="true" { (frame.drawn) }
            text.axis x="4" y=(TITLE) { "MiB" }
            @for (at, line) in lines.iter().enumerate() {
                @let (x, y) = ends[at];
                g.mark.(line.classes()) role="img" tabindex="0"
                    data-name=(line.name)
                {
                    title {
                        (line.name) ": peak " (number(line.peak())) " MiB, at the end "
                        (number(line.last())) " MiB"
                    }
                    polyline.line points=(listed(&drawn[at])) {}
                    circle.end cx=(tenth(x)) cy=(tenth(y)) r="2.5" {}
                    polyline.leader points=(listed(&[
                        (x, y),
                        (plot.right, y),
                        (name_at - 2.0, heights[at]),
                    ])) {}
                    text.name x=(name_at) y=(tenth(heights[at] + 4.0)) {
                        (shortened(line.name, letters as usize))
                    }
                }
            }
            line.cursor y1=(plot.top) y2=(plot.bottom) {}
        }
    }
}

fn listed(points: &[(f64, f64)]) -> String {
    let pairs = points.iter().map(|(x, y)| format!("{},{}", tenth(*x), tenth(*y)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Of the points in one column of pixels the highest and the last; of those at one height the
/// first and the last.
fn thinned(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        let same_column = |(other, _): &(f64, f64)| other.floor() == x.floor();
        let same_height = |(_, other): &(f64, f64)| tenth(*other) == tenth(y);
        let needless = match kept.as_slice() {
            [.., a, b] if same_height(a) && same_height(b) => true,
            [.., a, b] if same_column(a) && same_column(b) => b.1 >= a.1.min(y),
            _ => false,
        };
        if needless {
            kept.pop();
        }
        kept.push((x, y));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::thinned;

    #[test]
    fn a_plateau_has_two_ends() {
        let points = (0..50).map(|x| (f64::from(x), 9.0)).chain([(50.0, 3.0)]);
        assert_eq!(thinned(points), [(0.0, 9.0), (49.0, 9.0), (50.0, 3.0)]);
    }

    #[test]
    fn a_column_keeps_its_highest_and_its_last() {
        let points = [(1.0, 9.0), (1.2, 5.0), (1.4, 1.0), (1.6, 7.0), (1.8, 8.0)];
        let kept = thinned(points.into_iter());
        assert!(kept.contains(&(1.4, 1.0)), "{kept:?}");
        assert_eq!(kept.last(), Some(&(1.8, 8.0)));
        assert!(kept.len() < points.len(), "{kept:?}");
    }
}
