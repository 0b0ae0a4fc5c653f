//! Rules about `[validation]`: which check needs which layer, or another check.

use crate::checks::{OF_A_CACHE, Standing};
use crate::problem::{At, Problems, depth, is_own};
use crate::raw::Raw;
use crate::units::{show, show_written};
use crate::words::all_of;

/// A pointer and its Layout are judged by the slab that the pointer lies in.
pub(crate) fn alignment_and_size_need_foreign(raw: &Raw, problems: &mut Problems) {
    let Some(foreign) = raw.standing("foreign").filter(|foreign| !foreign.is_on) else { return };
    let clash = Clash {
        why: "cannot go without `foreign`, which finds the slab that a pointer lies in",
        at: foreign.at,
        way_out: "write `foreign = true`",
    };
    clash.report(raw, &["alignment", "size"], problems);
}

/// What is compared when a block is reused must not be written in between.
pub(crate) fn canary_and_poison_go_without_freelist(raw: &Raw, problems: &mut Problems) {
    let Some(layers) = &raw.layers else { return };
    if layers.value.iter().any(|layer| layer.value == "freelist") {
        let clash = Clash {
            why: "cannot go with the layer `freelist`, whose links lie in free blocks",
            at: layers.at.as_ref(),
            way_out: "leave the layer out",
        };
        clash.report(raw, &["canary", "poison"], problems);
    }
}

/// A random block is one of an array.
pub(crate) fn random_needs_magazines(raw: &Raw, problems: &mut Problems) {
    let Some(layers) = raw.layers.as_ref().filter(|_| !raw.has_no_cache()) else { return };
    if !layers.value.iter().any(|layer| layer.value == "magazine") {
        let clash = Clash {
            why: "cannot go without the layer `magazine`, the array to choose from",
            at: layers.at.as_ref(),
            way_out: "name the layer",
        };
        clash.report(raw, &["random"], problems);
    }
}

/// What a thread keeps cannot be mixed or held back where it keeps nothing. Of a base it is left
/// out instead.
pub(crate) fn random_and_quarantine_need_a_layer(raw: &Raw, problems: &mut Problems) {
    let Some(layers) = raw.layers.as_ref().filter(|_| raw.has_no_cache()) else { return };
    let clash = Clash {
        why: "cannot go without a cache layer, since blocks go to the slabs at once",
        at: layers.at.as_ref(),
        way_out: "name a layer in `cache.layers`",
    };
    clash.report(raw, &OF_A_CACHE, problems);
}

/// `validation.seed` is not written where nothing is random.
pub(crate) fn seed_is_used(raw: &Raw, problems: &mut Problems) {
    let Some(Some(seed)) = &raw.checks.seed else { return };
    must_be_checked(raw, "random", ("seed", &seed.value.to_string(), seed.at.as_ref()), problems);
}

/// `validation.quarantine_bytes` is not written where nothing is held back.
pub(crate) fn quarantine_bytes_are_used(raw: &Raw, problems: &mut Problems) {
    let Some(bytes) = &raw.checks.quarantine_bytes else { return };
    let (shown, at) = (show_written(bytes), bytes.at.as_ref());
    must_be_checked(raw, "quarantine", ("quarantine_bytes", &shown, at), problems);
}

fn must_be_checked(
    raw: &Raw,
    check: &str,
    (key, value, at): (&str, &str, Option<&At>),
    problems: &mut Problems,
) {
    let Some(off) = raw.standing(check).filter(|standing| !standing.is_on) else { return };
    if is_own(at, off.depth()) {
        let message = format!("`validation.{key}` is {value}, but `{check}` is off");
        let draft = problems.add_pair((at, off.at), message);
        draft.help(format!("write `{check} = true`, or leave the key out"));
    }
}

/// `large.spans_to` is not written where every large request is a mapping.
pub(crate) fn spans_to_is_used(raw: &Raw, problems: &mut Problems) {
    let Some(spans_to) = &raw.spans_to else { return };
    let (shown, at) = (show_written(spans_to), spans_to.at.as_ref());
    must_not_map_large(raw, ("spans_to", &shown, at), problems);
}

/// `large.keep` is not written where every mapping goes back.
pub(crate) fn keep_is_used(raw: &Raw, problems: &mut Problems) {
    let Some(keep) = raw.keep.as_ref().filter(|keep| keep.value > 0) else { return };
    must_not_map_large(raw, ("keep", &show(keep.value), keep.at.as_ref()), problems);
}

fn must_not_map_large(
    raw: &Raw,
    (key, value, at): (&str, &str, Option<&At>),
    problems: &mut Problems,
) {
    let checks = ["poison", "guard"].into_iter().filter_map(|name| raw.standing(name));
    let on: Vec<_> = checks.filter(|check| check.is_on).collect();
    if let Some(check) = on.iter().find(|check| is_own(at, check.depth())) {
        let name = check.name;
        let message = format!(
            "`large.{key}` is {value}, but with `{name}` each large request is a mapping of its \
             own that goes back when it is freed"
        );
        let names: Vec<&str> = on.iter().map(|check| check.name).collect();
        let draft = problems.add_pair((at, check.at), message);
        draft.help(format!("leave the key out, or write {}", turned_off(&names)));
    }
}

/// What turns checks off: "`canary = false` and `poison = false`".
fn turned_off(names: &[&str]) -> String {
    let off: Vec<String> = names.iter().map(|name| format!("{name} = false")).collect();
    all_of(&off)
}

/// Why a check cannot be on, and what says so.
struct Clash<'a> {
    why: &'static str,
    at: Option<&'a At>,
    way_out: &'static str,
}

impl Clash<'_> {
    /// Reports those of the checks that are on: one by one those with a key of their own, and
    /// together those of the level.
    fn report(&self, raw: &Raw, names: &[&str], problems: &mut Problems) {
        let on = names.iter().filter_map(|name| raw.standing(name)).filter(|check| check.is_on);
        let (of_level, own): (Vec<_>, Vec<_>) = on.partition(|check| check.level.is_some());
        for check in &own {
            let message = format!("`validation.{}` {}", check.name, self.why);
            self.add(check, message, &[check.name], problems);
        }
        if let [first, ..] = of_level.as_slice() {
            let names: Vec<&str> = of_level.iter().map(|check| check.name).collect();
            let (noun, list) = (if names.len() == 1 { "check" } else { "checks" }, all_of(&names));
            let level = first.level.unwrap_or_default();
            let message =
                format!("`validation.level` is `\"{level}\"`, and its {noun} {list} {}", self.why);
            self.add(first, message, &names, problems);
        }
    }

    /// Points at whichever stands nearer to the user's own file.
    fn add(&self, check: &Standing<'_>, message: String, off: &[&str], problems: &mut Problems) {
        let at =
            if depth(self.at) < check.depth() { (self.at, check.at) } else { (check.at, self.at) };
        let draft = problems.add_pair(at, message);
        draft.help(format!("{}, or write {}", self.way_out, turned_off(off)));
    }
}
