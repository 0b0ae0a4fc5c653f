//! What the tables and the page show of a run: every figure that is made from several.

use crate::results::{Kernel, Peer, PeerKind, Results, Row, Sample};
use crate::spread::{Spread, geometric_mean, ratios};

/// One peer on one kernel, beside the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) row: &'a Row,
    /// Nanoseconds of an operation.
    pub(crate) time: Spread,
    /// Time as a multiple of the fastest peer's that is not hak's, round by round.
    pub(crate) to_best: Option<Spread>,
    /// Time as a multiple of the system allocator's, round by round.
    pub(crate) to_system: Option<Spread>,
    /// Bytes: the median of the rounds' peaks.
    pub(crate) peak: f64,
    /// Peak as a multiple of the leanest peer's that is not hak's.
    pub(crate) peak_to_leanest: Option<f64>,
}

impl Standing<'_> {
    /// Whether its figures have bounds: there are none of a single one.
    pub(crate) fn has_bounds(&self) -> bool {
        self.row.samples.len() > 1
    }
}

/// A kernel's peers that ran, the fastest first, and what is to be known to compare them.
#[derive(Debug, Clone)]
pub(crate) struct Comparison<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) standings: Vec<Standing<'a>>,
    /// The fastest peer that is not hak's.
    pub(crate) best: Option<&'a str>,
    /// The peer that is not hak's with the least peak.
    pub(crate) leanest: Option<&'a str>,
    /// How far the control's ratio to its twin may be from one, as a part of one. A smaller
    /// difference is not claimed, and none where it is not known.
    pub(crate) noise: Result<f64, NoNoise>,
}

/// Why a kernel has no noise floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoNoise {
    /// A single ratio does not tell how far others would be.
    OneRound,
    ControlFailed,
}

impl NoNoise {
    /// In a few words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            NoNoise::OneRound => "one round has no noise floor",
            NoNoise::ControlFailed => "the control failed",
        }
    }
}

impl<'a> Comparison<'a> {
    pub(crate) fn of(results: &'a Results, kernel: &'a Kernel) -> Comparison<'a> {
        let ran: Vec<(&Peer, &Row)> = results
            .peers
            .iter()
            .filter_map(|peer| Some((peer, kernel.row(&peer.name)?)))
            .filter(|(_, row)| !row.samples.is_empty())
            .collect();
        let least = |figure: fn(&Row) -> f64| {
            let others = ran.iter().filter(|(peer, _)| peer.kind != PeerKind::Hak);
            others.min_by(|(_, a), (_, b)| figure(a).total_cmp(&figure(b))).copied()
        };
        let best = least(|row| row.time().median);
        let leanest = least(Row::peak);
        let system = ran.iter().find(|(peer, _)| peer.kind == PeerKind::System);
        let standing = |&(peer, row): &(&'a Peer, &'a Row)| Standing {
            peer,
            row,
            time: row.time(),
            to_best: best.map(|(_, best)| ratios(&row.times(), &best.times())),
            to_system: system.map(|(_, system)| ratios(&row.times(), &system.times())),
            peak: row.peak(),
            peak_to_leanest: leanest.map(|(_, leanest)| row.peak() / leanest.peak()),
        };
        let mut standings: Vec<_> = ran.iter().map(standing).collect();
        standings.sort_by(|a, b| a.time.median.total_cmp(&b.time.median));
        Comparison {
            kernel,
            standings,
            best: best.map(|(peer, _)| peer.name.as_str()),
            leanest: leanest.map(|(peer, _)| peer.name.as_str()),
            noise: kernel.noise(),
        }
    }

    pub(crate) fn standing(&self, peer: &str) -> Option<&Standing<'a>> {
        self.standings.iter().find(|standing| standing.peer.name == peer)
    }

    /// Whether the hak peer whose spec is meant for this kernel is among the peers.
    pub(crate) fn own_is_asked_for(&self) -> bool {
        self.kernel.row(&self.kernel.own).is_some()
    }

    /// The hak peer whose spec is meant for this kernel.
    pub(crate) fn own(&self) -> Option<&Standing<'a>> {
        self.standing(&self.kernel.own)
    }
}

