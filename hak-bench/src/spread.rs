//! Medians, and how sure they are.

/// The median of some figures, and bounds of what it would be with more of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// With [`CONFIDENCE`] the median of all runs there could be is not less.
    pub(crate) low: f64,
    /// … and not more.
    pub(crate) high: f64,
}

/// How often the bounds of a [`Spread`] hold, where there are enough figures (six).
pub(crate) const CONFIDENCE: f64 = 0.95;

impl Spread {
    /// Of at least one figure.
    ///
    /// The bounds are those of the sign test (Conover, Practical Nonparametric Statistics, chapter
    /// 3): each figure is above the true median with a chance of one half, whatever the figures'
    /// distribution is.
    pub(crate) fn of(mut figures: Vec<f64>) -> Spread {
        figures.sort_by(f64::total_cmp);
        let count = figures.len();
        let outside = outside(count);
        Spread {
            median: f64::midpoint(figures[(count - 1) / 2], figures[count / 2]),
            low: figures[outside],
            high: figures[count - 1 - outside],
        }
    }

    /// How far the bounds are from one, as a part of one: of a ratio of two equals.
    pub(crate) fn distance_from_one(self) -> f64 {
        (self.low - 1.0).abs().max((self.high - 1.0).abs())
    }
}

/// How many of the sorted figures may be left out at either end.
fn outside(count: usize) -> usize {
    let chance_beyond = (1.0 - CONFIDENCE) / 2.0;
    let mut chance = 0.5_f64.powi(count as i32);
    let mut sum = 0.0;
    for out in 0..count.div_ceil(2) {
        // The chance that exactly `out` of the figures lie on one side of the true median.
        sum += chance;
        if sum > chance_beyond {
            return out.saturating_sub(1);
        }
        chance *= (count - out) as f64 / (out + 1) as f64;
    }
    0
}

/// Ratio by ratio: a drift of the machine's speed touches both.
pub(crate) fn ratios(above: &[f64], below: &[f64]) -> Spread {
    Spread::of(above.iter().zip(below).map(|(above, below)| above / below).collect())
}

/// Of at least one positive figure.
pub(crate) fn geometric_mean(figures: &[f64]) -> f64 {
    (figures.iter().map(|figure| figure.ln()).sum::<f64>() / figures.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::{Spread, geometric_mean, ratios};

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert_eq!(Spread::of(vec![9.0, 3.0, 1.0, 2.0]).median, 2.5);
        assert_eq!(Spread::of(vec![9.0, 3.0, 1.0]).median, 3.0);
    }

    /// The bounds of the sign test's table: of 9 figures the second and the eighth, of 15 the
    /// fourth and the twelfth.
    #[test]
    fn bounds_are_those_of_the_sign_test() {
        let bounds = |count: u32| {
            let spread = Spread::of((1..=count).map(f64::from).collect());
            (spread.low, spread.high)
        };
        assert_eq!(bounds(1), (1.0, 1.0));
        assert_eq!(bounds(5), (1.0, 5.0));
        assert_eq!(bounds(6), (1.0, 6.0));
        assert_eq!(bounds(8), (1.0, 8.0));
        assert_eq!(bounds(9), (2.0, 8.0));
        assert_eq!(bounds(15), (4.0, 12.0));
        assert_eq!(bounds(20), (6.0, 15.0));
    }

    #[test]
    fn a_slow_moment_is_slow_for_both() {
        let spread = ratios(&[2.0, 20.0, 4.0], &[1.0, 10.0, 1.0]);
        assert_eq!((spread.median, spread.low, spread.high), (2.0, 2.0, 4.0));
    }

    #[test]
    fn a_half_and_a_double_are_one() {
        assert!((geometric_mean(&[0.5, 2.0]) - 1.0).abs() < 1e-12);
    }
}
