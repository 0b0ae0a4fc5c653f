//! Places for labels, so that none lies upon another.

/// A rectangle, in units of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    fn around((x, y): (f64, f64), reach: f64) -> Area {
        Area { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }
    }

    fn touches(self, other: Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether a line has a piece inside.
    fn meets(self, line: Line) -> bool {
        let Line { from, to } = line;
        let (mut begin, mut end): (f64, f64) = (0.0, 1.0);
        // What is left of the line within two sides, and within the other two.
        let sides = [(from.0, to.0, self.left, self.right), (from.1, to.1, self.top, self.bottom)];
        for (from, to, low, high) in sides {
            let length = to - from;
            if length.abs() < 1e-9 {
                if from <= low || from >= high {
                    return false;
                }
                continue;
            }
            let (one, other) = ((low - from) / length, (high - from) / length);
            begin = begin.max(one.min(other));
            end = end.min(one.max(other));
        }
        begin < end
    }

    /// As far as it must be; where it is larger than the room, it begins with it.
    fn moved_into(self, room: Area) -> Area {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        let left = self.left.min(room.right - width).max(room.left);
        let top = self.top.min(room.bottom - height).max(room.top);
        Area { left, top, right: left + width, bottom: top + height }
    }

    /// The place of it that is nearest to a point.
    pub(crate) fn nearest(self, (x, y): (f64, f64)) -> (f64, f64) {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }
}

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
}

impl Line {
    fn crosses(self, other: Line) -> bool {
        let side = |line: Line, (x, y): (f64, f64)| {
            let (across, down) = (line.to.0 - line.from.0, line.to.1 - line.from.1);
            across * (y - line.from.1) - down * (x - line.from.0) > 0.0
        };
        side(self, other.from) != side(self, other.to)
            && side(other, self.from) != side(other, self.to)
    }
}

/// A mark of a scatter and how large its label is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    pub(crate) at: (f64, f64),
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Anchor {
    /// The label's box in a direction of so many sixteenths of a turn, so far from the mark.
    fn label(&self, sixteenths: u32, distance: f64) -> Area {
        let angle = f64::from(sixteenths) * std::f64::consts::TAU / 16.0;
        let (across, down) = (angle.cos(), angle.sin());
        // The middle is where the box's side or corner comes as near as the distance.
        let x = self.at.0 + across * distance + self.width / 2.0 * side(across);
        let y = self.at.1 + down * distance + self.height / 2.0 * side(down);
        Area {
            left: x - self.width / 2.0,
            top: y - self.height / 2.0,
            right: x + self.width / 2.0,
            bottom: y + self.height / 2.0,
        }
    }

    /// From the mark to a label that is not right beside it.
    pub(crate) fn leader(&self, label: Area) -> Option<Line> {
        const FAR: f64 = 12.0;
        let to = label.nearest(self.at);
        let is_far = (to.0 - self.at.0).hypot(to.1 - self.at.1) > FAR;
        is_far.then_some(Line { from: self.at, to })
    }
}

/// -1, 0 or 1, and between them near the middle.
fn side(part: f64) -> f64 {
    (part * 2.0).clamp(-1.0, 1.0)
}

/// How far a mark keeps labels away.
const REACH: f64 = 7.0;

/// What is in the way of a label, in pixels that it may be further away instead.
const UPON_A_LABEL: f64 = 2000.0;
const UPON_A_MARK: f64 = 1000.0;
const LINE_THROUGH_A_LABEL: f64 = 300.0;
const LINE_THROUGH_A_MARK: f64 = 120.0;
const LINES_CROSSED: f64 = 60.0;

/// An area for each anchor's label: in the room, upon no mark and no other label, with no line from
/// a mark to its label through another, and as near as that can be. Where there is no such place,
/// the one with the least in its way.
pub(crate) fn around(anchors: &[Anchor], room: Area) -> Vec<Area> {
    /// Labels that were placed later may have left room for a better place.
    const PASSES: usize = 6;
    let mut order: Vec<usize> = (0..anchors.len()).collect();
    // Whoever has the nearest neighbours chooses first.
    order.sort_by(|a, b| f64::total_cmp(&crowd(anchors, *b), &crowd(anchors, *a)));
    let mut labels: Vec<Option<Area>> = vec![None; anchors.len()];
    for _ in 0..PASSES {
        let before = labels.clone();
        for &at in &order {
            let places = candidates(&anchors[at], room);
            let rated =
                places.map(|(place, rank)| (place, cost(anchors, &labels, at, place) + rank));
            // The first of equals is the nearest.
            let best = rated.min_by(|(_, a), (_, b)| a.total_cmp(b));
            labels[at] = best.map(|(place, _)| place);
        }
        if labels == before {
            break;
        }
    }
    let beside = |(anchor, label): (&Anchor, Option<Area>)| label.unwrap_or(anchor.label(0, REACH));
    anchors.iter().zip(labels).map(beside).collect()
}

/// What is in the way of a label at a place.
fn cost(anchors: &[Anchor], labels: &[Option<Area>], at: usize, place: Area) -> f64 {
    let leader = anchors[at].leader(place);
    let mut cost = 0.0;
    let mut add = |is_so: bool, pixels: f64| cost += if is_so { pixels } else { 0.0 };
    for (number, (anchor, label)) in anchors.iter().zip(labels).enumerate() {
        let mark = Area::around(anchor.at, REACH);
        add(mark.touches(place), UPON_A_MARK);
        if number == at {
            continue;
        }
        add(leader.is_some_and(|line| mark.meets(line)), LINE_THROUGH_A_MARK);
        let Some(label) = *label else { continue };
        add(label.touches(place), UPON_A_LABEL);
        add(leader.is_some_and(|line| label.meets(line)), LINE_THROUGH_A_LABEL);
        let Some(other) = anchor.leader(label) else { continue };
        add(place.meets(other), LINE_THROUGH_A_LABEL);
        add(leader.is_some_and(|line| line.crosses(other)), LINES_CROSSED);
    }
    cost
}

