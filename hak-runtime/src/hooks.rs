//! What an allocator with checks has done beside the usual: when it is first used, and with each
//! new slab.
//!
//! The layers below know these things by function pointers in [`Terms`], so that a program has
//! nothing of a check that none of its allocators asks for.

use crate::account::Terms;
use crate::canary;
use crate::checks::{CANARY, FOREIGN, GUARD, POISON, ZERO};
use crate::poison::Poison;
use crate::{address_map, guard};

/// Terms with what these checks need.
#[must_use]
pub const fn checked<const CHECKS: u16>(terms: Terms) -> Terms {
    Terms {
        on_register: match CHECKS & (FOREIGN | CANARY | GUARD) {
            0 => None,
            _ => Some(begin::<CHECKS>),
        },
        fill_slab: match (CHECKS & POISON != 0, CHECKS & ZERO != 0) {
            (false, _) => None,
            (true, false) => Some(Poison::<false>::fill_slab),
            (true, true) => Some(Poison::<true>::fill_slab),
        },
        guard_slab: if CHECKS & GUARD == 0 { None } else { Some(guard::SLAB_GUARD) },
        ..terms
    }
}

/// What is done once, before the allocator hands out its first block.
pub(crate) fn begin<const CHECKS: u16>() {
    if const { CHECKS & FOREIGN != 0 } {
        address_map::watch();
    }
    if const { CHECKS & CANARY != 0 } {
        canary::choose_secret();
    }
    if const { CHECKS & GUARD != 0 } {
        guard::watch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_have_what_their_checks_need_and_no_more() {
        let needs = |terms: Terms| {
            let Terms { on_register, fill_slab, guard_slab, .. } = terms;
            [on_register.is_some(), fill_slab.is_some(), guard_slab.is_some()]
        };
        assert_eq!(needs(checked::<0>(Terms::DEFAULT)), [false; 3]);
        assert_eq!(needs(checked::<FOREIGN>(Terms::DEFAULT)), [true, false, false]);
        assert_eq!(needs(checked::<CANARY>(Terms::DEFAULT)), [true, false, false]);
        assert_eq!(needs(checked::<POISON>(Terms::DEFAULT)), [false, true, false]);
        assert_eq!(needs(checked::<ZERO>(Terms::DEFAULT)), [false; 3]);
        assert_eq!(needs(checked::<GUARD>(Terms::DEFAULT)), [true, false, true]);
    }
}
