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

    fn touched(self, others: &[Area]) -> usize {
        others.iter().filter(|other| other.touches(self)).count()
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

    /// The line from the mark to its label, in small pieces.
    fn leader(&self, label: Area) -> impl Iterator<Item = Area> + use<> {
        const PIECE: f64 = 3.0;
        let (from, to) = (self.at, label.nearest(self.at));
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let length = across.hypot(down);
        let pieces = (((length - REACH) / PIECE).max(0.0)) as u32;
        (1..pieces).map(move |piece| {
            let part = (REACH + f64::from(piece) * PIECE) / length;
            Area::around((from.0 + across * part, from.1 + down * part), PIECE / 2.0)
        })
    }
}

/// -1, 0 or 1, and between them near the middle.
fn side(part: f64) -> f64 {
    (part * 2.0).clamp(-1.0, 1.0)
}

/// How far a mark keeps labels away.
const REACH: f64 = 7.0;

/// An area for each anchor's label: in the room, upon no mark and no other label, as near as that
/// can be, and as few lines from marks to labels crossed as can be. Where there is no such place,
/// the one upon the fewest.
pub(crate) fn around(anchors: &[Anchor], room: Area) -> Vec<Area> {
    let mut taken: Vec<Area> = anchors.iter().map(|it| Area::around(it.at, REACH)).collect();
    let mut leaders: Vec<Area> = Vec::new();
    let mut order: Vec<usize> = (0..anchors.len()).collect();
    // Whoever has the nearest neighbours chooses first.
    order.sort_by(|a, b| f64::total_cmp(&crowd(anchors, *b), &crowd(anchors, *a)));
    let mut labels: Vec<Area> = anchors.iter().map(|anchor| anchor.label(0, REACH)).collect();
    for at in order {
        let anchor = &anchors[at];
        let places = candidates(anchor).map(|place| place.moved_into(room));
        let harm = |place: &Area| {
            let crossed: usize = anchor.leader(*place).map(|piece| piece.touched(&taken)).sum();
            (place.touched(&taken), crossed + place.touched(&leaders))
        };
        // The first of equals is the nearest.
        labels[at] = places.min_by_key(harm).unwrap_or(labels[at]);
        leaders.extend(anchor.leader(labels[at]));
        taken.push(labels[at]);
    }
    labels
}

/// The nearer ones first; right, left, above and below before what lies between.
fn candidates(anchor: &Anchor) -> impl Iterator<Item = Area> {
    const DIRECTIONS: [u32; 16] = [0, 8, 12, 4, 14, 2, 10, 6, 15, 1, 9, 7, 13, 3, 11, 5];
    let rings = (0..24).map(|ring| REACH + 1.5 + f64::from(ring) * 6.0);
    rings.flat_map(|distance| DIRECTIONS.map(|direction| anchor.label(direction, distance)))
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
    use super::{Anchor, Area, REACH, around, stacked};

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
        }
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
