//! Results from a file, which somebody may have changed.
//!
//! What is shown is made from ratios and medians: here is tested that there is something to make
//! them from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Kernel, Results, Row, SCHEMA, Sample};
use crate::counters::file::COUNTS;
use crate::failure::Failure;

/// What every form of results has, and how counts are known that are older than kinds.
#[derive(Deserialize)]
struct Form {
    schema: u32,
    kind: Option<String>,
    rows: Option<IgnoredAny>,
}

/// Nanoseconds of an operation: less or more has not been measured, and would have ratios that are
/// no numbers.
const NANOSECONDS_MIN: f64 = 1e-6;
const NANOSECONDS_MAX: f64 = 1e15;
const SECONDS_MAX: f64 = 1e9;

impl Results {
    /// From a file that [`run`] or `preload` wrote. An error says what is wrong, and where.
    ///
    /// [`run`]: crate::options::Command::Run
    pub(crate) fn read(path: &Path) -> Result<Results, Failure> {
        let shown = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::could_not(format!("read {shown}"), error))?;
        parsed(&text).map_err(|why| Failure::Failed(format!("{shown} {why}")))
    }
}

/// An error goes on behind the file's name.
fn parsed(text: &str) -> Result<Results, String> {
    let wrong = |why: &str| format!("does not hold results of hak-bench: {why}");
    // First, since what another form has would be missed in this one.
    let form: Form = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    match form.kind.as_deref() {
        Some("times") => {}
        None if form.rows.is_none() => {}
        None | Some(COUNTS) => {
            return Err("holds counts of `hak-bench counters` or `plan`; what can be shown again \
                        are results of `run` and of `preload`"
                .to_owned());
        }
        Some(kind) => return Err(format!("holds `{kind}`, which this hak-bench does not know")),
    }
    if form.schema != SCHEMA {
        let form = form.schema;
        return Err(format!("has the form {form}; this hak-bench reads {SCHEMA}"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let results: Results = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (place, why) = (error.path().to_string(), error.inner());
        // It says "." for the whole.
        if place == "." { wrong(&why.to_string()) } else { format!("is wrong at `{place}`: {why}") }
    })?;
    sound(&results).map_err(|Fault { place, why }| format!("is wrong at `{place}`: {why}"))?;
    Ok(results)
}

/// What is wrong, and where it stands in the file.
struct Fault {
    place: String,
    why: String,
}

fn fault<T>(place: impl Into<String>, why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { place: place.into(), why: why.into() })
}

impl Fault {
    /// In what stands at a place.
    fn inside(self, outer: &str) -> Fault {
        let Fault { place, why } = self;
        let dot = if place.is_empty() || place.starts_with('[') { "" } else { "." };
        Fault { place: format!("{outer}{dot}{place}"), why }
    }
}

fn sound(results: &Results) -> Result<(), Fault> {
    let Results { rounds, peers, kernels, .. } = results;
    different("peers", peers.iter().map(|peer| peer.name.as_str()))?;
    different("kernels", kernels.iter().map(|kernel| kernel.name.as_str()))?;
    if *rounds == 0 {
        return fault("rounds", "there are none, and so nothing to show");
    }
    if let Some(asked) = results.rounds_asked.filter(|asked| asked < rounds) {
        let why = format!("{asked} are fewer than the {rounds} that there are");
        return fault("rounds_asked", why);
    }
    for (at, kernel) in kernels.iter().enumerate() {
        kernel_is_sound(results, kernel).map_err(|it| it.inside(&format!("kernels[{at}]")))?;
    }
    Ok(())
}

/// There are some, and they can be told apart.
fn different<'a>(place: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for (at, name) in names.enumerate() {
        if !seen.insert(name) {
            return fault(format!("{place}[{at}].name"), format!("`{name}` was there before"));
        }
    }
    if seen.is_empty() { fault(place, "there are none, and so nothing to show") } else { Ok(()) }
}

