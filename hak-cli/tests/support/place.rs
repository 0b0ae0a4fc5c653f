//! `hak inspect` in a folder of specs, and how it ended.

#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

pub(crate) fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn specs() -> PathBuf {
    temporary().join("inspect")
}

pub(crate) const SMALL: &str = "schema = 1\nclasses.sizes = [16, 32, 64, 128]\n";
const CALLED: &str = "schema = 1\nextends = \"small.toml\"\n\
    hints.inline = \"never\"\ncache = { slots = 16, layers = [\"magazine\"] }\n";

/// The folder with the specs of all tests, in which the command runs. It stays where it is, and
/// with it what is built.
pub(crate) struct Place {
    variables: Vec<(&'static str, PathBuf)>,
}

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Place { variables: vec![("XDG_CACHE_HOME", temporary().to_owned())] };
        place.write("small.toml", SMALL);
        place.write("called.toml", CALLED);
        place
    }

    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<PathBuf>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// Several tests may write the same file at once, and read it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = specs().join(name);
        let folder = path.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        let file = tempfile::NamedTempFile::new_in(folder).unwrap();
        fs::write(file.path(), text).unwrap();
        file.persist(&path).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hak"));
        command.arg("inspect").args(args).current_dir(specs()).stdin(Stdio::null());
        // No network: the versions are those of the workspace.
        command.env("CARGO_NET_OFFLINE", "true").env_remove("HAK_SOURCE");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::of(&mut self.command(args))
    }

    pub(crate) fn text(&self, args: &[&str]) -> String {
        let ended = self.run(args);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
        ended.stdout
    }

    pub(crate) fn json(&self, spec: &str) -> Value {
        serde_json::from_str(&self.text(&[spec, "--json"])).unwrap()
    }

    /// Fails with status 2 and says this first.
    pub(crate) fn fails(&self, args: &[&str], why: &str) -> Ended {
        let ended = self.run(args);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("error: {why}")), "{}", ended.stderr);
        ended
    }
}

impl Ended {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Ended {
            status: output.status.code().expect("the command ended by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
