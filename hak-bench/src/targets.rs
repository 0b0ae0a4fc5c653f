//! What hak shall reach beside preloaded libraries, and whether it does.

use crate::summary::{self, Comparison, Standing};

/// Times as multiples of each program's fastest other library: the geometric mean, and the most.
const MEAN_TIME: f64 = 1.0;
const MOST_TIME: f64 = 1.1;
/// Peaks as multiples of each program's leanest other library: the geometric mean.
const MEAN_PEAK: f64 = 1.0;

/// The head of the rows.
pub(crate) const HEAD: [&str; 4] = ["target of the own spec", "at most", "found", "verdict"];

/// A row for each target; none where there is nothing to compare with.
pub(crate) fn rows(comparisons: &[Comparison]) -> Vec<[String; 4]> {
    let Some(overall) = summary::overall_own(comparisons) else { return Vec::new() };
    let time = |standing: &Standing| standing.to_best.map(|ratio| ratio.median);
    let slowest = comparisons
        .iter()
        .filter_map(|it| Some((it.kernel.name.as_str(), time(it.own()?)?, it.noise)))
        .max_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
    let mut rows = vec![row("time × best, geometric mean", MEAN_TIME, overall.to_best, "")];
    rows.extend(slowest.map(|(name, ratio, noise)| {
        let noise = noise.map_or("–".to_owned(), |it| format!("{:.0} %", it * 100.0));
        row("time × best, slowest", MOST_TIME, ratio, &format!(" ({name}, noise {noise})"))
    }));
    rows.push(row("peak × leanest, geometric mean", MEAN_PEAK, overall.peak_to_leanest, ""));
    let without = comparisons.iter().filter(|it| it.own().is_none());
    let (failed, not_asked_for): (Vec<_>, Vec<_>) = without.partition(|it| it.own_is_asked_for());
    let mut missing = |what: &str, limit: &str, count: usize, verdict: &str| {
        if count > 0 {
            let of = format!("{count} of {}", comparisons.len());
            rows.push([what, limit, &of, verdict].map(str::to_owned));
        }
    };
    missing("programs without figures of it", "0", failed.len(), "missed");
    missing("programs whose own spec is no peer", "–", not_asked_for.len(), "–");
    rows
}

fn row(what: &str, limit: f64, found: f64, where_found: &str) -> [String; 4] {
    let verdict = if found <= limit { "met" } else { "missed" };
    let found = format!("{found:.2}{where_found}");
    [what.to_owned(), format!("{limit:.2}"), found, verdict.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::rows;
    use crate::results::{
        Control, Kernel, Kind, Peer, PeerKind, Reached, Results, Row, SCHEMA, Sample,
    };
    use crate::summary::comparisons;

    fn sample(nanoseconds: f64, peak_resident_bytes: u64) -> Sample {
        Sample {
            nanoseconds,
            peak_resident_bytes,
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            user_seconds: 0.0,
            system_seconds: 0.0,
        }
    }

    fn kernel(name: &str, own: &[Sample], system: Sample) -> Kernel {
        let text = String::new;
        let row = |peer: &str, samples: &[Sample]| Row {
            peer: peer.to_owned(),
            samples: samples.to_vec(),
            failure: None,
            resident: Vec::new(),
        };
        Kernel {
            name: name.to_owned(),
            group: text(),
            about: text(),
            operation: text(),
            own: "hak-general".to_owned(),
            rows: vec![row("system", &[system]), row("hak-general", own)],
            control: Control { of: "hak-general".to_owned(), samples: own.to_vec() },
        }
    }

    fn results(kernels: Vec<Kernel>) -> Results {
        let text = String::new;
        let peer = |name: &str, kind| {
            let name = name.to_owned();
            Peer { name, version: text(), about: text(), kind, text_bytes: 0 }
        };
        Results {
            schema: SCHEMA,
            kind: Kind::Times,
            machine: text(),
            compiler: text(),
            commit: text(),
            command: text(),
            reached: Reached::Preloaded,
            rounds: 1,
            rounds_asked: None,
            peers: vec![peer("system", PeerKind::System), peer("hak-general", PeerKind::Hak)],
            kernels,
        }
    }

    fn verdicts(kernels: Vec<Kernel>) -> Vec<[String; 2]> {
        let results = results(kernels);
        let rows = rows(&comparisons(&results));
        rows.into_iter().map(|[_, _, found, verdict]| [found, verdict]).collect()
    }

    #[test]
    fn a_mean_may_be_met_where_one_program_is_not() {
        let kernels = vec![
            kernel("sort", &[sample(0.5, 200)], sample(1.0, 100)),
            kernel("perl", &[sample(1.2, 100)], sample(1.0, 100)),
        ];
        let expected = [["0.77", "met"], ["1.20 (perl, noise –)", "missed"], ["1.41", "missed"]];
        assert_eq!(verdicts(kernels), expected);
    }

    #[test]
    fn what_did_not_run_meets_nothing() {
        let kernels = vec![
            kernel("sort", &[sample(1.0, 100)], sample(1.0, 100)),
            kernel("perl", &[], sample(1.0, 100)),
        ];
        let verdicts = verdicts(kernels);
        assert_eq!(verdicts[..3].iter().map(|it| &it[1]).collect::<Vec<_>>(), ["met"; 3]);
        assert_eq!(verdicts[3], ["1 of 2", "missed"]);
        assert!(super::rows(&[]).is_empty());
    }

    #[test]
    fn what_nobody_asked_for_is_not_missed() {
        let mut kernels = vec![
            kernel("sort", &[sample(1.0, 100)], sample(1.0, 100)),
            kernel("perl", &[sample(1.0, 100)], sample(1.0, 100)),
        ];
        kernels[1].own = "hak-batch".to_owned();
        let verdicts = verdicts(kernels);
        assert_eq!((verdicts.len(), &verdicts[3]), (4, &["1 of 2".to_owned(), "–".to_owned()]));
    }
}
