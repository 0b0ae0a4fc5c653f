//! What the command says, where, and how it ends.
//!
//! Help texts are in `tests/help/NAME.txt`; `HAK_BLESS=1 cargo test -p hak-cli` rewrites them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const GOOD: &str = "schema = 1\nclasses.sizes = [16, 32]\n";
const BAD: &str = "schema = 1\nclasses.sizes = [64, 48]\n";

/// A folder with a good and a bad spec, in which the command runs.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        place.write("good.toml", GOOD);
        place.write("bad.toml", BAD);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hak"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().unwrap())
    }
}

/// How a run of the command ended.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    status: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Ended {
            status: output.status.code().expect("the command ended by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    fn new(status: i32, stdout: &str, stderr: &str) -> Self {
        Ended { status, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }
}

const BAD_REPORT: &str = "\
error: class of 48 bytes follows one of 64 bytes
  --> bad.toml:2:22
   |
 2 | classes.sizes = [64, 48]
   |                      ^^
   = help: list the sizes from small to large, each once
";

fn help(name: &str, args: &[&str]) {
    let ended = Place::new().run(args);
    let path = Path::new("tests/help").join(name).with_extension("txt");
    if std::env::var_os("HAK_BLESS").is_some() {
        fs::write(&path, &ended.stdout).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(ended, Ended::new(0, &expected, ""), "{}", path.display());
}

#[test]
fn help_names_the_commands() {
    help("hak", &["--help"]);
}

#[test]
fn help_of_check() {
    help("check", &["check", "--help"]);
}

#[test]
fn help_of_expand() {
    help("expand", &["expand", "--help"]);
}

#[test]
fn help_of_inspect() {
    help("inspect", &["inspect", "--help"]);
}

#[test]
fn help_of_build() {
    help("build", &["build", "--help"]);
}

#[test]
fn help_of_run() {
    help("run", &["run", "--help"]);
}

/// The help texts list them by hand.
#[test]
fn help_names_every_shipped_spec() {
    let names: Vec<_> = hak_spec::shipped().iter().map(|(name, _)| *name).collect();
    for text in ["check", "expand", "inspect", "build", "run"] {
        let text = Place::new().run(&[text, "--help"]).stdout;
        assert!(text.contains(&format!(": {}\n", names.join(", "))), "{text}");
    }
}

#[test]
fn no_argument_is_an_error_with_the_help() {
    let ended = Place::new().run(&[]);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert_eq!(ended.stderr, fs::read_to_string("tests/help/hak.txt").unwrap());
}

#[test]
fn an_unknown_command_is_an_error() {
    let ended = Place::new().run(&["cheque"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert!(ended.stderr.starts_with("error: unrecognized subcommand 'cheque'\n"));
}

#[test]
fn check_says_what_a_good_spec_holds() {
    let ended = Place::new().run(&["check", "good.toml"]);
    assert_eq!(ended, Ended::new(0, "good.toml: ok, 2 classes, 16 B to 32 B\n", ""));
}

#[test]
fn check_counts_one_class() {
    let place = Place::new();
    place.write("one.toml", "schema = 1\nclasses.sizes = [4096]\n");
    let ended = place.run(&["check", "one.toml"]);
    assert_eq!(ended, Ended::new(0, "one.toml: ok, 1 class, 4 KiB\n", ""));
}

#[test]
fn check_knows_the_shipped_specs() {
    let names: Vec<_> = hak_spec::shipped().iter().map(|(name, _)| *name).collect();
    let ended = Place::new().run(&[&["check"], names.as_slice()].concat());
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    for (line, name) in ended.stdout.lines().zip(&names) {
        assert!(line.starts_with(&format!("{name}: ok, ")), "{line}");
    }
    assert_eq!(ended.stdout.lines().count(), names.len());
}

#[test]
fn check_finds_problems() {
    let ended = Place::new().run(&["check", "bad.toml"]);
    assert_eq!(ended, Ended::new(1, "", BAD_REPORT));
}

#[test]
fn check_goes_on_after_problems() {
    let ended = Place::new().run(&["check", "bad.toml", "good.toml", "./bad.toml"]);
    let again = BAD_REPORT.replace("bad.toml", "./bad.toml");
    let stdout = "good.toml: ok, 2 classes, 16 B to 32 B\n";
    assert_eq!(ended, Ended::new(1, stdout, &format!("{BAD_REPORT}\n{again}")));
}

#[test]
fn check_fails_when_a_file_cannot_be_read() {
    let place = Place::new();
    let ended = place.run(&["check", "goods.toml", "bad.toml"]);
    let dir = fs::canonicalize(place.dir.path()).unwrap();
    let missing = ended.stderr.replace(dir.to_str().unwrap(), "$DIR");
    let expected = "\
error: cannot read `goods.toml`: there is no such file
   = help: looked for `$DIR/goods.toml`: paths start from `$DIR`
   = help: did you mean `good.toml`?

";
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert_eq!(missing, format!("{expected}{BAD_REPORT}"));
}

#[test]
fn a_base_that_cannot_be_read_is_a_problem_of_the_spec() {
    let place = Place::new();
    place.write("child.toml", "schema = 1\nextends = \"nowhere.toml\"\n");
    let ended = place.run(&["check", "child.toml"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    assert!(ended.stderr.contains("--> child.toml:2:11"), "{}", ended.stderr);
}

#[test]
fn expand_prints_code() {
    let ended = Place::new().run(&["expand", "good.toml"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let head = "/// A memory allocator, generated from `good.toml`.\n///\n/// ```text\n";
    assert!(ended.stdout.starts_with(head), "{}", ended.stdout);
    assert!(ended.stdout.contains("\npub struct Good;\n\n"));
    assert!(ended.stdout.ends_with("    }\n};\n"));
}

#[test]
fn expand_is_what_the_golden_files_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (name, _) in hak_spec::shipped() {
        let spec = format!("specs/{name}.toml");
        let golden = format!("hak-codegen/tests/golden/{name}.rs");
        let mut command = Place::new().command(&["expand", &spec, "--check", &golden]);
        let ended = Ended::from(command.current_dir(root).output().unwrap());
        assert_eq!(ended, Ended::new(0, "", ""));
    }
}

#[test]
fn expand_knows_the_shipped_specs() {
    let ended = Place::new().run(&["expand", "general"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.contains("\npub struct General;\n"));
}

#[test]
fn expand_writes_a_file() {
    let place = Place::new();
    let printed = place.run(&["expand", "good.toml"]).stdout;
    let ended = place.run(&["expand", "good.toml", "-o", "good.rs"]);
    assert_eq!(ended, Ended::new(0, "", ""));
    assert_eq!(fs::read_to_string(place.path("good.rs")).unwrap(), printed);
    let ended = place.run(&["expand", "good.toml", "--check", "good.rs"]);
    assert_eq!(ended, Ended::new(0, "", ""));
}

#[test]
fn expand_check_shows_the_first_difference() {
    let place = Place::new();
    let code = place.run(&["expand", "good.toml"]).stdout;
    place.write("good.rs", &code.replace("pub struct Good;", "pub struct Bad;"));
    let line = code.lines().position(|line| line == "pub struct Good;").unwrap() + 1;
    let ended = place.run(&["expand", "good.toml", "--check", "good.rs"]);
    let expected = format!(
        "error: `good.rs` is not what `good.toml` becomes
  --> good.rs:{line}
   = note: expected `pub struct Good;`
   = note: found    `pub struct Bad;`
   = help: write it anew: hak expand good.toml -o good.rs\n"
    );
    assert_eq!(ended, Ended::new(1, "", &expected));
}

#[test]
fn expand_check_sees_a_missing_end() {
    let place = Place::new();
    let code = place.run(&["expand", "good.toml"]).stdout;
    place.write("good.rs", code.trim_end());
    let ended = place.run(&["expand", "good.toml", "--check", "good.rs"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    assert!(ended.stderr.contains("= note: found    end of file\n"), "{}", ended.stderr);
}

#[test]
fn expand_of_a_bad_spec_prints_no_code() {
    let place = Place::new();
    let ended = place.run(&["expand", "bad.toml", "-o", "bad.rs"]);
    assert_eq!(ended, Ended::new(1, "", BAD_REPORT));
    assert!(!place.path("bad.rs").exists());
}

#[test]
fn expand_fails_when_a_file_cannot_be_read_or_written() {
    let place = Place::new();
    for (option, file, why) in [
        ("--check", "nowhere.rs", "error: cannot read `nowhere.rs`: No such file or directory"),
        ("-o", "nowhere/good.rs", "error: cannot write `nowhere/good.rs`: No such file or"),
    ] {
        let ended = place.run(&["expand", "good.toml", option, file]);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
        assert!(ended.stderr.starts_with(why), "{}", ended.stderr);
    }
}

#[test]
fn expand_does_not_write_what_it_checks() {
    let ended = Place::new().run(&["expand", "good.toml", "--check", "a.rs", "-o", "b.rs"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    assert!(ended.stderr.starts_with("error: the argument '--check <FILE>' cannot be used with"));
}

/// Each is more than a pipe holds, so that the command is still writing when its reader is gone.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let sizes: Vec<_> = (2..=128).map(|nth| (nth * 16).to_string()).collect();
    place.write("many.toml", &format!("schema = 1\nclasses.sizes = [{}]\n", sizes.join(", ")));
    let specs = ["good.toml"; 4096];
    for args in [["expand", "many.toml"].as_slice(), &[&["check"], specs.as_slice()].concat()] {
        let mut command = place.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), b"".as_slice()));
    }
}
