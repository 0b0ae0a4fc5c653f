//! What is to be counted: a kernel with its numbers, and the peers.

use hak_bench_kernels::{Listed, ListedParameter};

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
    /// nothing is told. An error where the kernel does not take what is told.
    pub(crate) fn new(kernel: Listed, told: &[u64]) -> Result<Asked, Failure> {
        let parameters = &kernel.parameters;
        if told.len() > parameters.len() {
            let (name, defaults) = (&kernel.name, kernel.defaults());
            let message = format!("`{name}` takes no more numbers than these: {defaults}");
            return Err(Failure::Usage(message));
        }
        let refused = parameters.iter().zip(told).filter(|(it, number)| !it.takes(**number));
        let refused: Vec<_> =
            refused.map(|(it, number)| format!("no `{}` of {number}", it.name)).collect();
        if !refused.is_empty() {
            let (name, refused) = (&kernel.name, refused.join(", and "));
            let bounds: Vec<_> = parameters.iter().map(ListedParameter::to_string).collect();
            let bounds = bounds.join(", ");
            let message = format!("`{name}` takes {refused}\nhelp: it takes {bounds}");
            return Err(Failure::Usage(message));
        }
        let mut numbers: Vec<_> = parameters.iter().map(|parameter| parameter.default).collect();
        if let (Some(number), Some(first)) = (numbers.first_mut(), parameters.first()) {
            *number = (*number / SHORTER).max(first.least);
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
    use hak_bench_kernels::Listed;

    use super::{Asked, peers};

    fn listed(parameters: &str) -> Listed {
        let line = format!("pair\tpattern\tmake\t{parameters}\tmakes");
        Listed::parse(&line).unwrap().remove(0)
    }

    #[test]
    fn what_is_told_comes_before_defaults() {
        let numbers =
            |told: &[u64]| Asked::new(listed("cycles=1000:1:9999 live=256:1:999"), told).unwrap();
        assert_eq!(numbers(&[]).numbers, [10, 256]);
        assert_eq!(numbers(&[7]).numbers, [7, 256]);
        assert_eq!(numbers(&[7, 8]).numbers, [7, 8]);
        assert_eq!(numbers(&[7, 8]).arguments(), ["pair", "7", "8"]);
        assert_eq!(Asked::new(listed("rounds=3:1:9"), &[]).unwrap().numbers, [1]);
    }

    #[test]
    fn too_many_numbers_are_refused() {
        let failure = Asked::new(listed("rounds=3:1:9"), &[1, 2]).unwrap_err();
        assert_eq!(failure.to_string(), "`pair` takes no more numbers than these: rounds=3");
        assert_eq!(failure.exit_code(), 2);
    }

    #[test]
    fn all_numbers_out_of_bounds_are_told_at_once() {
        let kernel = || listed("cycles=1000:1:18446744073709551615 live=256:1:999 seed=1:0:9");
        let failure = Asked::new(kernel(), &[0, 1000, 0]).unwrap_err();
        let message = "`pair` takes no `cycles` of 0, and no `live` of 1000\n\
                       help: it takes cycles (1 or more), live (1 to 999), seed (0 to 9)";
        assert_eq!(failure.to_string(), message);
        assert_eq!(failure.exit_code(), 2);
        assert!(Asked::new(kernel(), &[1, 999, 9]).is_ok());
    }

    #[test]
    fn the_system_allocator_is_always_there() {
        let names = |told: &[&str]| peers(told.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(names(&["hak-web"]), ["hak-web", "system"]);
        assert_eq!(names(&["system", "hak-web"]), ["system", "hak-web"]);
        assert_eq!(names(&[]), [""; 0]);
    }
}
