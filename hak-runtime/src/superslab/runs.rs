//! Runs of set bits in a mask of units.

/// The bits of `units` units from `first`; `units` is 1 to 31.
pub(super) fn run_mask(first: u32, units: u32) -> u32 {
    ((1 << units) - 1) << first
}

/// Where the lowest run of `units` set bits starts; 32 when there is none.
pub(super) fn first_run(mask: u32, units: u32) -> u32 {
    // Bit `i` of `starts` says: the `seen` bits from `i` on are set.
    let (mut starts, mut seen) = (mask, 1);
    while seen < units {
        let step = seen.min(units - seen);
        starts &= starts >> step;
        seen += step;
    }
    starts.trailing_zeros()
}

/// Length of the longest run of set bits.
pub(super) fn longest_run(mut mask: u32) -> u32 {
    let mut run = 0;
    while mask != 0 {
        mask &= mask >> 1;
        run += 1;
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bits_are_found() {
        assert_eq!(first_run(0b1011_0111, 1), 0);
        assert_eq!(first_run(0b1011_0111, 3), 0);
        assert_eq!(first_run(0b1011_0110, 2), 1);
        assert_eq!(first_run(0b1011_0110, 3), 32);
        assert_eq!(first_run(!1, 31), 1);
        assert_eq!(longest_run(0b1011_0111), 3);
        assert_eq!(longest_run(!1), 31);
        assert_eq!(longest_run(0), 0);
    }
}
