//! Strings that are split, built, sorted and joined.

use super::text::{self, words};
use crate::kernel::{Group, Kernel, parameter, seed};
use crate::measure::{Measured, measure};
use crate::random::Random;

pub(super) const KERNEL: Kernel = Kernel {
    name: "strings",
    about: "lines of some 80 bytes are split into fields, each a string of its own; the records \
            are changed, sorted by their fields, and joined to lines and to one text again",
    group: Group::Program,
    operation: "line",
    parameters: &[parameter("passes", 20), parameter("lines", 10_000), seed(42)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[passes, lines, seed] = parameters else { unreachable!("one number for each parameter") };
    let mut random = Random::new(seed);
    let lines_of_input: Vec<String> = (0..lines).map(|_| line(&mut random)).collect();
    let input = lines_of_input.join("\n");
    measure(passes * lines, || work(passes, &input))
}

#[inline(never)]
fn work(passes: u64, input: &str) -> u64 {
    (0..passes).map(|_| text::sum(&sorted(input))).sum()
}

/// By the second field, which becomes the first, and by the others after it.
fn sorted(input: &str) -> String {
    let split = |line: &str| line.split(';').map(str::to_owned).collect();
    let mut records: Vec<Vec<String>> = input.lines().map(split).collect();
    for record in &mut records {
        record.rotate_left(1);
        record.push(record.concat().to_uppercase());
    }
    records.sort();
    let lines: Vec<String> = records.iter().map(|record| record.join("; ")).collect();
    lines.join("\n")
}

/// A number, and four fields of one to four words.
fn line(random: &mut Random) -> String {
    let mut line = random.below(1 << 20).to_string();
    for _ in 0..4 {
        let count = random.within(1, 4);
        line.push(';');
        line.push_str(&words(random, count));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{line, sorted};
    use crate::random::Random;

    #[test]
    fn records_are_sorted_by_the_second_field() {
        assert_eq!(sorted("1;b;x\n2;a;y\n0;b;w"), "a; y; 2; AY2\nb; w; 0; BW0\nb; x; 1; BX1");
    }

    #[test]
    fn lines_are_as_long_as_is_told() {
        let mut random = Random::new(42);
        let lines: Vec<_> = (0..1000).map(|_| line(&mut random)).collect();
        let bytes = lines.iter().map(String::len).sum::<usize>() / lines.len();
        assert!((70..90).contains(&bytes), "{bytes}");
        assert!(lines.iter().all(|line| line.split(';').count() == 5));
    }
}
