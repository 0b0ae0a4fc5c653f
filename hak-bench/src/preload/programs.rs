//! Tools that every system has, and what each is to do.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hak_bench_kernels::{Group, Listed};
use object::read::elf::ProgramHeader;

use super::OWN;
use super::inputs::{self, Inputs};
use crate::children;
use crate::failure::Failure;
use crate::rounds::Task;

/// A tool with a task. It is timed from its start to its end, with all that it starts.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// The command's.
    file: &'static str,
    /// Debian's that has it.
    package: &'static str,
    /// Makes it tell its version.
    version: &'static str,
    /// What it does, with its sizes, behind its name and version.
    does: &'static str,
    operation: &'static str,
    operations: u64,
    /// Where `INPUTS` stands for the folder of the inputs.
    arguments: &'static [&'static str],
}

/// In the order of the tables.
pub(super) static PROGRAMS: [Program; 9] = [
    Program {
        name: "sort",
        file: "sort",
        package: "coreutils",
        version: "--version",
        does: "sorts 600 000 lines of words by the third word, in two threads",
        operation: "line",
        operations: inputs::LINES,
        arguments: &["--parallel=2", "--buffer-size=256M", "--key=3", "INPUTS/lines.txt"],
    },
    Program {
        name: "sqlite3",
        file: "sqlite3",
        package: "sqlite3",
        version: "--version",
        does: "in memory: inserts 100 000 rows one by one, indexes, groups, joins, changes and \
               deletes them",
        operation: "row",
        operations: inputs::ROWS,
        arguments: &[":memory:", ".read INPUTS/rows.sql"],
    },
    Program {
        name: "python3",
        file: "python3",
        package: "python3",
        version: "--version",
        does: "reads 15 000 records of JSON, finds words by a regular expression, counts and \
               lists them, and writes the records anew; PYTHONMALLOC=malloc",
        operation: "record",
        operations: inputs::RECORDS,
        arguments: &["INPUTS/records.py", "INPUTS/records.json"],
    },
    Program {
        name: "perl",
        file: "perl",
        package: "perl",
        version: "-v",
        does: "splits 60 000 lines, collects their words in hashes of lists, and joins and \
               sorts them",
        operation: "line",
        operations: inputs::FEWER_LINES,
        arguments: &["INPUTS/words.pl", "INPUTS/fewer-lines.txt"],
    },
    Program {
        name: "awk",
        file: "mawk",
        package: "mawk",
        version: "-Wversion",
        does: "splits 60 000 lines, and counts and joins words in arrays",
        operation: "line",
        operations: inputs::FEWER_LINES,
        arguments: &["-f", "INPUTS/words.awk", "INPUTS/fewer-lines.txt"],
    },
    Program {
        name: "git",
        file: "git",
        package: "git",
        version: "--version",
        does: "packs a repository of 300 commits and 2700 versions of files anew, as `git repack \
               -f` does",
        operation: "commit",
        operations: inputs::COMMITS,
        arguments: &[
            "-C",
            "INPUTS/repository.git",
            "-c",
            "pack.threads=1",
            "pack-objects",
            "-q",
            "--revs",
            "--all",
            "--no-reuse-delta",
            "--no-reuse-object",
            "--stdout",
        ],
    },
    Program {
        name: "gcc",
        file: "gcc",
        package: "gcc",
        version: "--version",
        does: "compiles 40 functions of C to assembly with -O1",
        operation: "function",
        operations: inputs::FUNCTIONS,
        arguments: &["-O1", "-S", "-w", "-o", "-", "INPUTS/functions.c"],
    },
    Program {
        name: "xz",
        file: "xz",
        package: "xz-utils",
        version: "--version",
        does: "compresses 60 000 lines of words in blocks of 512 KiB, in two threads",
        operation: "line",
        operations: inputs::FEWER_LINES,
        arguments: &[
            "-1",
            "--threads=2",
            "--block-size=512KiB",
            "--stdout",
            "INPUTS/fewer-lines.txt",
        ],
    },
    Program {
        name: "zstd",
        file: "zstd",
        package: "zstd",
        version: "--version",
        does: "compresses 600 000 lines of words, in two threads",
        operation: "line",
        operations: inputs::LINES,
        arguments: &["-q", "-6", "-T2", "--stdout", "INPUTS/lines.txt"],
    },
];

impl Program {
    /// Before it is known to be there.
    pub(super) fn listed(&self) -> Listed {
        Listed {
            name: self.name.to_owned(),
            group: Group::Program,
            operation: self.operation.to_owned(),
            parameters: Vec::new(),
            about: format!("{} {}", self.name, self.does),
        }
    }

