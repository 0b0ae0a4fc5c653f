//! Rounds over all kernels, each beside `general`, and each row's time as a ratio to it.

use std::time::Instant;

use super::kernels::{Kernel, NAMES};
use super::script::{self, LENGTH, Request};
use super::variants::{self, Variant};

/// Runs over the requests that are timed as one.
const RUNS: u32 = 250;
/// Runs before the first round.
const RUNS_BEFORE: u32 = 4;

/// Times of all rows.
pub(crate) struct Times {
    /// For each row, ratios to the row `general`, in the order of [`NAMES`].
    pub(crate) rows: Vec<[f64; NAMES.len()]>,
    /// Nanoseconds of an iteration on `general`.
    pub(crate) general: [f64; NAMES.len()],
    /// The ratios of the same spec under another name.
    pub(crate) noise: [Spread; NAMES.len()],
    pub(crate) rounds: u32,
}

/// A middle and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Times the rows, and at the end of each round `general` under its other name.
pub(crate) fn time(rows: &[&'static Variant], rounds: u32) -> Times {
    let requests = script::requests();
    let again = variants::general_again();
    let all: Vec<_> = rows.iter().copied().chain([again]).collect();
    let mut times = Times {
        rows: vec![[0.0; NAMES.len()]; rows.len()],
        general: [0.0; NAMES.len()],
        noise: [Spread::default(); NAMES.len()],
        rounds,
    };
    for (place, name) in NAMES.iter().enumerate() {
        eprintln!("timing `{name}`, {rounds} rounds of {} allocators", all.len());
        let general = variants::general().kernels.0[place];
        let kernels: Vec<_> = all.iter().map(|row| row.kernels.0[place]).collect();
        let rounds = rounds_over(general, &kernels, &requests, rounds);
        let ratios = ratios(&rounds);
        let of_general = rounds.iter().flatten().map(|sample| sample.general).collect();
        times.general[place] = spread(of_general).median;
        times.noise[place] = ratios[rows.len()];
        for (row, ratio) in times.rows.iter_mut().zip(&ratios) {
            row[place] = ratio.median;
        }
    }
    times
}

/// Nanoseconds of an iteration of a kernel, and on `general` right before it.
struct Sample {
    general: f64,
    row: f64,
}

/// For each round a sample of each kernel.
fn rounds_over(
    general: Kernel,
    kernels: &[Kernel],
    requests: &[Request],
    rounds: u32,
) -> Vec<Vec<Sample>> {
    for kernel in kernels {
        (0..RUNS_BEFORE).for_each(|_| kernel(requests));
    }
    let time = |kernel: Kernel| {
        let start = Instant::now();
        (0..RUNS).for_each(|_| kernel(requests));
        start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS) / LENGTH as f64
    };
    let sample = |kernel: &Kernel| Sample { general: time(general), row: time(*kernel) };
    (0..rounds).map(|_| kernels.iter().map(sample).collect()).collect()
}

/// For each kernel its ratio to `general`, pair by pair: a drift of the machine's speed touches
/// both.
fn ratios(rounds: &[Vec<Sample>]) -> Vec<Spread> {
    let of_place = |place: usize| {
        spread(rounds.iter().map(|round| round[place].row / round[place].general).collect())
    };
    (0..rounds[0].len()).map(of_place).collect()
}

/// Of at least one figure.
fn spread(mut figures: Vec<f64>) -> Spread {
    figures.sort_by(f64::total_cmp);
    let middle = (figures[(figures.len() - 1) / 2] + figures[figures.len() / 2]) / 2.0;
    Spread { median: middle, least: figures[0], most: figures[figures.len() - 1] }
}

#[cfg(test)]
mod tests {
    use super::{Sample, Spread, ratios, spread};

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        let expected = Spread { median: 2.5, least: 1.0, most: 9.0 };
        assert_eq!(spread(vec![9.0, 3.0, 1.0, 2.0]), expected);
        let expected = Spread { median: 3.0, least: 1.0, most: 9.0 };
        assert_eq!(spread(vec![9.0, 3.0, 1.0]), expected);
    }

    #[test]
    fn a_slow_moment_is_slow_for_both() {
        let pair = |general, row| vec![Sample { general, row }];
        let rounds = [pair(1.0, 2.0), pair(10.0, 20.0), pair(1.0, 4.0)];
        assert_eq!(ratios(&rounds), [Spread { median: 2.0, least: 2.0, most: 4.0 }]);
    }
}
