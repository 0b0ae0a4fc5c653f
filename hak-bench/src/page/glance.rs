//! Every kernel in one line: hak's own spec beside the fastest other allocator.

use maud::{Markup, html};

use crate::page::figures::times;
use crate::page::kernel;
use crate::page::verdict::Verdict;
use crate::spread::Spread;
use crate::summary::Comparison;

/// Nothing where no own spec ran beside another allocator.
pub(crate) fn section(comparisons: &[Comparison]) -> Markup {
    let rows: Vec<Row> = comparisons.iter().map(Row::of).collect();
    let Some(axis) = Axis::of(rows.iter().filter_map(|row| row.ratio)) else {
        return Markup::default();
    };
    html! {
        section #glance {
            h2 { "All kernels at a glance" }
            p.note {
                "The time of hak’s own spec as a multiple of the fastest other allocator’s, with "
                "the bounds of the median, on a logarithmic scale. In the grey band a difference "
                "is noise."
            }
            table.glance role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th.what role="columnheader" scope="col" { "kernel" }
                        th.figure role="columnheader" scope="col" { "time" small { "× best" } }
                        th.picture role="columnheader" scope="col" {
                            span.unseen { "picture of the time" }
                            (axis.labels())
                        }
                        th.verdict role="columnheader" scope="col" { span.unseen { "verdict" } }
                        th.best role="columnheader" scope="col" { "fastest other" }
                        th.spec role="columnheader" scope="col" { "own spec" }
                        th.figure role="columnheader" scope="col" { "peak" small { "× leanest" } }
                    }
                }
                tbody role="rowgroup" { @for row in &rows { (row.markup(axis)) } }
            }
        }
    }
}

struct Row<'a> {
    comparison: &'a Comparison<'a>,
    ratio: Option<Spread>,
    peak: Option<f64>,
}

impl<'a> Row<'a> {
    fn of(comparison: &'a Comparison<'a>) -> Row<'a> {
        let own = comparison.own();
        Row {
            comparison,
            ratio: own.and_then(|own| own.to_best).filter(|ratio| ratio.low > 0.0),
            peak: own.and_then(|own| own.peak_to_leanest),
        }
    }

    fn markup(&self, axis: Axis) -> Markup {
        let comparison = self.comparison;
        let Comparison { kernel, best, noise, .. } = comparison;
        let verdict = self.ratio.map(|ratio| Verdict::of(ratio, *noise));
        let or_dash = |ratio: Option<f64>| ratio.map_or("–".to_owned(), times);
        html! {
            tr class=[verdict.map(Verdict::word)] role="row" {
                th.what role="rowheader" scope="row" {
                    a href=(format!("#{}", kernel::id(&kernel.name))) { (kernel.name) }
                }
                td.figure.main role="cell" { (or_dash(self.ratio.map(|ratio| ratio.median))) }
                td.picture role="cell" aria-hidden="true" {
                    @if let Some(ratio) = self.ratio { (axis.dot(ratio, noise.ok())) }
                }
                td.verdict role="cell" {
                    @match verdict {
                        Some(verdict) => span.verdict.(verdict.word()) { (verdict.word()) },
                        None if comparison.own_is_asked_for() && comparison.own().is_none() => {
                            "not run"
                        },
                        None => "–",
                    }
                }
                td.best role="cell" { (best.unwrap_or("–")) }
                td.spec role="cell" { (kernel.own) }
                td.figure role="cell" { (or_dash(self.peak)) }
            }
        }
    }
}

/// A logarithmic axis that reaches as far below one as above.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    /// Its upper end.
    end: f64,
}

/// What an axis may reach to, and the tick above one.
const ENDS: [(f64, f64); 7] =
    [(1.25, 1.2), (1.6, 1.5), (2.2, 2.0), (3.3, 3.0), (5.5, 5.0), (11.0, 10.0), (110.0, 100.0)];

impl Axis {
    fn of(ratios: impl Iterator<Item = Spread>) -> Option<Axis> {
        let reach = |ratio: Spread| ratio.high.max(1.0 / ratio.low);
        let most = ratios.map(reach).fold(None, |most: Option<f64>, reach| {
            Some(most.map_or(reach, |most| most.max(reach)))
        })?;
        let end = ENDS.iter().map(|(end, _)| *end).find(|end| *end >= most);
        Some(Axis { end: end.unwrap_or(ENDS[ENDS.len() - 1].0) })
    }

    /// In percent of the axis.
    fn place(self, ratio: f64) -> f64 {
        let part = 50.0 + ratio.ln() / self.end.ln() * 50.0;
        (part.clamp(0.0, 100.0) * 100.0).round() / 100.0
    }

    fn labels(self) -> Markup {
        let tick = ENDS.iter().find(|(end, _)| *end == self.end).map_or(self.end, |it| it.1);
        html! {
            span.axis aria-hidden="true" {
                @for tick in [1.0 / tick, 1.0, tick] {
                    span style=(format!("left:{}%", self.place(tick))) { (times(tick)) }
                }
            }
        }
    }

    fn dot(self, ratio: Spread, noise: Option<f64>) -> Markup {
        let between = |low: f64, high: f64| {
            let (low, high) = (self.place(low), self.place(high));
            format!("--from:{low}%;--wide:{:.2}%", high - low)
        };
        html! {
            span.axis {
                @if let Some(noise) = noise {
                    span.noise style=(between((1.0 - noise).max(0.01), 1.0 + noise)) {}
                }
                span.one {}
                span.whisker style=(between(ratio.low, ratio.high)) {}
                span.dot style=(format!("left:{}%", self.place(ratio.median))) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;
    use crate::spread::Spread;

    fn axis(ratios: &[(f64, f64)]) -> Option<Axis> {
        let spread = |&(low, high)| Spread { median: 1.0, low, high };
        Axis::of(ratios.iter().map(spread))
    }

    #[test]
    fn an_axis_reaches_as_far_as_its_ratios() {
        assert_eq!(axis(&[]), None);
        assert_eq!(axis(&[(0.9, 1.1), (0.7, 1.0)]), Some(Axis { end: 1.6 }));
        assert_eq!(axis(&[(0.9, 4.0)]), Some(Axis { end: 5.5 }));
        assert_eq!(axis(&[(0.9, 4000.0)]), Some(Axis { end: 110.0 }));
    }

    #[test]
    fn one_is_in_the_middle() {
        let axis = Axis { end: 2.2 };
        assert_eq!([1.0 / 2.2, 1.0, 2.2, 9.0].map(|it| axis.place(it)), [0.0, 50.0, 100.0, 100.0]);
    }
}
