//! The picture of time against memory: a mark for each peer.

use std::ops::Range;

use maud::{Markup, html};

use crate::page::figures::{counted, times};
use crate::page::frame::{Frame, Sheet};
use crate::page::labels::{self, Anchor, Area};
use crate::page::marks::{LETTER, LETTER_BOLD, Look, shortened, tenth};
use crate::summary::Overall;

/// A peer, or the kernels' own specs, over all kernels.
#[derive(Debug, Clone)]
pub(crate) struct Mark<'a> {
    pub(crate) name: &'a str,
    pub(crate) look: Look,
    pub(crate) overall: Overall,
}

/// Nothing where there is no mark that has a place.
pub(crate) fn section(marks: &[Mark]) -> Markup {
    let marks: Vec<&Mark> = marks.iter().filter(|mark| mark.has_a_place()).collect();
    if marks.is_empty() {
        return Markup::default();
    }
    html! {
        section #map {
            h2 { "Time against memory" }
            p.note {
                "Geometric means over the kernels, as multiples of the best of the others on each "
                "kernel: further left is faster, further down is leaner. Both axes are "
                "logarithmic. The dashed lines are at 1: the best of the others on every kernel "
                "at once."
            }
            figure {
                (picture(&marks, &WIDE, "wide"))
                (picture(&marks, &NARROW, "narrow"))
                figcaption.legend {
                    span.hak { "hak" } " " span.system { "the system’s" } " "
                    span.other { "others" }
                }
            }
        }
    }
}

impl Mark<'_> {
    fn has_a_place(&self) -> bool {
        let Overall { to_best, peak_to_leanest, .. } = self.overall;
        [to_best, peak_to_leanest].iter().all(|figure| figure.is_normal() && *figure > 0.0)
    }

    fn told(&self) -> String {
        let Overall { kernels, to_best, to_system, peak_to_leanest } = self.overall;
        let system = to_system.map_or(String::new(), |it| format!(", {} system", times(it)));
        format!(
            "{}: time {} best{system}; peak {} leanest; {}",
            self.name,
            times(to_best),
            times(peak_to_leanest),
            counted(kernels, "kernel"),
        )
    }
}

const WIDE: Sheet =
    Sheet { width: 800, height: 470, right: 16, across: "time, × the best of the others" };
const NARROW: Sheet =
    Sheet { width: 352, height: 420, right: 8, across: "time, × the best of the others" };
const LINE: f64 = 16.0;
/// Pixels of a sheet for each letter that a label may have.
const FOR_A_LETTER: u32 = 27;

fn picture(marks: &[&Mark], sheet: &Sheet, class: &str) -> Markup {
    let range = |figure: fn(&Overall) -> f64| span(marks.iter().map(|it| figure(&it.overall)));
    let frame = Frame::logarithmic(*sheet, range(|it| it.to_best), range(|it| it.peak_to_leanest));
    let place = |mark: &&Mark| frame.place(mark.overall.to_best, mark.overall.peak_to_leanest);
    let named = |mark: &Mark| shortened(mark.name, (sheet.width / FOR_A_LETTER) as usize);
    let anchor = |mark: &&Mark| {
        let letters = named(mark).chars().count() as f64;
        let letter = if mark.look == Look::Other { LETTER } else { LETTER_BOLD };
        Anchor { at: place(mark), width: letters * letter + 4.0, height: LINE }
    };
    let anchors: Vec<Anchor> = marks.iter().map(anchor).collect();
    let labels = labels::around(&anchors, frame.plot);
    let Area { left, top, right, bottom } = frame.plot;
    let one = frame.place(1.0, 1.0);
    html! {
        svg.picture.(class) viewBox=(format!("0 0 {} {}", sheet.width, sheet.height))
            role="group" aria-label="Scatter of time against peak memory, a mark for each allocator"
        {
            g.frame aria-hidden="true" { (frame.drawn) }
            text.axis x="4" y="10" { "peak memory, × the leanest of the others" }
            line.one x1=(one.0) x2=(one.0) y1=(top) y2=(bottom) {}
            line.one x1=(left) x2=(right) y1=(one.1) y2=(one.1) {}
            @for (anchor, label) in anchors.iter().zip(&labels) { (leader(anchor.at, *label)) }
            @for ((mark, anchor), label) in marks.iter().zip(&anchors).zip(labels) {
                g.mark.(mark.look.class()) role="img" tabindex="0" {
                    title { (mark.told()) }
                    (mark.look.shape(anchor.at))
                    (name(&named(mark), anchor.at, label))
                }
            }
        }
    }
}

/// From the mark to a label that is not right beside it.
fn leader(from: (f64, f64), label: Area) -> Markup {
    let to = label.nearest(from);
    let far = (to.0 - from.0).hypot(to.1 - from.1) > 12.0;
    let (x1, y1, x2, y2) = (tenth(from.0), tenth(from.1), tenth(to.0), tenth(to.1));
    html! { @if far { line.leader x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} } }
}

fn name(text: &str, at: (f64, f64), label: Area) -> Markup {
    let (anchor, x) = if label.left >= at.0 {
        ("start", label.left + 1.0)
    } else if label.right <= at.0 {
        ("end", label.right - 1.0)
    } else {
        ("middle", f64::midpoint(label.left, label.right))
    };
    html! { text.name x=(tenth(x)) y=(tenth(label.bottom - 4.0)) text-anchor=(anchor) { (text) } }
}

/// A range with all figures and one in it, and some room.
fn span(figures: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = figures
        .fold((1.0, 1.0), |(low, high): (f64, f64), figure| (low.min(figure), high.max(figure)));
    let room = (high / low).powf(0.08).max(1.05);
    low / room..high * room
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_span_has_one_and_room() {
        let range = span([0.5, 0.8].into_iter());
        assert!(range.start < 0.5 && range.end > 1.0, "{range:?}");
        let range = span(std::iter::empty());
        assert!(range.start < 1.0 && range.end > 1.0, "{range:?}");
    }
}
