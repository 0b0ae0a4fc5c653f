//! The commands that count under callgrind, on the programs of some peers, which they build.

use std::fs;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Two commands at once would write the same programs.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn hak_bench(arguments: &str) -> Output {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let program = env!("CARGO_BIN_EXE_hak-bench");
    Command::new(program).args(arguments.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn printed(arguments: &str) -> String {
    let output = hak_bench(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// What is written by `--json`, by the names of the rows.
fn counted(command: &str) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts.json");
    let printed = printed(&format!("{command} --runs 1 --json {}", file.display()));
    (serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap(), printed)
}

fn figure(json: &Value, row: &str, figure: &str) -> u64 {
    let rows = json["rows"].as_array().unwrap();
    let row = rows.iter().find(|it| it["name"] == row).unwrap_or_else(|| panic!("no row `{row}`"));
    row["figures"][figure].as_u64().unwrap_or_else(|| panic!("no `{figure}` in {row}"))
}

/// README: two branches for an alloc and a free of a size that the compiler knows. The loop adds
/// one for each, and the first requests go the slow way.
#[test]
fn the_branches_of_a_pair_are_those_of_the_hit_path() {
    let (json, printed) = counted("counters pair 10000 --peers hak-general");
    assert_eq!(figure(&json, "system", "operations"), 10_000);
    let branches = figure(&json, "hak-general", "branches");
    assert!((30_000..31_000).contains(&branches), "{branches}");
    assert!(figure(&json, "system", "branches") > 2 * branches);
    let (twice, _) = counted("counters pair 20000 --peers hak-general");
    let more = figure(&twice, "hak-general", "instructions")
        - figure(&json, "hak-general", "instructions");
    let each = more / 10_000;
    assert!((20..30).contains(&each) && more - each * 10_000 < 100, "{more}");
    for table in ["in total", "for each make and drop", "system = 1"] {
        assert!(printed.contains(table), "{printed}");
    }
}

#[test]
fn the_first_step_of_the_plan_halves_the_branches() {
    let (json, printed) = counted("plan 20000 --markdown");
    let branches = |row| figure(&json, row, "branches");
    assert!(branches("plan-1-no-checks") * 2 < branches("plan-0-all-wrong"));
    assert!(
        figure(&json, "plan-3-hints-right", "loads") < figure(&json, "plan-2-one-layer", "loads")
    );
    assert!(
        printed.contains("| 1: checks and figures off | branches | -40 to -50 % |"),
        "{printed}"
    );
    assert!(printed.contains("| branches in 100 000 cycles |"), "{printed}");
}

#[test]
fn the_kernels_are_the_same_program_on_two_allocators() {
    let printed = printed("check pair random-mixed larson --peers hak-general");
    let end = "kernels: 3, peers: 2; equal checksums, no divisions, equal work but for what is \
               allowed\n";
    assert!(printed.ends_with(end), "{printed}");
    assert!(printed.contains("random-mixed") && !printed.contains("larson"), "{printed}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |arguments: &str, why: &str| {
        let output = hak_bench(arguments);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
    };
    refused("counters larson --peers system", "`larson` runs in several threads");
    refused("counters pattern --peers system", "`pattern` is several kernels");
    refused("counters pair 1 2 --peers system", "takes no more numbers than these: operations=");
    refused("counters pair 0 --peers system", "help: it takes operations (1 or more)");
    refused("counters random-mixed 9 0 --peers system", "`random-mixed` takes no `live` of 0");
    refused("plan 0 16777217", "no `cycles` of 0, and no `live` of 16777217");
    refused("counters pair --peers sistem", "no peer is named `sistem`");
    refused("counters pair --json /nowhere/counts.json", "there is no folder /nowhere");
    refused("counters pair --json /", "`--json`: / is a folder");
}