    /// How it is run, with its version in what is told of it.
    pub(super) fn task(&self, inputs: &Inputs) -> Result<Task, Failure> {
        let path = self.find(&env::var_os("PATH").unwrap_or_default())?;
        if self.name == "git" {
            inputs.repository(&path)?;
        }
        let about = format!("{}{} {}", self.file, self.version_of(&path), self.does);
        let mut arguments = vec!["--program".to_owned(), self.operations.to_string()];
        arguments.push(path.display().to_string());
        arguments.extend(self.arguments.iter().map(|word| inputs.filled(word)));
        // What a reader of the process's memory sees is that of who starts the program.
        Ok(Task {
            kernel: Listed { about, ..self.listed() },
            arguments,
            watched: false,
            own: OWN.to_owned(),
        })
    }

    /// The first that a library can be preloaded for: a script that starts it is another program.
    fn find(&self, path: &OsStr) -> Result<PathBuf, Failure> {
        let Program { name, file, package, .. } = self;
        let found: Vec<_> = env::split_paths(path)
            .map(|folder| folder.join(file))
            .filter(|it| it.is_file())
            .collect();
        if let Some(program) = found.iter().find(|program| is_dynamic(program)) {
            return Ok(program.clone());
        }
        let what = match found.first() {
            Some(other) => {
                format!("{} is not dynamically linked: nothing can be preloaded", other.display())
            }
            None => format!("`{file}` is not there"),
        };
        Err(Failure::Failed(format!(
            "{what}\nhelp: Debian's package `{package}` has it, and hak-bench/peers/install \
             installs it; name other kernels to run without `{name}`"
        )))
    }

    /// With a space before it; nothing where it is not told.
    fn version_of(&self, path: &Path) -> String {
        let output = children::output(Command::new(path).arg(self.version));
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        said.ok().and_then(|said| version_in(&said)).map_or(String::new(), |it| format!(" {it}"))
    }
}

/// The first word that begins as a version does: a number, a point, a number.
fn version_in(said: &str) -> Option<String> {
    let words = said.split_whitespace().map(|word| {
        word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).trim_start_matches('v')
    });
    let is_version = |word: &&str| {
        let mut parts = word.split('.');
        let mut number =
            || parts.next().is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        number() && number()
    };
    words.into_iter().find(is_version).map(str::to_owned)
}

/// Whether a file is a program that the dynamic linker starts.
fn is_dynamic(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let Ok(object::File::Elf64(file)) = object::File::parse(&*bytes) else { return false };
    let endian = file.endian();
    file.elf_program_headers().iter().any(|it| it.p_type(endian) == object::elf::PT_INTERP)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::{PROGRAMS, inputs, version_in};
    use crate::subjects::root;

    #[test]
    fn each_task_says_how_much_it_does() {
        for program in &PROGRAMS {
            let digits: String = program.does.chars().filter(char::is_ascii_digit).collect();
            let number = program.operations.to_string();
            assert!(digits.starts_with(&number), "{}: {number} in {digits}", program.name);
        }
    }

    #[test]
    fn every_input_is_made() {
        let words = PROGRAMS.iter().flat_map(|program| program.arguments);
        let names = words.filter_map(|word| word.split_once("INPUTS/")).map(|(_, name)| name);
        for name in names.filter(|name| *name != inputs::REPOSITORY) {
            assert!(inputs::FILES.iter().any(|(file, _)| *file == name), "{name}");
        }
    }

    /// hak-bench/peers/install says what is missing, and installs it.
    #[test]
    fn every_program_is_installed() {
        let script = fs::read_to_string(root().join("hak-bench/peers/install"));
        let script = script.unwrap();
        for program in &PROGRAMS {
            let line = format!("needs {} {}\n", program.file, program.package);
            assert!(script.contains(&line), "{line}");
        }
    }

    #[test]
    fn a_version_is_found_in_what_is_said() {
        let version = |said| version_in(said).unwrap();
        assert_eq!(version("sort (GNU coreutils) 9.1\nmore 8.0"), "9.1");
        assert_eq!(version("3.40.1 2022-12-28 14:03:47 df5c"), "3.40.1");
        assert_eq!(version("\nThis is perl 5, version 36 (v5.36.0) built for"), "5.36.0");
        assert_eq!(version("*** zstd command line 64-bits v1.5.4, by Yann"), "1.5.4");
        assert_eq!(version_in("none of 12"), None);
    }

    #[test]
    fn a_program_that_cannot_be_measured_says_why() {
        let sort = &PROGRAMS[0];
        let folder = tempfile::tempdir().unwrap();
        let missing = sort.find(folder.path().as_os_str()).unwrap_err().to_string();
        assert!(missing.starts_with("`sort` is not there\nhelp: Debian's package `coreutils` has"));
        let script = folder.path().join("sort");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let message = sort.find(folder.path().as_os_str()).unwrap_err().to_string();
        assert!(message.contains("sort is not dynamically linked: nothing can be"), "{message}");
        // A script in front of the program is passed over.
        let mut path = folder.path().as_os_str().to_owned();
        path.push(OsStr::new(":/usr/bin"));
        assert_eq!(sort.find(&path).unwrap(), std::path::Path::new("/usr/bin/sort"));
    }
}
