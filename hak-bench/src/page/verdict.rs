//! What is claimed of a ratio.

use crate::spread::Spread;
use crate::summary::NoNoise;

/// How a peer's time compares with the best peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Faster,
    /// No difference that is larger than the noise and surely there.
    Level,
    Slower,
    /// The noise floor is not known: nothing is claimed.
    Unknown,
}

impl Verdict {
    pub(crate) const ALL: [Verdict; 4] =
        [Verdict::Faster, Verdict::Level, Verdict::Slower, Verdict::Unknown];

    /// Of a ratio and the noise floor of its kernel. A difference is claimed where the ratio is
    /// further from one than the noise, and its bounds do not have one between them.
    pub(crate) fn of(ratio: Spread, noise: Result<f64, NoNoise>) -> Verdict {
        let Ok(noise) = noise else { return Verdict::Unknown };
        if ratio.high < 1.0 && 1.0 - ratio.median > noise {
            Verdict::Faster
        } else if ratio.low > 1.0 && ratio.median - 1.0 > noise {
            Verdict::Slower
        } else {
            Verdict::Level
        }
    }

    /// As a word of the page and a class of its style.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Level => "level",
            Verdict::Slower => "slower",
            Verdict::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;
    use crate::spread::Spread;
    use crate::summary::NoNoise;

    fn verdict(low: f64, median: f64, high: f64, noise: Result<f64, NoNoise>) -> Verdict {
        Verdict::of(Spread { median, low, high }, noise)
    }

    #[test]
    fn a_difference_is_larger_than_the_noise() {
        assert_eq!(verdict(0.85, 0.90, 0.95, Ok(0.05)), Verdict::Faster);
        assert_eq!(verdict(0.85, 0.90, 0.95, Ok(0.15)), Verdict::Level);
        assert_eq!(verdict(1.05, 1.10, 1.15, Ok(0.05)), Verdict::Slower);
        assert_eq!(verdict(1.05, 1.10, 1.15, Ok(0.15)), Verdict::Level);
    }

    #[test]
    fn a_difference_is_sure_to_be_there() {
        assert_eq!(verdict(0.85, 0.90, 1.01, Ok(0.05)), Verdict::Level);
        assert_eq!(verdict(0.99, 1.10, 1.15, Ok(0.05)), Verdict::Level);
    }

    #[test]
    fn nothing_is_claimed_without_a_noise_floor() {
        assert_eq!(verdict(0.1, 0.1, 0.1, Err(NoNoise::OneRound)), Verdict::Unknown);
    }
}
