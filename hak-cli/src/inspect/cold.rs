//! Where a branch would have gone: the side that the hit path does not take.

use std::collections::BTreeSet;

use iced_x86::{FlowControl, Instruction};

use super::binary::Binary;
use super::names::Name;

/// The other side of a branch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OtherSide {
    /// Functions that it calls or jumps to, the nearest first.
    pub(super) functions: Vec<Name>,
    /// Those of them that never return.
    pub(super) ends_in: Vec<Name>,
    /// Whether it may come back to the hit path.
    pub(super) comes_back: bool,
    /// Whether that is all it does, without a call.
    pub(super) is_detour: bool,
    /// Whether it may end otherwise than by a call that never returns: comes back, or returns.
    pub(super) may_return: bool,
}

/// Instructions of one side that are looked at; what is longer is taken to return.
const INSTRUCTIONS_MAX: usize = 1000;

/// Follows the other side from its first instruction. `hit_path` holds the addresses that ran.
pub(super) fn other_side(
    binary: &Binary,
    branch: &Instruction,
    start: u64,
    hit_path: &BTreeSet<u64>,
) -> OtherSide {
    let mut side = OtherSide::default();
    let (mut waiting, mut seen) = (vec![start], BTreeSet::new());
    let own = binary.function_at(branch.ip()).map(|(function, _)| function);
    while let Some(place) = waiting.pop() {
        if seen.len() > INSTRUCTIONS_MAX {
            side.may_return = true;
            break;
        }
        if !seen.insert(place) {
            continue;
        }
        let function = binary.function_at(place);
        if function.map(|(function, _)| function) != own {
            side.may_return |= side.enters(binary, place);
            continue;
        }
        if hit_path.contains(&place) {
            side.comes_back = true;
            continue;
        }
        match binary.instruction(place) {
            Some(instruction) => side.step(binary, &instruction, &mut waiting),
            None => side.may_return = true,
        }
    }
    side.is_detour = side.comes_back && side.functions.is_empty() && !side.may_return;
    side.may_return |= side.comes_back;
    side
}

impl OtherSide {
    fn step(&mut self, binary: &Binary, instruction: &Instruction, waiting: &mut Vec<u64>) {
        let (next, target) = (instruction.next_ip(), instruction.near_branch_target());
        match instruction.flow_control() {
            FlowControl::Next => waiting.push(next),
            FlowControl::ConditionalBranch => waiting.extend([target, next]),
            FlowControl::UnconditionalBranch => waiting.push(target),
            FlowControl::Call if self.enters(binary, target) => waiting.push(next),
            FlowControl::Call => {}
            FlowControl::IndirectCall => waiting.push(next),
            // A trap: code that is never reached.
            FlowControl::Exception => {}
            _ => self.may_return = true,
        }
    }

    /// Notes a function that is called or jumped to. Whether it may return.
    fn enters(&mut self, binary: &Binary, place: u64) -> bool {
        let name = binary.function_at(place).map(|(_, symbol)| symbol.name.clone());
        let may_return = !never_returns(binary, place, &mut BTreeSet::new());
        self.ends_in.extend(name.clone().filter(|_| !may_return));
        self.functions.extend(name);
        may_return
    }
}

/// Whether a function has no return, and jumps to no function that has one.
fn never_returns(binary: &Binary, function: u64, seen: &mut BTreeSet<u64>) -> bool {
    let Some((start, symbol)) = binary.function_at(function) else { return false };
    if !seen.insert(start) {
        return true;
    }
    let end = start + symbol.bytes;
    binary.instructions(start).all(|instruction| match instruction.flow_control() {
        FlowControl::Return | FlowControl::IndirectBranch => false,
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            let target = instruction.near_branch_target();
            (start..end).contains(&target) || never_returns(binary, target, seen)
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    ///  0  one:   je 9        3  je 16      6  xor eax, eax    8  ret
    ///  9         call ends  14  ud2
    /// 16         call goes  21  jmp 6
    /// 23  ends:  ud2
    /// 25  goes:  ret
    /// 26  joins: jmp ends
    /// ```
    const CODE: [u8; 28] = [
        0x74, 0x07, 0x90, 0x74, 0x0b, 0x90, 0x31, 0xc0, 0xc3, // one
        0xe8, 0x09, 0, 0, 0, 0x0f, 0x0b, // call ends
        0xe8, 0x04, 0, 0, 0, 0xeb, 0xef, // call goes
        0x0f, 0x0b, // ends
        0xc3, // goes
        0xeb, 0xfb, // joins
    ];

    fn code() -> Binary {
        let functions = [("one", 0, 23), ("ends", 23, 2), ("goes", 25, 1), ("joins", 26, 2)];
        Binary::of_code(0, &CODE, &functions)
    }

    fn side(start: u64) -> (Vec<String>, Vec<String>, bool, bool) {
        let binary = code();
        let hit_path = BTreeSet::from([0, 3, 6, 8]);
        let branch = binary.instruction(0).unwrap();
        let side = other_side(&binary, &branch, start, &hit_path);
        let names = |names: &[Name]| names.iter().map(Name::short).collect();
        (names(&side.functions), names(&side.ends_in), side.comes_back, side.may_return)
    }

    #[test]
    fn a_side_that_ends_the_program() {
        assert_eq!(side(9), (vec!["ends".to_owned()], vec!["ends".to_owned()], false, false));
    }

    #[test]
    fn a_side_that_comes_back() {
        assert_eq!(side(16), (vec!["goes".to_owned()], vec![], true, true));
    }

    #[test]
    fn a_branch_may_lead_to_a_function() {
        assert_eq!(side(25), (vec!["goes".to_owned()], vec![], false, true));
        let ends = side(26);
        assert_eq!(ends, (vec!["joins".to_owned()], vec!["joins".to_owned()], false, false));
    }
}
