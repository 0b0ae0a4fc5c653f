//! Which checks a spec asks for: each by its own key, or as a part of the level.

use crate::problem::{At, Located, depth};
use crate::raw::{Field, Raw};
use crate::spec::Checks;

/// What is checked of what the program hands back.
const BOUNDARY: Checks =
    Checks { foreign: true, alignment: true, size: true, double_free: true, ..Checks::OFF };
/// And of what it writes.
const FULL: Checks = Checks { canary: true, poison: true, ..BOUNDARY };
/// And what makes the mistakes that remain harder to use.
const HARDENED: Checks = Checks { zero: true, random: true, quarantine: true, guard: true, ..FULL };

/// A check: its key, and its bit.
pub(crate) struct Check {
    pub(crate) path: &'static str,
    bit: fn(&mut Checks) -> &mut bool,
}

/// All checks, in the order of the reference page.
pub(crate) static CHECKS: [Check; 10] = [
    Check { path: "validation.foreign", bit: |checks| &mut checks.foreign },
    Check { path: "validation.alignment", bit: |checks| &mut checks.alignment },
    Check { path: "validation.size", bit: |checks| &mut checks.size },
    Check { path: "validation.double_free", bit: |checks| &mut checks.double_free },
    Check { path: "validation.canary", bit: |checks| &mut checks.canary },
    Check { path: "validation.poison", bit: |checks| &mut checks.poison },
    Check { path: "validation.zero", bit: |checks| &mut checks.zero },
    Check { path: "validation.random", bit: |checks| &mut checks.random },
    Check { path: "validation.quarantine", bit: |checks| &mut checks.quarantine },
    Check { path: "validation.guard", bit: |checks| &mut checks.guard },
];

/// Checks that work on the blocks a thread keeps.
pub(crate) const OF_A_CACHE: [&str; 2] = ["random", "quarantine"];

impl Check {
    /// The last part of its key.
    pub(crate) fn name(&self) -> &'static str {
        self.path.trim_start_matches("validation.")
    }

    fn is_in(&self, mut level: Checks) -> bool {
        *(self.bit)(&mut level)
    }
}

/// Whether a check is on, and what says so.
pub(crate) struct Standing<'a> {
    pub(crate) name: &'static str,
    pub(crate) is_on: bool,
    pub(crate) at: Option<&'a At>,
    /// The level, when the check has no key of its own.
    pub(crate) level: Option<&'a str>,
}

impl Standing<'_> {
    /// How far down the chain of bases that stands; defaults are below all files.
    pub(crate) fn depth(&self) -> usize {
        depth(self.at)
    }
}

impl Raw {
    /// How a check stands; `None` when what says so is broken.
    pub(crate) fn standing(&self, name: &str) -> Option<Standing<'_>> {
        let check = CHECKS.iter().find(|check| check.name() == name).expect("a known check");
        let standing = self.as_written(check)?;
        let layers = self.layers.as_ref().filter(|_| self.has_no_cache());
        match layers {
            Some(layers) if OF_A_CACHE.contains(&name) && standing.depth() > layers.depth() => {
                let at = layers.at.as_ref();
                Some(Standing { name: check.name(), is_on: false, at, level: None })
            }
            _ => Some(standing),
        }
    }

    fn as_written(&self, check: &Check) -> Option<Standing<'_>> {
        let name = check.name();
        match self.checks.single.get(check.path) {
            Some(own) => {
                let Located { value, at } = own.as_ref()?;
                Some(Standing { name, is_on: *value, at: at.as_ref(), level: None })
            }
            None => {
                let Located { value, at } = self.checks.level.as_ref()?;
                let is_on = check.is_in(sum(value));
                Some(Standing { name, is_on, at: at.as_ref(), level: Some(value) })
            }
        }
    }

    /// Whether a check is on.
    pub(crate) fn is_checked(&self, name: &str) -> bool {
        self.standing(name).is_some_and(|check| check.is_on)
    }

    /// Whether every large request is a mapping of its own.
    pub(crate) fn maps_large(&self) -> bool {
        self.is_checked("poison") || self.is_checked("guard")
    }
}

/// The checks of a level.
fn sum(level: &str) -> Checks {
    match level {
        "boundary" => BOUNDARY,
        "full" => FULL,
        "hardened" => HARDENED,
        _ => Checks::OFF,
    }
}

/// The checks of a spec that passed every rule; `None` when a value of theirs is broken.
pub(crate) fn resolve(raw: &Raw) -> Option<Checks> {
    let mut checks = Checks::OFF;
    for check in &CHECKS {
        *(check.bit)(&mut checks) = raw.standing(check.name())?.is_on;
    }
    if checks.quarantine {
        checks.quarantine_bytes = raw.checks.quarantine_bytes.as_ref()?.value;
    }
    if checks.random {
        checks.seed = seed(&raw.checks.seed)?;
    }
    Some(checks)
}

/// `Some(None)` when the system gives one, `None` when the value is broken.
fn seed(field: &Option<Field<u64>>) -> Option<Option<u64>> {
    match field {
        Some(seed) => Some(Some(seed.as_ref()?.value)),
        None => Some(None),
    }
}
