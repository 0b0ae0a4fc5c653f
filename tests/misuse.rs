//! Every way of misuse, on every validation level and under single checks: how the program ends,
//! and the exact line that it writes.
//!
//! `support/programs/misuse.rs` is built once for each spec. What is expected stands in
//! `support/misuse_table.rs`: a row for each case, a column for each level.

#[path = "support/child.rs"]
mod child;
#[path = "support/misuse_table.rs"]
mod misuse_table;
#[path = "support/probe.rs"]
#[expect(dead_code, reason = "the specs are written here")]
mod probe;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use misuse_table::{Expect, LEVELS, SINGLES, Size};

const PROGRAM: &str = include_str!("support/programs/misuse.rs");
const TIMEOUT: Duration = Duration::from_secs(60);
/// What the program says when the misuse did not end it.
const RETURNED: &str = "the misuse returned";
const LAST: &str = "ended";

/// How a process ended.
struct Ended {
    status: ExitStatus,
    output: String,
}

impl Ended {
    fn of(program: &Path, case: &str, size: &str) -> Ended {
        let mut command = Command::new(program);
        let (status, output) = child::end_of(command.args([case, size]), TIMEOUT).unwrap();
        Ended { status, output }
    }

    fn says(&self, line: &str) -> bool {
        self.output.lines().any(|said| said == line)
    }

    /// The lines of the runtime.
    fn words(&self) -> Vec<&str> {
        self.output.lines().filter_map(|line| line.strip_prefix("hak: Subject: ")).collect()
    }

    /// Whether the runtime has spoken once, as expected, and aborted.
    fn reports(&self, wanted: &str) -> bool {
        let is_one = matches!(self.words()[..], [words] if is_like(words, wanted));
        is_one && self.status.signal() == Some(libc::SIGABRT)
    }

    fn is(&self, expect: Expect, size: Size) -> bool {
        let (returned, silent) = (self.says(RETURNED), self.words().is_empty());
        match expect {
            Expect::Now(words) => !returned && self.reports(&size.fill_in(words)),
            Expect::Later(words) => returned && self.reports(&size.fill_in(words)),
            Expect::Fault => !returned && silent && self.status.signal() == Some(libc::SIGSEGV),
            Expect::Quiet => silent && self.says(LAST) && self.status.success(),
            Expect::Says(line) => {
                silent && self.says(line) && self.says(LAST) && self.status.success()
            }
            Expect::Skip => true,
        }
    }
}

/// Whether two texts are the same, when each `0x…` of the second stands for any address.
fn is_like(found: &str, wanted: &str) -> bool {
    let mut parts = wanted.split("0x…");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    for part in parts {
        let Some(address) = rest.strip_prefix("0x") else { return false };
        let end = address.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(address.len());
        let Some(next) = address[end..].strip_prefix(part) else { return false };
        if end == 0 {
            return false;
        }
        rest = next;
    }
    rest.is_empty()
}

#[test]
fn an_address_is_any_number_and_nothing_else() {
    assert!(is_like("free of 0x7f00, 8 bytes into 0x7ef8", "free of 0x…, 8 bytes into 0x…"));
    assert!(!is_like("free of 0x7f00, 8 bytes into 0x", "free of 0x…, 8 bytes into 0x…"));
    assert!(!is_like("free of 0x7f00, 9 bytes into 0x7ef8", "free of 0x…, 8 bytes into 0x…"));
    assert!(!is_like("free of 0x7f00 or so", "free of 0x…"));
    assert!(!is_like("a free of 0x7f00", "free of 0x…"));
}

/// The program on the allocator of a spec that is called `Subject`.
fn build(name: &str, extends: &str, validation: &str) -> PathBuf {
    let spec = probe::folder().join(format!("specs/misuse-{name}.toml"));
    let text = format!(
        "schema = 1\nextends = \"{extends}\"\n[allocator]\nname = \"Subject\"\n\
         [validation]\n{validation}\n"
    );
    probe::write_if_changed(&spec, &text);
    probe::build("misuse", PROGRAM, Some(&spec))
}

/// What differs from what is expected, as text; nothing when all is well.
fn complaint(program: &Path, case: &str, size: Size, expect: Expect) -> Option<String> {
    if matches!(expect, Expect::Skip) {
        return None;
    }
    let ended = Ended::of(program, case, size.name);
    let Ended { status, output } = &ended;
    let wanted = size.fill_in(&format!("{expect:?}"));
    let complaint = || format!("{case} {}: {wanted} expected, {status}:\n{output}", size.name);
    (!ended.is(expect, size)).then(complaint)
}

/// Fails with all complaints at once.
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{} differ\n{}", complaints.len(), complaints.join("\n"));
}

/// Runs every row on one level: its column of the table.
fn check_level(column: usize, name: &str, extends: &str, validation: &str) {
    let program = build(name, extends, validation);
    let rows = LEVELS.iter().flat_map(|(case, sizes, expects)| {
        sizes.iter().map(move |&size| (case, size, expects[column]))
    });
    none(rows.filter_map(|(case, size, expect)| complaint(&program, case, size, expect)).collect());
}

#[test]
fn off() {
    check_level(0, "off", "general", "level = \"off\"");
}

#[test]
fn boundary() {
    check_level(1, "boundary", "general", "level = \"boundary\"");
}

#[test]
fn full() {
    check_level(2, "full", "general", "level = \"full\"");
}

/// The shipped spec, with all that it says beside the level.
#[test]
fn hardened() {
    check_level(3, "hardened", "hardened", "");
}

#[test]
fn single_checks() {
    let mut complaints = Vec::new();
    for (name, validation, rows) in SINGLES {
        let program = build(name, "general", validation);
        for (case, sizes, expect) in *rows {
            let found = sizes.iter().filter_map(|&size| complaint(&program, case, size, *expect));
            complaints.extend(found.map(|complaint| format!("{name}: {complaint}")));
        }
    }
    none(complaints);
}

/// A case that no row names would never run.
#[test]
fn every_case_has_a_row() {
    let names = PROGRAM.lines().filter_map(|line| line.trim().strip_prefix("(\""));
    let cases: Vec<_> = names.filter_map(|line| line.split('"').next()).collect();
    assert!(cases.len() > 20, "the list of cases was not found");
    let rows: Vec<_> = LEVELS.iter().map(|(case, ..)| *case).collect();
    for case in &cases {
        assert!(rows.contains(case), "no row for `{case}`");
    }
    let singles = SINGLES.iter().flat_map(|(.., rows)| rows.iter().map(|(case, ..)| *case));
    for row in rows.iter().copied().chain(singles) {
        assert!(cases.contains(&row), "no case `{row}`");
    }
}
