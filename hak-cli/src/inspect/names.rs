//! What functions and variables are called, from their symbols.

use rustc_demangle::demangle;

/// How the crates of inspected programs begin.
pub(super) const PROGRAM: &str = "hak_inspected";
/// The functions of theirs that are looked at, in the order of the program's `Call`.
pub(super) const LOOKED_AT: [&str; 5] = [
    "alloc_constant",
    "dealloc_constant",
    "alloc_variable",
    "dealloc_variable",
    "realloc_variable",
];

/// Generated functions that are a call into the slabs when they are not inlined, and with them the
/// runtime's code that was inlined there.
const INTO_SLABS: [&str; 2] = ["alloc_class", "dealloc_class"];

/// A symbol's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// The whole path, `hak_runtime::class::Class::take`.
    path: String,
}

impl Name {
    pub(super) fn of_symbol(symbol: &str) -> Self {
        Name { path: format!("{:#}", demangle(symbol)) }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// As short as a reader can tell it apart: `Class::take`, `alloc_slow`. Of a thread-local
    /// variable the name that its source gives it, not that of the storage inside.
    pub(super) fn short(&self) -> String {
        let segments = segments(&self.path);
        let is_name = |segment: &&String| !segment.starts_with("__RUST_STD");
        let mut names = segments.iter().filter(is_name).rev();
        let last = names.next().map_or(self.path.as_str(), String::as_str);
        match names.next().filter(|before| begins_upper(before) && !is_constant(before)) {
            Some(before) => format!("{before}::{last}"),
            None => last.to_owned(),
        }
    }

    /// Whether it belongs to the inspected program: what the spec became, or what stands between it
    /// and `std::alloc`.
    pub(super) fn is_generated(&self) -> bool {
        let path = self.path.trim_start_matches('<');
        let is_own = path.starts_with(PROGRAM) || path.starts_with("__rust");
        (is_own && !INTO_SLABS.contains(&self.short().as_str())) || LOOKED_AT.contains(&path)
    }

    /// Whether it is the allocator's: generated, or the runtime's.
    pub(super) fn is_allocators(&self) -> bool {
        let path = self.path.trim_start_matches('<');
        path.starts_with(PROGRAM) || path.starts_with("hak")
    }
}

/// The identifiers of a path, without generic arguments. Of `<Type as Trait>` the type.
fn segments(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in split(path, "::") {
        if let Some(inner) = part.strip_prefix('<').and_then(|part| part.strip_suffix('>')) {
            let implementor = split(inner, " as ").swap_remove(0);
            found.extend(segments(implementor).pop());
        } else {
            let name = part.split('<').next().unwrap_or(part);
            let is_identifier = !name.is_empty() && name != "_" && !name.starts_with('{');
            found.extend(is_identifier.then(|| name.to_owned()));
        }
    }
    found
}

/// Splits where a separator is not within angle brackets.
fn split<'p>(path: &'p str, separator: &str) -> Vec<&'p str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, char) in path.char_indices() {
        match char {
            '<' | '{' | '[' | '(' => depth += 1,
            '>' | '}' | ']' | ')' => depth -= 1,
            _ if depth == 0 && at >= start && path[at..].starts_with(separator) => {
                parts.push(&path[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&path[start..]);
    parts
}

fn begins_upper(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn is_constant(name: &str) -> bool {
    name.len() > 1 && !name.contains(|char: char| char.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(path: &str) -> String {
        Name { path: path.to_owned() }.short()
    }

    #[test]
    fn functions_keep_their_type() {
        assert_eq!(short("hak_inspected_a::allocator::_::alloc_slow"), "alloc_slow");
        assert_eq!(short("hak_runtime::class::Class::take"), "Class::take");
        assert_eq!(short("hak_runtime::heap::Heap<[D; 1]>::alloc_large"), "Heap::alloc_large");
        assert_eq!(short("<a::Web as core::alloc::global::GlobalAlloc>::alloc"), "Web::alloc");
        assert_eq!(short("<a::b::Heap<a::D> as c::E<f::G>>::take::{{closure}}"), "Heap::take");
        assert_eq!(short("memcpy"), "memcpy");
    }

    #[test]
    fn thread_locals_are_called_as_in_the_source() {
        let path = "a::allocator::_::CACHE::{{constant}}::{{closure}}::__RUST_STD_INTERNAL_VAL";
        assert_eq!(short(path), "CACHE");
    }

    #[test]
    fn symbols_of_either_mangling() {
        let legacy = "_ZN5probe9allocator1_10alloc_slow17h92627df0b1fdeefbE";
        assert_eq!(Name::of_symbol(legacy).short(), "alloc_slow");
        let v0 = "_RNvCs1234_7___rustc12___rust_alloc";
        assert_eq!(Name::of_symbol(v0).short(), "__rust_alloc");
        assert!(Name::of_symbol(v0).is_generated());
    }

    #[test]
    fn a_call_into_the_slabs_is_the_runtimes() {
        let generated = |path: &str| Name { path: path.to_owned() }.is_generated();
        assert!(!generated("hak_inspected_a::allocator::_::alloc_class"));
        assert!(generated("hak_inspected_a::allocator::_::take_in"));
    }

    #[test]
    fn the_runtime_is_the_allocators_but_not_generated() {
        let name = Name::of_symbol("_ZN11hak_runtime5class5Class4take17h92627df0b1fdeefbE");
        assert!(name.is_allocators() && !name.is_generated());
        let name = Name::of_symbol("_ZN3std6thread7current2id2ID17h92627df0b1fdeefbE");
        assert!(!name.is_allocators() && !name.is_generated());
    }
}
