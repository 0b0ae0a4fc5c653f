//! The figures as JSON.

use serde::Serialize;

use crate::asked::Asked;

use super::taken::{Figures, Row, Taken};

/// What `--help` says of the file.
pub(crate) const KEYS: &str = "\
Keys of the JSON file:
  schema        1; a change of a key's meaning is another number
  kind          \"counts\"
  kernel        name of the kernel
  numbers       its parameters, in their order
  operation     what one operation is
  simulator     what counted: name and version
  caches        the caches that it simulates
  rows          a table for each peer or step:
    name          of the peer or step
    failure       why there are no figures; null where there are
    figures       null where there are none, or, of the timed part as a whole:
      operations    how often the operation was done
      instructions  executed instructions
      branches      executed conditional branches
      mispredicted  those of them that were mispredicted
      loads         reads of data
      load_misses   those of them that the first-level data cache did not have
      other_threads threads beside the kernel's own; what they do is not counted
      nanoseconds   wall clock of each run without the simulator";

/// What is in the file, beside the kinds of [`Kind`](crate::results::Kind).
pub(crate) const COUNTS: &str = "counts";

/// All figures. The keys are described in [`KEYS`].
#[derive(Debug, Serialize)]
pub(crate) struct File<'a> {
    schema: u32,
    kind: &'a str,
    kernel: &'a str,
    numbers: &'a [u64],
    operation: &'a str,
    simulator: Option<&'a str>,
    caches: &'a [String],
    rows: Vec<FileRow<'a>>,
}

#[derive(Debug, Serialize)]
struct FileRow<'a> {
    name: &'a str,
    failure: Option<&'a str>,
    figures: Option<FileFigures<'a>>,
}

#[derive(Debug, Serialize)]
struct FileFigures<'a> {
    operations: u64,
    instructions: u64,
    branches: u64,
    mispredicted: u64,
    loads: u64,
    load_misses: u64,
    other_threads: usize,
    nanoseconds: &'a [f64],
}

impl<'a> File<'a> {
    pub(crate) fn of(asked: &'a Asked, taken: &'a Taken) -> File<'a> {
        let simulator = taken.simulator.as_ref();
        File {
            schema: 1,
            kind: COUNTS,
            kernel: &asked.kernel.name,
            numbers: &asked.numbers,
            operation: &asked.kernel.operation,
            simulator: simulator.map(|simulator| simulator.name.as_str()),
            caches: simulator.map_or(&[], |simulator| &simulator.caches),
            rows: taken.rows.iter().map(FileRow::of).collect(),
        }
    }
}

impl<'a> FileRow<'a> {
    fn of(row: &'a Row) -> FileRow<'a> {
        let figures = row.figures.as_ref();
        let failure = figures.err().map(String::as_str);
        FileRow { name: &row.name, failure, figures: figures.ok().map(FileFigures::of) }
    }
}

impl<'a> FileFigures<'a> {
    fn of(figures: &'a Figures) -> FileFigures<'a> {
        let events = figures.events;
        FileFigures {
            operations: figures.operations,
            instructions: events.instructions,
            branches: events.branches,
            mispredicted: events.mispredicted,
            loads: events.loads,
            load_misses: events.load_misses,
            other_threads: figures.other_threads,
            nanoseconds: &figures.times,
        }
    }
}

#[cfg(test)]
mod tests {
    use hak_bench_kernels::Listed;
    use serde_json::Value;

    use super::{File, KEYS};
    use crate::asked::Asked;
    use crate::counters::taken::tests::taken;

    fn keys(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    all.push(key.clone());
                    keys(value, all);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| keys(value, all)),
            _ => {}
        }
    }

    #[test]
    fn every_key_is_described() {
        let line = "pair\tpattern\tmake\tcycles=1000:1:9999\tmakes";
        let kernel = Listed::parse(line).unwrap().remove(0);
        let (asked, taken) = (Asked::new(kernel, &[]).unwrap(), taken());
        let json = serde_json::to_value(File::of(&asked, &taken)).unwrap();
        let mut written = Vec::new();
        keys(&json, &mut written);
        written.sort();
        written.dedup();
        let described = KEYS.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        let mut described: Vec<_> = described.collect();
        described.sort_unstable();
        assert_eq!(written, described);
        assert_eq!(json["rows"][0]["figures"]["instructions"], 400);
        assert_eq!(json["rows"][1]["failure"], "ended with signal: 4");
        assert_eq!(json["kind"], "counts");
    }
}
