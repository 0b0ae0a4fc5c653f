//! The kernels of `hak-bench/c`, compiled by the system's compiler for C.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hak_bench_kernels::Listed;

use crate::children;
use crate::failure::Failure;
use crate::subjects::root;

/// What a program in C is compiled with where nobody says more. `malloc` is not one that the
/// compiler knows: it would leave out what is freed again.
const FLAGS: [&str; 5] = ["-std=gnu11", "-O2", "-fno-builtin", "-pthread", "-Wall"];

/// The program that has the kernels, in a folder.
pub(super) fn compile(folder: &Path) -> Result<PathBuf, Failure> {
    let program = folder.join("kernels");
    let sources = sources(&root().join("hak-bench/c"))?;
    let mut command = Command::new("cc");
    command.args(FLAGS).arg("-o").arg(&program).args(&sources);
    let output = children::output(&mut command).map_err(|error| {
        let help = "Debian's package `gcc` has it, and hak-bench/peers/install installs it";
        Failure::Failed(format!("could not start cc: {error}\nhelp: {help}"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Failed(format!("hak-bench/c does not compile:\n{said}")));
    }
    Ok(program)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let could_not = |error| Failure::could_not(format!("list {}", folder.display()), error);
    let entries = fs::read_dir(folder).map_err(could_not)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(could_not)?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "c"));
    paths.sort_unstable();
    Ok(paths)
}

/// The kernels that the program has.
pub(super) fn list(program: &Path) -> Result<Vec<Listed>, Failure> {
    let output = children::output(&mut Command::new(program))
        .map_err(|error| Failure::could_not(format!("start {}", program.display()), error))?;
    Listed::parse(&String::from_utf8_lossy(&output.stdout)).map_err(Failure::Failed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use hak_bench_kernels::{Kernel, Outcome};

    use super::{compile, list};

    fn in_rust(name: &str) -> Kernel {
        let kernels = hak_bench_kernels::kernels();
        *kernels.iter().find(|kernel| kernel.name == name).unwrap()
    }

    fn run(program: &Path, name: &str, numbers: &[u64]) -> Outcome {
        let numbers = numbers.iter().map(u64::to_string);
        let output = Command::new(program).arg(name).args(numbers).output().unwrap();
        Outcome::parse(&String::from_utf8_lossy(&output.stdout)).unwrap()
    }

    #[test]
    fn each_is_told_as_the_one_in_rust() {
        let folder = tempfile::tempdir().unwrap();
        let listed = list(&compile(folder.path()).unwrap()).unwrap();
        let names: Vec<_> = listed.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["random-mixed", "larson", "xmalloc", "churn"]);
        for listed in listed {
            let Kernel { about, group, operation, parameters, .. } = in_rust(&listed.name);
            assert_eq!(listed.parameters.len(), parameters.len());
            for (listed, told) in listed.parameters.iter().zip(parameters) {
                assert_eq!((listed.name.as_str(), listed.default), (told.name, told.default));
                assert_eq!((listed.least, listed.most), (told.least, told.most));
            }
            assert_eq!((listed.about.as_str(), listed.group), (about, group));
            assert_eq!(listed.operation, operation);
        }
    }

    /// The checksum depends on every number that is drawn but the sizes.
    #[test]
    fn each_does_the_work_of_the_one_in_rust() {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path()).unwrap();
        let runs: [(&str, &[u64]); 4] = [
            ("random-mixed", &[20_000, 256, 7]),
            ("larson", &[3, 2, 100, 7]),
            ("xmalloc", &[3, 5, 7]),
            ("churn", &[5, 3, 100, 7]),
        ];
        for (name, numbers) in runs {
            let measured = (in_rust(name).run)(numbers);
            let outcome = run(&program, name, numbers);
            assert_eq!(outcome.operations, measured.operations, "{name}");
            assert_eq!(outcome.checksum, measured.checksum, "{name}");
            assert!(outcome.peak_resident_bytes > 0 && outcome.minor_faults > 0, "{name}");
        }
    }

    /// What is asked for, between the program and its allocator: sizes are in no checksum.
    #[test]
    fn each_asks_for_the_sizes_that_it_tells() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = folder.path().join("sizes");
        let wrapped = Command::new("cc")
            .args(["-O1", "-pthread", "-Wl,--wrap=malloc", "-o"])
            .arg(&sizes)
            .args(super::sources(&super::root().join("hak-bench/c")).unwrap())
            .arg(super::root().join("hak-bench/tests/sizes.c"))
            .status();
        assert!(wrapped.unwrap().success());
        let runs: [(&str, &[&str], u64, u64); 4] = [
            ("random-mixed", &["100000", "256"], 16, 1040),
            ("larson", &["2", "2", "200"], 8, 1000),
            ("xmalloc", &["3", "2"], 16, 1023),
            ("churn", &["40", "1", "400"], 16, 1023),
        ];
        for (name, numbers, least, most) in runs {
            let output = Command::new(&sizes).arg(name).args(numbers).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(told, format!("{least} {most}\n"), "{name}");
        }
    }

    #[test]
    fn numbers_that_are_not_understood_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path()).unwrap();
        let error = |words: &[&str]| {
            let output = Command::new(&program).args(words).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{words:?}");
            String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
        };
        assert_eq!(error(&["pear"]), "error: no kernel is named `pear` in C");
        assert_eq!(error(&["churn", "x"]), "error: `x` is not a number");
        assert_eq!(error(&["churn", "-1"]), "error: `-1` is not a number");
        let message = "error: `threads` of `larson` is from 1 to 64, not 65";
        assert_eq!(error(&["larson", "1", "65"]), message);
        let message = "error: `xmalloc` takes no number `4`";
        assert_eq!(error(&["xmalloc", "1", "2", "3", "4"]), message);
    }
}
