//! The frame of a picture: axes, grid and ticks, and where a value lies in it.

use std::ops::Range;

use maud::{Markup, PreEscaped};
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange};
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::{BLACK, ChartBuilder, Color, IntoDrawingArea, SVGBackend, TRANSPARENT};

use crate::page::labels::Area;

/// How large a picture is and what stands at its edges, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sheet {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Room right of the plot.
    pub(crate) right: u32,
    /// What the horizontal axis shows.
    pub(crate) across: &'static str,
}

/// Drawn axes, and the plot between them.
#[derive(Debug)]
pub(crate) struct Frame {
    /// An element `svg` of the sheet's size. Its lines and texts have no look of their own: the
    /// page's style gives it.
    pub(crate) drawn: Markup,
    /// Where the plot is on the sheet.
    pub(crate) plot: Area,
    scale: Scale,
    x: Range<f64>,
    y: Range<f64>,
}

/// How axes are divided.
#[derive(Debug, Clone, Copy)]
enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Logarithmic,
}

const LEFT: u32 = 44;
const BOTTOM: u32 = 42;
/// A line for what the vertical axis shows, above its ticks.
const TOP: u32 = 26;
/// Where that line stands.
pub(crate) const TITLE: u32 = 11;

impl Frame {
    pub(crate) fn linear(sheet: Sheet, x: Range<f64>, y: Range<f64>) -> Frame {
        let (drawn, plot) = draw(sheet, x.clone(), y.clone());
        Frame { drawn, plot, scale: Scale::Linear, x, y }
    }

    /// Of positive ranges.
    pub(crate) fn logarithmic(sheet: Sheet, x: Range<f64>, y: Range<f64>) -> Frame {
        let across = (sheet.width - LEFT - sheet.right) / 56;
        let down = (sheet.height - TOP - BOTTOM) / 34;
        let axis = |range: &Range<f64>, most| {
            range.clone().log_scale().with_key_points(ticks(range, most as usize))
        };
        let (drawn, plot) = draw(sheet, axis(&x, across), axis(&y, down));
        Frame { drawn, plot, scale: Scale::Logarithmic, x, y }
    }

    /// Where a pair of values lies on the sheet.
    pub(crate) fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let Area { left, top, right, bottom } = self.plot;
        let (x, y) = (self.scale.part(&self.x, x), self.scale.part(&self.y, y));
        (left + x * (right - left), bottom - y * (bottom - top))
    }
}

impl Scale {
    /// How far along a range a value is, from 0 to 1.
    fn part(self, range: &Range<f64>, value: f64) -> f64 {
        match self {
            Scale::Linear => (value - range.start) / (range.end - range.start),
            Scale::Logarithmic => (value / range.start).ln() / (range.end / range.start).ln(),
        }
    }
}

fn draw<X, Y>(sheet: Sheet, x: X, y: Y) -> (Markup, Area)
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut drawn = String::new();
    let mut plot = Area { left: 0.0, top: 0.0, right: 0.0, bottom: 0.0 };
    {
        let root = SVGBackend::with_string(&mut drawn, (sheet.width, sheet.height));
        let root = root.into_drawing_area();
        let chart = ChartBuilder::on(&root)
            .margin_top(TOP)
            .margin_right(sheet.right)
            .y_label_area_size(LEFT)
            .x_label_area_size(BOTTOM)
            .build_cartesian_2d(x, y);
        let mut chart = chart.expect("a string takes all that is drawn");
        let mesh = chart
            .configure_mesh()
            .x_desc(sheet.across)
            .x_labels(8)
            .y_labels(7)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .bold_line_style(BLACK.stroke_width(1))
            .light_line_style(TRANSPARENT)
            .draw();
        mesh.expect("a string takes all that is drawn");
        let (across, down) = chart.plotting_area().get_pixel_range();
        plot.left = f64::from(across.start);
        // The last pixel of an axis stands for the end of its range.
        plot.right = f64::from(across.end - 1);
        plot.top = f64::from(down.start);
        plot.bottom = f64::from(down.end - 1);
    }
    (PreEscaped(drawn), plot)
}

/// Without the digits that come from counting in twos.
fn tick(value: &f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// What may stand at a logarithmic axis, in each power of ten: the finer ones first.
const TICKS: [&[u32]; 4] = [
    &[10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28, 30, 35, 40, 50, 60, 70, 80, 90],
    &[10, 12, 14, 16, 18, 20, 25, 30, 40, 50, 60, 70, 80, 90],
    &[10, 15, 20, 30, 50, 70],
    &[10, 20, 50],
];

/// The finest that are no more than `most`; the coarsest where all are more.
fn ticks(range: &Range<f64>, most: usize) -> Vec<f64> {
    let powers = (range.start.log10().floor() as i32)..=(range.end.log10().ceil() as i32);
    let of = |tenths: &[u32]| -> Vec<f64> {
        let all = powers.clone().flat_map(|power| {
            tenths.iter().map(move |tenths| f64::from(*tenths) / 10.0 * 10_f64.powi(power))
        });
        all.filter(|tick| range.contains(tick)).collect()
    };
    let mut sets = TICKS.iter().map(|tenths| of(tenths));
    sets.find(|set| set.len() <= most).unwrap_or_else(|| of(TICKS[TICKS.len() - 1]))
}

#[cfg(test)]
mod tests {
    use super::{Frame, Sheet, tick, ticks};

    const SHEET: Sheet = Sheet { width: 401, height: 301, right: 20, across: "x" };

    #[test]
    fn a_value_lies_on_its_tick() {
        let linear = Frame::linear(SHEET, 0.0..10.0, 0.0..10.0);
        let logarithmic = Frame::logarithmic(SHEET, 1.0..100.0, 1.0..100.0);
        let (middle, half) = (linear.place(5.0, 5.0), logarithmic.place(10.0, 10.0));
        assert_eq!(middle, half);
        // Half of what is left of 401 and 301 beside the texts.
        assert_eq!(middle, (44.0 + 336.0 / 2.0, 26.0 + 232.0 / 2.0));
        let grid = |frame: Frame, (x, y): (f64, f64)| {
            let drawn = frame.drawn.into_string();
            assert!(drawn.contains(&format!("x1=\"{x:.0}\"")), "no tick at {x}: {drawn}");
            assert!(drawn.contains(&format!("y1=\"{y:.0}\"")), "no tick at {y}: {drawn}");
        };
        grid(logarithmic, half);
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(ticks(&(0.9..3.1), 8), [1.0, 1.5, 2.0, 3.0]);
        assert_eq!(ticks(&(0.95..1.32), 8), [1.0, 1.1, 1.2, 1.3]);
        assert_eq!(ticks(&(0.5..2000.0), 3).len(), 11);
    }

    #[test]
    fn a_tick_is_short() {
        assert_eq!([0.1 + 0.2, 20.0, 1.5].map(|value| tick(&value)), ["0.3", "20", "1.5"]);
    }
}