/// Places, the nearer ones first; right, left, above and below before what lies between. With each
/// how much worse it is than the first, in pixels.
fn candidates(anchor: &Anchor, room: Area) -> impl Iterator<Item = (Area, f64)> {
    const DIRECTIONS: [u32; 16] = [0, 8, 12, 4, 14, 2, 10, 6, 15, 1, 9, 7, 13, 3, 11, 5];
    let rings = (0..24).map(|ring| REACH + 1.5 + f64::from(ring) * 6.0);
    rings.flat_map(move |distance| {
        (0_u32..).zip(DIRECTIONS).map(move |(rank, direction)| {
            let place = anchor.label(direction, distance).moved_into(room);
            (place, distance + f64::from(rank) / 4.0)
        })
    })
}

fn crowd(anchors: &[Anchor], at: usize) -> f64 {
    let (x, y) = anchors[at].at;
    let near = |other: &Anchor| 1.0 / (1.0 + (other.at.0 - x).hypot(other.at.1 - y));
    anchors.iter().map(near).sum()
}

/// Heights near the wished ones, in any order, that are at least `apart`; between `top` and
/// `bottom` where they have room there.
pub(crate) fn stacked(wished: &[f64], apart: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wished.len()).collect();
    order.sort_by(|a, b| wished[*a].total_cmp(&wished[*b]));
    let mut heights = wished.to_vec();
    let mut least = top;
    for &at in &order {
        heights[at] = heights[at].max(least);
        least = heights[at] + apart;
    }
    let mut most = bottom;
    for &at in order.iter().rev() {
        heights[at] = heights[at].min(most);
        most = heights[at] - apart;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::{Anchor, Area, Line, REACH, around, stacked};

    const ROOM: Area = Area { left: 0.0, top: 0.0, right: 600.0, bottom: 400.0 };

    fn anchor(x: f64, y: f64) -> Anchor {
        Anchor { at: (x, y), width: 80.0, height: 14.0 }
    }

    #[test]
    fn labels_lie_upon_nothing() {
        let mut random = fastrand::Rng::with_seed(7);
        // A crowd in the middle, and one in a corner.
        let mut near = |x: f64, y: f64| anchor(x + random.f64() * 60.0, y + random.f64() * 40.0);
        let mut anchors: Vec<_> = (0..10).map(|_| near(280.0, 180.0)).collect();
        anchors.extend((0..5).map(|_| near(10.0, 350.0)));
        let labels = around(&anchors, ROOM);
        assert_eq!(labels.len(), anchors.len());
        for (at, label) in labels.iter().enumerate() {
            assert_eq!(label.moved_into(ROOM), *label);
            assert!(!labels[..at].iter().any(|other| other.touches(*label)), "{label:?}");
            for mark in &anchors {
                assert!(!Area::around(mark.at, REACH).touches(*label), "{label:?} {mark:?}");
            }
            let leader = anchors[at].leader(*label);
            for other in labels.iter().filter(|other| *other != label) {
                assert!(!leader.is_some_and(|line| other.meets(line)), "{leader:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_line_meets_what_it_goes_through() {
        let area = Area { left: 10.0, top: 10.0, right: 20.0, bottom: 20.0 };
        let line = |from, to| Line { from, to };
        for (from, to, meets) in [
            ((0.0, 15.0), (30.0, 15.0), true),
            ((0.0, 15.0), (9.0, 15.0), false),
            ((0.0, 0.0), (15.0, 15.0), true),
            ((15.0, 0.0), (15.0, 30.0), true),
            ((21.0, 0.0), (21.0, 30.0), false),
            ((0.0, 25.0), (15.0, 22.0), false),
        ] {
            assert_eq!(area.meets(line(from, to)), meets, "{from:?} {to:?}");
        }
        let across = line((0.0, 5.0), (10.0, 5.0));
        assert!(across.crosses(line((5.0, 0.0), (5.0, 10.0))));
        assert!(!across.crosses(line((5.0, 6.0), (5.0, 10.0))));
    }

    #[test]
    fn one_alone_stands_right_of_its_mark() {
        let label = around(&[anchor(100.0, 100.0)], ROOM)[0];
        assert!(label.left > 100.0 && label.left < 112.0, "{label:?}");
        assert_eq!((label.top, label.bottom), (93.0, 107.0));
    }

    #[test]
    fn a_room_that_is_too_small_has_a_place_too() {
        let room = Area { left: 10.0, top: 10.0, right: 90.0, bottom: 20.0 };
        let labels = around(&[anchor(15.0, 15.0), anchor(16.0, 16.0)], room);
        assert!(labels.iter().all(|label| (label.left, label.top) == (10.0, 10.0)), "{labels:?}");
    }

    #[test]
    fn heights_keep_their_order_and_distance() {
        let heights = stacked(&[50.0, 10.0, 52.0, 12.0], 14.0, 0.0, 100.0);
        assert_eq!(heights, [50.0, 10.0, 64.0, 24.0]);
        // At the bottom they move up.
        assert_eq!(stacked(&[98.0, 99.0], 14.0, 0.0, 100.0), [86.0, 100.0]);
    }
}
