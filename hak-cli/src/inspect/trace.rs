//! Which instructions ran: what the inspected program notes, as calls with their instructions.

use std::array;

use iced_x86::{FlowControl, Instruction};

use super::Result;
use super::binary::Binary;
use super::names::LOOKED_AT;

/// One run of a function that is looked at.
pub(super) struct Run {
    /// Its number in `LOOKED_AT`.
    pub(super) call: usize,
    /// What ran, from its first instruction up to its return, which is not among them.
    pub(super) steps: Vec<Step>,
    /// Where that return is.
    pub(super) end: u64,
    /// Instructions that ran outside of the executable, in a shared library.
    pub(super) outside: usize,
}

/// An instruction that ran.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) instruction: Instruction,
    /// Where its function starts.
    pub(super) function: u64,
}

/// The hit path of each function: the shortest run. What a run does now and then, such as fetching
/// blocks, makes it longer.
pub(super) fn read(noted: &[u8], binary: &Binary) -> Result<[Run; LOOKED_AT.len()]> {
    let starts: Vec<_> =
        LOOKED_AT.iter().map(|name| binary.address_of(name)).collect::<Result<_>>()?;
    let words: Vec<_> = noted.chunks_exact(8).map(word).collect();
    let (&loaded_at, records) = words.split_first().ok_or("the program noted nothing")?;
    let slide = loaded_at.wrapping_sub(starts[0]);
    let mut shortest: [Option<Run>; LOOKED_AT.len()] = array::from_fn(|_| None);
    let mut rest = records;
    while let [call, count, noted @ ..] = rest {
        let (places, behind) = noted.split_at((*count as usize).min(noted.len()));
        rest = behind;
        let (Some(&start), places) =
            (starts.get(*call as usize), places.iter().map(|place| place.wrapping_sub(slide)))
        else {
            continue;
        };
        let Some(run) = follow(*call as usize, start, places, binary) else { continue };
        let best = &mut shortest[run.call];
        if best.as_ref().is_none_or(|best| run.length() < best.length()) {
            *best = Some(run);
        }
    }
    let all: Option<Vec<_>> = shortest.into_iter().collect();
    let all = all.and_then(|runs| runs.try_into().ok());
    all.ok_or_else(|| "the program's steps cannot be followed: a hit path is too long".to_owned())
}

/// From the function's first instruction to its return; `None` when it does not come so far.
fn follow(
    call: usize,
    start: u64,
    places: impl Iterator<Item = u64>,
    binary: &Binary,
) -> Option<Run> {
    let mut run = Run { call, steps: Vec::new(), end: 0, outside: 0 };
    let mut returns = Vec::new();
    let mut was_outside = false;
    let mut last = 0;
    for place in places.skip_while(|&place| place != start) {
        let Some(instruction) = binary.instruction(place) else {
            was_outside = true;
            run.outside += 1;
            continue;
        };
        if was_outside && returns.pop() != Some(place) {
            return returns.is_empty().then_some(run);
        }
        was_outside = false;
        let flow = instruction.flow_control();
        if flow == FlowControl::Return && returns.pop().is_none() {
            run.end = place;
            return Some(run);
        }
        // A repeated string instruction is noted once for each repetition.
        if place != last || !is_repeated(&instruction) {
            let function = binary.function_at(place).map_or(place, |(function, _)| function);
            run.steps.push(Step { instruction, function });
        }
        last = place;
        if matches!(flow, FlowControl::Call | FlowControl::IndirectCall) {
            returns.push(instruction.next_ip());
        }
    }
    None
}

fn is_repeated(instruction: &Instruction) -> bool {
    instruction.has_rep_prefix() || instruction.has_repne_prefix()
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Run {
    fn length(&self) -> usize {
        self.steps.len() + self.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    ///  0  alloc_constant:  call 6     5  ret
    ///  6  callee:          rep stosb  8  ret
    /// 10  the other functions:  ret
    /// ```
    const CODE: [u8; 14] =
        [0xe8, 0x01, 0, 0, 0, 0xc3, 0xf3, 0xaa, 0xc3, 0x90, 0xc3, 0xc3, 0xc3, 0xc3];

    fn code() -> Binary {
        let others = LOOKED_AT[1..].iter().zip(10..).map(|(name, at)| (*name, at, 1));
        let functions: Vec<_> =
            [(LOOKED_AT[0], 0, 6), ("callee", 6, 3)].into_iter().chain(others).collect();
        Binary::of_code(0x1000, &CODE, &functions)
    }

    /// What the program writes when it is loaded somewhere else.
    fn noted(records: &[(u64, &[u64])]) -> Vec<u8> {
        let at = |offset: u64| 0x55_0000 + offset;
        let record = |(call, places): &(u64, &[u64])| {
            let places = places.iter().map(|place| at(*place));
            [*call, places.len() as u64].into_iter().chain(places).collect::<Vec<_>>()
        };
        let words = [at(0)].into_iter().chain(records.iter().flat_map(record));
        words.flat_map(u64::to_le_bytes).collect()
    }

    const REST: [(u64, &[u64]); 4] = [(1, &[10]), (2, &[11]), (3, &[12]), (4, &[13])];

    fn read_all(first: &[(u64, &[u64])]) -> Result<Vec<(usize, usize)>> {
        let runs = read(&noted(&[first, &REST].concat()), &code())?;
        Ok(runs.iter().map(|run| (run.steps.len(), run.outside)).collect())
    }

    /// What runs before and behind the call is left out, and so is its return. The repeated
    /// instruction is one.
    #[test]
    fn a_call_is_followed_to_its_return() {
        let runs = read_all(&[(0, &[99, 0, 6, 6, 6, 8, 5, 98])]).unwrap();
        assert_eq!(runs[0], (3, 0));
    }

    #[test]
    fn the_shortest_run_is_the_hit_path() {
        let outside = [0, 6, 8, 99, 99, 5];
        assert_eq!(read_all(&[(0, &[0, 99, 99, 5]), (0, &outside)]).unwrap()[0], (1, 2));
        assert_eq!(read_all(&[(0, &[0, 6, 8, 5]), (0, &[0, 99, 99, 99, 5])]).unwrap()[0], (3, 0));
    }

    #[test]
    fn what_does_not_return_is_no_path() {
        let why = read_all(&[(0, &[0, 6, 8])]).map(drop).unwrap_err();
        assert!(why.contains("cannot be followed"), "{why}");
        let why = read(&[], &code()).map(drop).unwrap_err();
        assert!(why.contains("noted nothing"), "{why}");
    }
}