fn kernel_is_sound(results: &Results, kernel: &Kernel) -> Result<(), Fault> {
    let Results { rounds, peers, .. } = results;
    if kernel.rows.len() != peers.len() {
        let (rows, peers) = (kernel.rows.len(), peers.len());
        return fault("rows", format!("there are {rows}, and {peers} peers"));
    }
    for (at, (row, peer)) in kernel.rows.iter().zip(peers).enumerate() {
        if row.peer != peer.name {
            let why = format!("`{}` stands where the peers have `{}`", row.peer, peer.name);
            return fault(format!("rows[{at}].peer"), why);
        }
        row_is_sound(row, *rounds).map_err(|it| it.inside(&format!("rows[{at}]")))?;
    }
    let control = &kernel.control;
    if kernel.row(&control.of).is_none() {
        return fault("control.of", format!("`{}` is none of the peers", control.of));
    }
    match control.samples.as_slice() {
        // It failed.
        [] => Ok(()),
        samples => samples_are_sound(samples, *rounds).map_err(|it| it.inside("control.samples")),
    }
}

fn row_is_sound(row: &Row, rounds: usize) -> Result<(), Fault> {
    match (row.samples.as_slice(), &row.failure) {
        ([], Some(_)) => Ok(()),
        ([], None) => fault("samples", "there are none, and no `failure` says why"),
        (_, Some(_)) => fault("failure", "there are `samples` as well"),
        (samples, None) => samples_are_sound(samples, rounds).map_err(|it| it.inside("samples")),
    }
}

fn samples_are_sound(samples: &[Sample], rounds: usize) -> Result<(), Fault> {
    if samples.len() != rounds {
        let count = samples.len();
        return fault("", format!("there are {count}, and `rounds` are {rounds}"));
    }
    for (at, sample) in samples.iter().enumerate() {
        sample_is_sound(sample).map_err(|it| it.inside(&format!("[{at}]")))?;
    }
    Ok(())
}

