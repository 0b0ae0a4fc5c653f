//! What has to be known beside the figures.

use crate::summary::{Comparison, NoNoise};

/// Sentences without their ends, one for each matter; none where all is as it should be.
pub(crate) fn of(comparisons: &[Comparison]) -> Vec<String> {
    noise(comparisons).chain(own(comparisons)).collect()
}

/// Own specs that nobody asked for.
fn own(comparisons: &[Comparison]) -> impl Iterator<Item = String> {
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for kernel in comparisons.iter().filter(|it| !it.own_is_asked_for()).map(|it| it.kernel) {
        match missing.iter_mut().find(|(own, _)| *own == kernel.own) {
            Some((_, kernels)) => kernels.push(&kernel.name),
            None => missing.push((&kernel.own, vec![&kernel.name])),
        }
    }
    missing.into_iter().map(|(own, kernels)| {
        format!("the own spec of {} was not among the peers: {own}", listed(&kernels))
    })
}

/// Where there is no noise floor.
fn noise(comparisons: &[Comparison]) -> impl Iterator<Item = String> {
    [NoNoise::OneRound, NoNoise::ControlFailed].into_iter().filter_map(|reason| {
        let without = comparisons.iter().filter(|it| it.noise == Err(reason));
        let names: Vec<_> = without.map(|it| it.kernel.name.as_str()).collect();
        let place = match names.len() {
            0 => return None,
            all if all == comparisons.len() => String::new(),
            _ => format!(" on {}", listed(&names)),
        };
        let why = reason.why();
        Some(format!("{why}: no difference is claimed{place}"))
    })
}

/// The names, or how many there are.
fn listed(names: &[&str]) -> String {
    const NAMES_MAX: usize = 4;
    match names {
        names if names.len() > NAMES_MAX => format!("{} kernels", names.len()),
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::page::made_up;
    use crate::summary::comparisons;
    use crate::summary::tests::rounds;

    #[test]
    fn an_own_spec_that_is_not_among_the_peers_is_named() {
        let mut results = rounds(9);
        results.kernels.retain(|kernel| ["list", "web", "tokio"].contains(&&*kernel.name));
        for kernel in &mut results.kernels {
            kernel.rows.retain(|row| row.peer != "hak-web");
        }
        let told = "the own spec of tokio, web was not among the peers: hak-web";
        assert_eq!(of(&comparisons(&results)), [told]);
    }

    #[test]
    fn no_noise_floor_is_told_with_its_reason() {
        let failed = "the control failed: no difference is claimed on mixed-32k";
        assert_eq!(of(&comparisons(&made_up::results())), [failed]);
        let mut one = rounds(1);
        let single = "one round has no noise floor: no difference is claimed on 35 kernels";
        assert_eq!(of(&comparisons(&one)), [single, failed]);
        one.kernels.truncate(1);
        let single = "one round has no noise floor: no difference is claimed";
        assert_eq!(of(&comparisons(&one)), [single]);
        one.kernels.clear();
        assert!(of(&comparisons(&one)).is_empty());
    }
}
