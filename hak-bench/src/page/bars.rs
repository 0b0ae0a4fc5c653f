//! Bars of HTML: how long they are, and where what is drawn over them lies.

use maud::{Markup, html};

use crate::spread::Spread;

/// What a bar's track is as long as, from nothing at its left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Track {
    end: f64,
}

/// A bar longer than this multiple of the best peer's is cut.
pub(crate) const CUT: f64 = 4.0;

impl Track {
    /// For figures of which the largest is `most`, beside the best peer's.
    pub(crate) fn new(most: f64, best: Option<f64>) -> Track {
        let cut = best.filter(|best| *best > 0.0).map_or(f64::INFINITY, |best| best * CUT);
        let end = most.min(cut);
        Track { end: if end.is_normal() && end > 0.0 { end } else { 1.0 } }
    }

    /// In percent of the track.
    fn percent(self, figure: f64) -> f64 {
        let part = figure / self.end * 100.0;
        if part.is_finite() { (part.clamp(0.0, 100.0) * 100.0).round() / 100.0 } else { 0.0 }
    }

    /// The best peer's figure as a line, and the noise round it as a band.
    pub(crate) fn style(self, best: Option<f64>, noise: Option<f64>) -> Option<String> {
        let best = best?;
        let noise = noise.unwrap_or(0.0);
        let (low, high) = (self.percent(best * (1.0 - noise)), self.percent(best * (1.0 + noise)));
        Some(format!("--best:{}%;--low:{low}%;--band:{:.2}%", self.percent(best), high - low))
    }

    /// A bar of a figure without bounds.
    pub(crate) fn bar(self, figure: f64) -> Markup {
        let cut = figure > self.end;
        html! {
            span.track {
                span.bar.cut[cut] style=(format!("--long:{}%", self.percent(figure))) {}
            }
        }
    }

    /// A bar of a figure, with a whisker between its bounds.
    pub(crate) fn bar_with_whisker(self, figure: Spread) -> Markup {
        let cut = figure.median > self.end;
        let (low, high) = (self.percent(figure.low), self.percent(figure.high));
        let whisker = format!("--from:{low}%;--wide:{:.2}%", high - low);
        html! {
            span.track {
                span.bar.cut[cut] style=(format!("--long:{}%", self.percent(figure.median))) {}
                @if figure.high > figure.low && figure.low < self.end {
                    span.whisker style=(whisker) {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Track;
    use crate::spread::Spread;

    #[test]
    fn a_track_ends_with_the_largest() {
        assert_eq!(Track::new(12.0, Some(10.0)).end, 12.0);
        assert_eq!(Track::new(12.0, None).end, 12.0);
    }

    #[test]
    fn a_much_longer_bar_is_cut() {
        let track = Track::new(90.0, Some(10.0));
        assert_eq!(track.end, 40.0);
        assert!(track.bar(41.0).into_string().contains("bar cut"));
        assert!(!track.bar(40.0).into_string().contains("bar cut"));
        let whole = Spread { median: 50.0, low: 45.0, high: 60.0 };
        assert!(!track.bar_with_whisker(whole).into_string().contains("whisker"));
    }

    #[test]
    fn the_band_is_round_the_best() {
        let style = Track::new(40.0, Some(10.0)).style(Some(10.0), Some(0.1));
        assert_eq!(style.unwrap(), "--best:25%;--low:22.5%;--band:5.00%");
    }

    #[test]
    fn figures_of_nothing_have_a_track() {
        let track = Track::new(0.0, Some(0.0));
        assert!(track.bar(0.0).into_string().contains("--long:0%"));
        assert!(track.bar(f64::NAN).into_string().contains("--long:0%"));
    }
}
