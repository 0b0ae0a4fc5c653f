//! The picture of time against memory: a mark for each peer.

use std::ops::Range;

use maud::{Markup, html};

use crate::page::figures::{counted, times};
use crate::page::frame::{Frame, Sheet, TITLE};
use crate::page::labels::{self, Anchor, Area, Line};
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
    let marks = together(marks);
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

/// A mark of one or several with the same figures.
#[derive(Debug)]
struct Place {
    names: String,
    look: Look,
    overall: Overall,
}

/// Those that have a place. Where one spec is meant for all kernels, it and the own spec have the
/// same.
fn together(marks: &[Mark]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for Mark { name, look, overall } in marks.iter().filter(|mark| mark.has_a_place()) {
        match places.iter_mut().find(|place| place.overall == *overall) {
            Some(place) => {
                place.names = format!("{}, {name}", place.names);
                place.look = if *look == Look::Own { *look } else { place.look };
            }
            None => {
                let (names, look, overall) = ((*name).to_owned(), *look, *overall);
                places.push(Place { names, look, overall });
            }
        }
    }
    places
}

impl Mark<'_> {
    fn has_a_place(&self) -> bool {
        let Overall { to_best, peak_to_leanest, .. } = self.overall;
        [to_best, peak_to_leanest].iter().all(|figure| figure.is_normal() && *figure > 0.0)
    }
}

impl Place {
    fn told(&self) -> String {
        let Overall { kernels, to_best, to_system, peak_to_leanest } = self.overall;
        let system = to_system.map_or(String::new(), |it| format!(", {} system", times(it)));
        format!(
            "{}: time {} best{system}; peak {} leanest; {}",
            self.names,
            times(to_best),
            times(peak_to_leanest),
            counted(kernels, "kernel"),
        )
    }

    /// As the sheet has room for it.
    fn label(&self, sheet: &Sheet) -> String {
        const LETTERS_MIN: u32 = 22;
        let letters = (sheet.width / FOR_A_LETTER).max(LETTERS_MIN);
        shortened(&self.names, letters as usize)
    }
}

const WIDE: Sheet =
    Sheet { width: 800, height: 484, right: 16, across: "time, × the best of the others" };
const NARROW: Sheet =
    Sheet { width: 352, height: 434, right: 8, across: "time, × the best of the others" };
const LINE: f64 = 15.0;
/// Pixels of a sheet for each letter that a label may have.
const FOR_A_LETTER: u32 = 27;

fn picture(marks: &[Place], sheet: &Sheet, class: &str) -> Markup {
    let range = |figure: fn(&Overall) -> f64| span(marks.iter().map(|it| figure(&it.overall)));
    let frame = Frame::logarithmic(*sheet, range(|it| it.to_best), range(|it| it.peak_to_leanest));
    let anchor = |mark: &Place| {
        let letters = mark.label(sheet).chars().count() as f64;
        let letter = if mark.look == Look::Other { LETTER } else { LETTER_BOLD };
        let at = frame.place(mark.overall.to_best, mark.overall.peak_to_leanest);
        Anchor { at, width: letters * letter + 4.0, height: LINE }
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
            text.axis x="4" y=(TITLE) { "peak memory, × the leanest of the others" }
            line.one x1=(one.0) x2=(one.0) y1=(top) y2=(bottom) {}
            line.one x1=(left) x2=(right) y1=(one.1) y2=(one.1) {}
            @for (anchor, label) in anchors.iter().zip(&labels) { (leader(anchor.leader(*label))) }
            @for ((mark, anchor), label) in marks.iter().zip(&anchors).zip(labels) {
                g.mark.(mark.look.class()) role="img" tabindex="0" {
                    title { (mark.told()) }
                    (mark.look.shape(anchor.at))
                    (name(&mark.label(sheet), anchor.at, label))
                }
            }
        }
    }
}

fn leader(line: Option<Line>) -> Markup {
    let Some(Line { from, to }) = line else { return Markup::default() };
    let (x1, y1, x2, y2) = (tenth(from.0), tenth(from.1), tenth(to.0), tenth(to.1));
    html! { line.leader x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} }
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
    use super::{Mark, span, together};
    use crate::page::marks::Look;
    use crate::summary::Overall;

    #[test]
    fn marks_of_the_same_figures_are_one() {
        let overall =
            |to_best: f64| Overall { kernels: 3, to_best, to_system: None, peak_to_leanest: 1.0 };
        let mark = |name, look, to_best| Mark { name, look, overall: overall(to_best) };
        let places = together(&[
            mark("hak-batch", Look::Hak, 0.5),
            mark("own spec", Look::Own, 0.5),
            mark("system", Look::System, 1.0),
            mark("nothing", Look::Other, 0.0),
        ]);
        let told: Vec<_> = places.iter().map(|it| (it.names.as_str(), it.look)).collect();
        assert_eq!(told, [("hak-batch, own spec", Look::Own), ("system", Look::System)]);
    }

    #[test]
    fn a_span_has_one_and_room() {
        let range = span([0.5, 0.8].into_iter());
        assert!(range.start < 0.5 && range.end > 1.0, "{range:?}");
        let range = span(std::iter::empty());
        assert!(range.start < 1.0 && range.end > 1.0, "{range:?}");
    }
}