/// One peer over all kernels on which it ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Overall {
    /// Kernels.
    pub(crate) kernels: usize,
    /// Geometric mean of the times as multiples of each kernel's best peer.
    pub(crate) to_best: f64,
    /// Geometric mean of the times as multiples of the system's.
    pub(crate) to_system: Option<f64>,
    /// Geometric mean of the peaks as multiples of each kernel's leanest peer.
    pub(crate) peak_to_leanest: f64,
}

impl Overall {
    /// Nothing where none of the standings has a peer to compare with.
    pub(crate) fn of(standings: &[&Standing]) -> Option<Overall> {
        let times: Vec<_> = standings.iter().filter_map(|it| Some(it.to_best?.median)).collect();
        let peaks: Vec<_> = standings.iter().filter_map(|it| it.peak_to_leanest).collect();
        let system: Vec<_> = standings.iter().filter_map(|it| Some(it.to_system?.median)).collect();
        (!times.is_empty()).then(|| Overall {
            kernels: times.len(),
            to_best: geometric_mean(&times),
            to_system: (!system.is_empty()).then(|| geometric_mean(&system)),
            peak_to_leanest: geometric_mean(&peaks),
        })
    }
}

/// Every kernel's comparison.
pub(crate) fn comparisons(results: &Results) -> Vec<Comparison<'_>> {
    results.kernels.iter().map(|kernel| Comparison::of(results, kernel)).collect()
}

/// One peer over all kernels.
pub(crate) fn overall(comparisons: &[Comparison], peer: &str) -> Option<Overall> {
    Overall::of(&comparisons.iter().filter_map(|it| it.standing(peer)).collect::<Vec<_>>())
}

/// On each kernel the hak peer whose spec is meant for it.
pub(crate) fn overall_own(comparisons: &[Comparison]) -> Option<Overall> {
    Overall::of(&comparisons.iter().filter_map(Comparison::own).collect::<Vec<_>>())
}

impl Kernel {
    pub(crate) fn row(&self, peer: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.peer == peer)
    }

    /// See [`Comparison::noise`].
    fn noise(&self) -> Result<f64, NoNoise> {
        let twin = self.row(&self.control.of).ok_or(NoNoise::ControlFailed)?;
        let again = Sample::times(&self.control.samples);
        match again.len() {
            0 => Err(NoNoise::ControlFailed),
            rounds if rounds != twin.samples.len() => Err(NoNoise::ControlFailed),
            1 => Err(NoNoise::OneRound),
            _ => Ok(ratios(&again, &twin.times()).distance_from_one()),
        }
    }
}

impl Row {
    pub(crate) fn times(&self) -> Vec<f64> {
        Sample::times(&self.samples)
    }

    /// Of at least one sample.
    pub(crate) fn time(&self) -> Spread {
        Spread::of(self.times())
    }

    /// Bytes: the median of the rounds' peaks, of at least one sample.
    pub(crate) fn peak(&self) -> f64 {
        self.median(|sample| sample.peak_resident_bytes as f64)
    }

    /// Of at least one sample.
    pub(crate) fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        Spread::of(self.samples.iter().map(figure).collect()).median
    }
}

impl Sample {
    fn times(samples: &[Sample]) -> Vec<f64> {
        samples.iter().map(|sample| sample.nanoseconds).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Comparison, NoNoise, comparisons};
    use crate::page::made_up;
    use crate::results::Results;

    /// Made-up results of so many rounds.
    pub(crate) fn rounds(count: usize) -> Results {
        let mut results = made_up::results();
        results.rounds = count;
        for kernel in &mut results.kernels {
            kernel.rows.iter_mut().for_each(|row| row.samples.truncate(count));
            kernel.control.samples.truncate(count);
        }
        results
    }

    #[test]
    fn one_round_has_no_noise_floor() {
        let noise = |count: usize, kernel: &str| {
            let results = rounds(count);
            let all = comparisons(&results);
            let found = all.iter().find(|it| it.kernel.name == kernel);
            found.map(|it: &Comparison| it.noise).unwrap()
        };
        assert_eq!(noise(1, "pair"), Err(NoNoise::OneRound));
        assert!(noise(2, "pair").unwrap() > 0.0);
        assert_eq!(noise(9, "mixed-32k"), Err(NoNoise::ControlFailed));
    }
}
