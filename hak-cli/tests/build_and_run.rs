//! `hak build` and `hak run`: what they say, how they end, and what is built when.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A small library: it is built in a moment.
const SPEC: &str = "schema = 1\nextends = \"tiny\"\n";

/// A folder with specs, and a cache folder of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        place.write("small.toml", SPEC);
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hak"));
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.path().join("cache")).env_remove("LD_PRELOAD");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_elf(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}

#[test]
fn a_library_is_built_once_and_without_a_network() {
    let place = Place::new();
    let build = ["build", "small.toml", "--static", "small.a", "-o", "small.so"];
    // What this workspace depends on is there, or this test would not run.
    let output = place.command(&build).env("CARGO_NET_OFFLINE", "true").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(is_elf(&place.path().join("small.so")));
    assert!(fs::read(place.path().join("small.a")).unwrap().starts_with(b"!<arch>"));
    assert!(said(&output).contains("small.so: ") && said(&output).contains("small.a: "));
    // From here on there is no cargo, and none is needed.
    let no_cargo = |args: &[&str]| place.command(args).env("CARGO", "/no/cargo").output().unwrap();
    assert!(no_cargo(&["build", "small.toml"]).status.success());
    assert!(is_elf(&place.path().join("libhak_small.so")));
    let output = no_cargo(&["build", "general"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).starts_with("error: cannot start `/no/cargo`: "), "{}", said(&output));
    assert!(said(&output).contains("   = help: a library is built with Rust"));
    // A spec that means the same is the same library; one that does not is another.
    place.write("small.toml", &format!("{SPEC}# The same.\n"));
    assert!(no_cargo(&["build", "small.toml"]).status.success());
    place.write("small.toml", &format!("{SPEC}large.keep = \"1 MiB\"\n"));
    assert_eq!(no_cargo(&["build", "small.toml"]).status.code(), Some(2));
}

/// Flags of the programs that are built where the user is do not get into a library.
#[test]
fn how_other_programs_are_built_is_nothing_to_a_library() {
    let place = Place::new();
    let programs = place.path().join("programs");
    fs::create_dir_all(programs.join(".cargo")).unwrap();
    let build = |name: &str| {
        let mut command = place.command(&["build", "../small.toml", "-o", name]);
        command.current_dir(&programs);
        command
    };
    let output = build("../plain.so").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    place.write(
        "programs/.cargo/config.toml",
        "[profile.release]\nopt-level = 0\n[build]\nrustflags = [\"-Ctarget-cpu=native\"]\n",
    );
    let mut flagged = build("../flagged.so");
    flagged
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_BUILD_RUSTFLAGS", "-Copt-level=0");
    flagged.env("CARGO_PROFILE_RELEASE_PANIC", "unwind").env("CARGO_BUILD_TARGET", "none");
    let output = flagged.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let read = |name| fs::read(place.path().join(name)).unwrap();
    assert!(read("plain.so") == read("flagged.so"), "the two libraries differ");
}

#[test]
fn what_is_no_file_of_ones_own_is_not_replaced() {
    let place = Place::new();
    // By a link, lest a mistake replace the device itself.
    std::os::unix::fs::symlink("/dev/null", place.path().join("null")).unwrap();
    let output = place.run(&["build", "small.toml", "-o", "null"]);
    let why = "`null` is no regular file, and stays what it is";
    assert!(!output.status.success() && said(&output).contains(why), "{}", said(&output));
    let output = place.run(&["build", "small.toml", "-o", "one", "--static", "one"]);
    let why = "`one` cannot be both the library and the archive";
    assert!(!output.status.success() && said(&output).contains(why), "{}", said(&output));
    assert!(!place.path().join("one").exists());
}

#[test]
fn an_emptied_library_is_built_anew() {
    let place = Place::new();
    assert!(place.run(&["build", "small.toml", "-o", "small.so"]).status.success());
    let folders = fs::read_dir(place.path().join("cache/hak/c")).unwrap();
    let kept = folders.map(|folder| folder.unwrap().path().join("libhak.so"));
    let kept = kept.into_iter().find(|file| file.is_file()).unwrap();
    fs::write(&kept, "").unwrap();
    assert!(place.run(&["build", "small.toml", "-o", "small.so"]).status.success());
    assert!(is_elf(&kept) && is_elf(&place.path().join("small.so")));
}

#[test]
fn several_build_the_same_at_once() {
    let place = Place::new();
    let start = |nth: usize| {
        let output = format!("{nth}.so");
        place.command(&["build", "small.toml", "-o", &output]).stderr(Stdio::piped()).spawn()
    };
    let builds: Vec<_> = (0..3).map(|nth| start(nth).unwrap()).collect();
    for (nth, build) in builds.into_iter().enumerate() {
        let output = build.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert!(is_elf(&place.path().join(format!("{nth}.so"))));
    }
}

#[test]
fn a_command_runs_on_the_library() {
    let place = Place::new();
    let shell = |script: &str| place.run(&["run", "small.toml", "--", "sh", "-c", script]);
    let output = shell("grep -c libhak.so /proc/self/maps; echo $LD_PRELOAD; exit 7");
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mappings, preload) = text.split_once('\n').unwrap();
    assert!(mappings.parse::<usize>().unwrap() > 1, "{text}");
    assert!(preload.trim_end().ends_with("/libhak.so"), "{text}");
    // What it ends by, and what was preloaded before.
    assert_eq!(shell("kill -9 $$").status.signal(), Some(9));
    let args = ["run", "small.toml", "sh", "-c", "echo $LD_PRELOAD"];
    let output = place.command(&args).env("LD_PRELOAD", "libdl.so.2").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.trim_end().ends_with("/libhak.so:libdl.so.2"), "{text}");
    // No command.
    let output = place.run(&["run", "small.toml", "--", "no-such-command"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(said(&output).starts_with("error: cannot start `no-such-command`: "));
    assert_eq!(place.run(&["run", "small.toml", "--", "/etc/passwd"]).status.code(), Some(126));
    assert_eq!(place.run(&["run", "small.toml"]).status.code(), Some(2));
}

#[test]
fn what_is_wrong_is_said() {
    let place = Place::new();
    place.write("bad.toml", "schema = 1\nclasses.sizes = [64, 48]\n");
    for command in [vec!["build", "bad.toml"], vec!["run", "bad.toml", "--", "true"]] {
        let output = place.run(&command);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(said(&output), said(&place.run(&["check", "bad.toml"])));
    }
    let output = place.run(&["build", "small.toml", "-o", "no/such/folder/a.so"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("error: cannot write `no/such/folder/a.so`: "));
    let mut command = place.command(&["build", "small.toml"]);
    let output = command.env_remove("XDG_CACHE_HOME").env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).starts_with("error: there is no folder for what is built"));
    let output = place.command(&["build", "small.toml"]).env("RUSTC", "/no/rustc").output();
    assert!(said(&output.unwrap()).starts_with("error: cannot start `/no/rustc`: "));
}

/// What cargo says is shown.
#[test]
fn a_build_that_fails_says_why() {
    let place = Place::new();
    let cargo = place.path().join("cargo");
    fs::write(&cargo, "#!/bin/sh\necho 'error: the disk is full' >&2\nexit 101\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&cargo).status().unwrap().success());
    let output = place.command(&["build", "small.toml"]).env("CARGO", &cargo).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: the library of `small.toml` does not build; cargo said:\n\n\
                    error: the disk is full\n";
    assert_eq!(said(&output), expected);
}