fn sample_is_sound(sample: &Sample) -> Result<(), Fault> {
    let within = |place: &str, figure: f64, least: f64, most: f64| {
        let why = format!("{figure} is not within {least} and {most}");
        if (least..=most).contains(&figure) { Ok(()) } else { fault(place, why) }
    };
    within("nanoseconds", sample.nanoseconds, NANOSECONDS_MIN, NANOSECONDS_MAX)?;
    within("user_seconds", sample.user_seconds, 0.0, SECONDS_MAX)?;
    within("system_seconds", sample.system_seconds, 0.0, SECONDS_MAX)?;
    if sample.peak_resident_bytes == 0 {
        return fault("peak_resident_bytes", "every process has some");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{NANOSECONDS_MAX, NANOSECONDS_MIN, Results, parsed};
    use crate::page;
    use crate::summary::tests::rounds;
    use crate::terminal::Room;
    use crate::{markdown, terminal};

    /// Two rounds of two kernels.
    fn results() -> Value {
        let mut results = rounds(2);
        results.kernels.truncate(2);
        serde_json::to_value(results).unwrap()
    }

    /// Puts a value at a place, and says what is wrong then.
    fn why(place: &str, value: Value) -> String {
        let mut results = results();
        *results.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        parsed(&results.to_string()).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let none = "there are none, and so nothing to show";
        let sample = results()["kernels"][0]["rows"][0]["samples"][0].clone();
        let peers = results()["peers"].as_array().unwrap().len();
        for (place, value, expected) in [
            ("/peers", json!([]), format!("peers`: {none}")),
            ("/kernels", json!([]), format!("kernels`: {none}")),
            ("/rounds", json!(0), format!("rounds`: {none}")),
            ("/peers/1/name", json!("system"), "peers[1].name`: `system` was there before".into()),
            (
                "/kernels/1/rows",
                json!([]),
                format!("kernels[1].rows`: there are 0, and {peers} peers"),
            ),
            (
                "/kernels/1/rows/2/peer",
                json!("x"),
                "kernels[1].rows[2].peer`: `x` stands where the peers have `mimalloc3`".into(),
            ),
            (
                "/kernels/0/rows/3/samples",
                json!([]),
                "kernels[0].rows[3].samples`: there are none, and no `failure` says why".into(),
            ),
            (
                "/kernels/0/rows/3/failure",
                json!("ended"),
                "kernels[0].rows[3].failure`: there are `samples` as well".into(),
            ),
            (
                "/kernels/0/rows/3/samples",
                json!([sample]),
                "kernels[0].rows[3].samples`: there are 1, and `rounds` are 2".into(),
            ),
            (
                "/kernels/0/rows/3/samples/1/nanoseconds",
                json!(0.0),
                "kernels[0].rows[3].samples[1].nanoseconds`: 0 is not within 0.000001 and 1".into(),
            ),
            (
                "/kernels/0/control/samples/1/peak_resident_bytes",
                json!(0),
                "kernels[0].control.samples[1].peak_resident_bytes`: every process has some".into(),
            ),
            (
                "/kernels/0/control/of",
                json!("x"),
                "kernels[0].control.of`: `x` is none of the peers".into(),
            ),
            (
                "/kernels/0/rows/3/samples/1/user_seconds",
                json!(null),
                "kernels[0].rows[3].samples[1].user_seconds`: invalid type: null".into(),
            ),
            ("/peers/0/kind", json!("x"), "peers[0].kind`: unknown variant `x`".into()),
        ] {
            let why = why(place, value);
            assert!(why.starts_with(&format!("is wrong at `{expected}")), "{why}");
        }
    }

    #[test]
    fn counts_are_no_times() {
        let counts = |kind: Value| {
            let file = json!({ "schema": 1, "kind": kind, "kernel": "pair", "rows": [] });
            parsed(&file.to_string()).unwrap_err()
        };
        for kind in [json!("counts"), json!(null)] {
            assert!(counts(kind).starts_with("holds counts of `hak-bench counters` or `plan`;"));
        }
        assert_eq!(counts(json!("x")), "holds `x`, which this hak-bench does not know");
        assert_eq!(why("/schema", json!(7)), "has the form 7; this hak-bench reads 1");
        assert!(parsed("[1]").unwrap_err().starts_with("does not hold results of hak-bench: "));
        assert!(parsed("{}").unwrap_err().contains("missing field `schema`"));
    }

    /// Files from before kinds, and before runs that were interrupted.
    #[test]
    fn older_files_are_read() {
        let mut older = results();
        let keys = older.as_object_mut().unwrap();
        for key in ["kind", "reached"] {
            assert!(keys.remove(key).is_some(), "{key}");
        }
        assert!(!keys.contains_key("rounds_asked"));
        assert_eq!(parsed(&older.to_string()).unwrap(), parsed(&results().to_string()).unwrap());
    }

    /// Figures that nobody has measured, but that are read.
    #[test]
    fn nothing_is_shown_that_is_no_number() {
        let mut results: Results = serde_json::from_value(results()).unwrap();
        for (at, row) in results.kernels[0].rows.iter_mut().enumerate() {
            let (most, bytes) =
                if at % 2 == 0 { (NANOSECONDS_MAX, u64::MAX) } else { (NANOSECONDS_MIN, 1) };
            row.samples.iter_mut().for_each(|it| {
                (it.nanoseconds, it.peak_resident_bytes, it.minor_faults) = (most, bytes, bytes);
            });
            for point in &mut row.resident {
                (point.milliseconds, point.bytes) = (bytes, bytes);
            }
        }
        let text = serde_json::to_string(&results).unwrap();
        let results = parsed(&text).unwrap();
        let mut shown = vec![terminal::report(&results, Room::Other), page::render(&results)];
        for table in ["run", "peers", "kernels", "overall", "time", "memory", "targets"] {
            let page = format!("<!-- table: {table} -->\n<!-- end -->\n");
            shown.push(markdown::filled(&page, &results).unwrap());
        }
        for text in shown {
            let is_number = |word: &&str| ["NaN", "inf", "-inf"].contains(word);
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
            assert_eq!(words.filter(is_number).count(), 0, "{text}");
        }
    }
}
