//! What is to be counted: a kernel with its numbers, and the peers.

use hak_bench_kernels::Listed;

use crate::failure::Failure;

/// What others are compared with: the first of [`PEERS`](crate::peers::PEERS).
pub(crate) const SYSTEM: &str = "system";

/// What is counted does not get surer by repetition: where no number is told, the first parameter
/// is the kernel's default divided by this. Under callgrind a program takes about 50 times as long.
pub(crate) const SHORTER: u64 = 100;

/// The peers of these names, or all where there is none; the system allocator in any case.
pub(crate) fn peers(mut names: Vec<String>) -> Vec<String> {
    if !names.is_empty() && names.iter().all(|name| name != SYSTEM) {
        names.push(SYSTEM.to_owned());
    }
    names
}

/// A kernel, and a number for each of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) kernel: Listed,
    pub(crate) numbers: Vec<u64>,
}

impl Asked {
    /// What is told comes first; defaults fill up, the first of them divided by [`SHORTER`] where
    /// nothing is told.
    pub(crate) fn new(kernel: Listed, told: &[u64]) -> Result<Asked, Failure> {
        let defaults = kernel.parameters.split_whitespace().map(|parameter| {
            let (_, default) = parameter.split_once('=')?;
            default.parse().ok()
        });
        let Some(mut numbers) = defaults.collect::<Option<Vec<u64>>>() else {
            let Listed { name, parameters, .. } = &kernel;
            let message = format!("`{name}` tells of parameters that are not read: {parameters}");
            return Err(Failure::Failed(message));
        };
        if told.len() > numbers.len() {
            let Listed { name, parameters, .. } = &kernel;
            let message = format!("`{name}` takes no more numbers than these: {parameters}");
            return Err(Failure::Usage(message));
        }
        if let Some(first) = numbers.first_mut() {
            *first = (*first / SHORTER).max(1);
        }
        numbers[..told.len()].copy_from_slice(told);
        Ok(Asked { kernel, numbers })
    }

    /// For a subject's command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let numbers = self.numbers.iter().map(u64::to_string);
        [self.kernel.name.clone()].into_iter().chain(numbers).collect()
    }
}

#[cfg(test)]
mod tests {
    use hak_bench_kernels::{Group, Listed};

    use super::{Asked, peers};

    fn listed(parameters: &str) -> Listed {
        let [name, operation, about] = ["pair", "make", "makes"].map(str::to_owned);
        Listed { name, group: Group::Pattern, operation, parameters: parameters.to_owned(), about }
    }

    #[test]
    fn what_is_told_comes_before_defaults() {
        let numbers = |told: &[u64]| Asked::new(listed("cycles=1000 live=256"), told).unwrap();
        assert_eq!(numbers(&[]).numbers, [10, 256]);
        assert_eq!(numbers(&[7]).numbers, [7, 256]);
        assert_eq!(numbers(&[7, 8]).numbers, [7, 8]);
        assert_eq!(numbers(&[7, 8]).arguments(), ["pair", "7", "8"]);
        assert_eq!(Asked::new(listed("rounds=3"), &[]).unwrap().numbers, [1]);
    }

    #[test]
    fn too_many_numbers_are_refused() {
        let failure = Asked::new(listed("rounds=3"), &[1, 2]).unwrap_err();
        assert_eq!(failure.to_string(), "`pair` takes no more numbers than these: rounds=3");
        assert_eq!(failure.exit_code(), 2);
    }

    #[test]
    fn the_system_allocator_is_always_there() {
        let names = |told: &[&str]| peers(told.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(names(&["hak-web"]), ["hak-web", "system"]);
        assert_eq!(names(&["system", "hak-web"]), ["system", "hak-web"]);
        assert_eq!(names(&[]), [""; 0]);
    }
}
