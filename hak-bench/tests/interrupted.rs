//! What becomes of a command, and of what it has started, where a signal comes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Two commands at once would write the same programs.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Programs may have to be built first.
const PATIENCE: Duration = Duration::from_secs(900);

/// A command that runs.
struct Driver {
    child: Child,
    _alone: MutexGuard<'static, ()>,
}

/// What a command that ended has said.
struct Ended {
    status: ExitStatus,
    said: String,
    complained: String,
}

impl Driver {
    fn start(arguments: &str) -> Driver {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let child = Command::new(env!("CARGO_BIN_EXE_hak-bench"))
            .args(arguments.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Driver { child, _alone: alone }
    }

    /// Waits until it has started so many processes that have a word in their command lines.
    fn wait_for(&self, word: &str, many: usize) -> BTreeSet<u32> {
        let mut seen = BTreeSet::new();
        let begin = Instant::now();
        while seen.len() < many {
            // One that is about to become its program has its parent's command line.
            let is_it = |line: &str| line.contains(word) && !line.contains("--peers");
            let children = processes().filter(|(_, parent, _)| *parent == self.child.id());
            seen.extend(children.filter(|(_, _, line)| is_it(line)).map(|(id, ..)| id));
            assert!(begin.elapsed() < PATIENCE, "of `{word}` were started only {seen:?}");
            sleep(Duration::from_millis(5));
        }
        seen
    }

    fn send(&self, signal: &str) {
        let command = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    }

    fn ended(mut self) -> Ended {
        let (mut said, mut complained) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
        Ended { status: self.child.wait().unwrap(), said, complained }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Where a test failed it runs on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number, parent and command line of each process.
fn processes() -> impl Iterator<Item = (u32, u32, String)> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path();
        let id = path.file_name()?.to_str()?.parse().ok()?;
        let line = fs::read(path.join("cmdline")).ok()?;
        let status = fs::read_to_string(path.join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        Some((id, parent.trim().parse().ok()?, String::from_utf8_lossy(&line).replace('\0', " ")))
    })
}

/// Neither these processes nor others with this word run any more. One that nobody has waited for
/// yet has no command line.
fn assert_gone(children: &BTreeSet<u32>, word: &str) {
    let begin = Instant::now();
    loop {
        let left = processes().find(|(id, _, line)| children.contains(id) && line.contains(word));
        let Some(left) = left else { return };
        assert!(begin.elapsed() < Duration::from_secs(10), "{left:?} runs on");
        sleep(Duration::from_millis(10));
    }
}

fn results(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn whole_rounds_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("page.md"), "<!-- table: run -->\n<!-- end -->\n").unwrap();
    let driver = Driver::start(&format!(
        "run random-mixed --peers system --rounds 1000 --json {} --html {} --markdown {}",
        file("results.json").display(),
        file("page.html").display(),
        file("page.md").display(),
    ));
    // The third round has begun.
    let children = driver.wait_for("random-mixed", 5);
    driver.send("INT");
    let Ended { status, said, complained } = driver.ended();
    assert_eq!(status.code(), Some(130), "{complained}");
    assert_gone(&children, "random-mixed");
    let results = results(&file("results.json"));
    let rounds = results["rounds"].as_u64().unwrap();
    assert!((2..1000).contains(&rounds), "{rounds}");
    assert_eq!(results["rounds_asked"], 1000);
    let kernel = &results["kernels"][0];
    for samples in [&kernel["rows"][0]["samples"], &kernel["control"]["samples"]] {
        assert_eq!(samples.as_array().unwrap().len() as u64, rounds);
    }
    let told = format!("interrupted after {rounds} of 1000 rounds");
    assert!(complained.contains(&format!("error: interrupted by SIGINT: {told}")), "{complained}");
    let page = fs::read_to_string(file("page.html")).unwrap();
    let markdown = fs::read_to_string(file("page.md")).unwrap();
    assert!([said, page, markdown].iter().all(|text| text.contains(&told)));
}

#[test]
fn without_a_whole_round_nothing_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.json");
    for (command, signal, code) in
        [("run random-mixed", "TERM", 143), ("preload random-mixed", "INT", 130)]
    {
        let driver = Driver::start(&format!("{command} --peers system --json {}", file.display()));
        let children = driver.wait_for("random-mixed", 1);
        driver.send(signal);
        let Ended { status, said, complained } = driver.ended();
        assert_eq!((status.code(), said.as_str()), (Some(code), ""), "{complained}");
        let told =
            format!("interrupted by SIG{signal} before a round was whole: nothing was measured");
        assert_eq!(complained, format!("error: {told}\n"));
        assert!(!file.exists());
        assert_gone(&children, "random-mixed");
    }
}

/// Nobody reads what it writes, so that it waits.
#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut driver = Driver::start(&format!(
        "run random-mixed --peers system --rounds 1000 --json {}",
        pipe.display()
    ));
    driver.wait_for("random-mixed", 3);
    driver.send("INT");
    let said = BufReader::new(driver.child.stdout.as_mut().unwrap());
    assert!(said.lines().any(|line| line.unwrap().contains("interrupted after ")));
    assert!(driver.child.try_wait().unwrap().is_none(), "it did not wait");
    driver.send("INT");
    assert_eq!(driver.ended().status.code(), Some(130));
}

#[test]
fn nothing_outlives_its_driver() {
    for (command, signal, code) in [
        ("counters random-mixed 1000000000 --peers system", "TERM", Some(143)),
        ("counters random-mixed 1000000000 --peers system", "KILL", None),
        ("run random-mixed --peers system", "KILL", None),
    ] {
        let driver = Driver::start(command);
        let children = driver.wait_for("random-mixed", 1);
        driver.send(signal);
        let Ended { status, said, complained } = driver.ended();
        assert_eq!((status.code(), said.as_str()), (code, ""), "{complained}");
        assert_gone(&children, "random-mixed");
        if code.is_some() {
            assert_eq!(complained, "error: interrupted by SIGTERM: not all was counted\n");
        }
    }
}
