//! The rows of the list: each a spec, and the allocator made from it.
//!
//! A row more is a line more here. `docs/price-list.md` must be taken anew then; a test says so.

use std::alloc::System;

use super::kernels::Kernels;
use super::probes::Probes;
use super::subject::Subject;

/// A row.
pub(crate) struct Variant {
    pub(crate) group: Group,
    pub(crate) name: &'static str,
    /// What the spec says beyond `general`, or where it is.
    pub(crate) spec: &'static str,
    pub(crate) probes: Probes,
    pub(crate) kernels: Kernels,
}

impl Variant {
    const fn of<A: Subject>(group: Group, name: &'static str, spec: &'static str) -> Variant {
        Variant { group, name, spec, probes: Probes::of::<A>(), kernels: Kernels::of::<A>() }
    }
}

/// Rows that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Shipped,
    Layers,
    Hints,
    Levels,
    Checks,
    Statistics,
}

impl Group {
    pub(crate) const ALL: [Group; 6] = [
        Group::Shipped,
        Group::Layers,
        Group::Hints,
        Group::Levels,
        Group::Checks,
        Group::Statistics,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Group::Shipped => "Shipped specs, and the system's allocator",
            Group::Layers => "Layers",
            Group::Hints => "Hints",
            Group::Levels => "Levels of validation",
            Group::Checks => "Single checks",
            Group::Statistics => "Statistics",
        }
    }
}

/// Declares the rows, in order. A spec in braces extends `general`. Where blocks are random a seed
/// makes the counts the same in every run.
macro_rules! rows {
    ($($group:ident $name:literal $type:ident $spec:tt)*) => {
        mod allocators {
            $(declare! { $type $spec })*
        }

        static ROWS: &[Variant] = &[
            $(Variant::of::<allocators::$type>(Group::$group, $name, text_of!($spec)),)*
            Variant::of::<System>(Group::Shipped, "system", "the allocator of the C library"),
        ];
    };
}

macro_rules! declare {
    ($type:ident { $($spec:tt)* }) => {
        hak::hak_allocator!(pub(crate) struct $type = {
            schema = 1, extends = "general", $($spec)*
        });
        subject! { $type }
    };
    ($type:ident $path:literal) => {
        hak::hak_allocator!(pub(crate) struct $type = $path);
        subject! { $type }
    };
}

macro_rules! subject {
    ($type:ident) => {
        impl crate::subject::Subject for $type {
            const ALLOCATOR: $type = $type;

            fn trips() -> u64 {
                let classes = $type::stats().classes;
                classes.iter().map(|class| class.refills + class.exchanges).sum()
            }
        }
    };
}

macro_rules! text_of {
    ({ $($spec:tt)* }) => {
        stringify!($($spec)*)
    };
    ($path:literal) => {
        $path
    };
}

rows! {
    Shipped "general" General "specs/general.toml"
    Shipped "general-again" GeneralAgain "specs/general.toml"
    Shipped "web" Web "specs/web.toml"
    Shipped "tiny" Tiny "specs/tiny.toml"
    Shipped "hardened" Hardened "specs/hardened.toml"

    Layers "layers-none" NoLayers { cache.layers = [] }
    Layers "freelist" Freelist { cache.layers = ["freelist"] }
    Layers "freelist-depot" FreelistDepot { cache.layers = ["freelist", "depot"] }
    Layers "magazine" Magazine { cache.layers = ["magazine"] }
    Layers "magazine-depot" MagazineDepot { cache.layers = ["magazine", "depot"] }
    Layers "magazine-freelist" MagazineFreelist { cache.layers = ["magazine", "freelist"] }
    Layers "magazine-freelist-depot" MagazineFreelistDepot {
        cache.layers = ["magazine", "freelist", "depot"]
    }
    Layers "adaptive-freelist-depot" AdaptiveFreelistDepot {
        cache.layers = ["freelist", "depot"], cache.adaptive = { min = 16, max = 256 }
    }
    Layers "adaptive-magazine-depot" AdaptiveMagazineDepot {
        cache.layers = ["magazine", "depot"], cache.adaptive = { min = 16, max = 256 }
    }
    Layers "adaptive-magazine-freelist-depot" AdaptiveMagazineFreelistDepot {
        cache.layers = ["magazine", "freelist", "depot"], cache.adaptive = { min = 16, max = 256 }
    }

    Hints "inline-always" InlineAlways { hints.inline = "always" }
    Hints "inline-constant" InlineConstant { hints.inline = "constant" }
    Hints "inline-never" InlineNever { hints.inline = "never" }
    Hints "prefetch" Prefetch { hints.prefetch = true }
    Hints "hit-none" HitNone { hints.hit = "none" }
    Hints "hit-unlikely" HitUnlikely { hints.hit = "unlikely" }
    Hints "room-none" RoomNone { hints.room = "none" }
    Hints "room-unlikely" RoomUnlikely { hints.room = "unlikely" }
    Hints "small-none" SmallNone { hints.small = "none" }
    Hints "small-unlikely" SmallUnlikely { hints.small = "unlikely" }

    Levels "level-off" LevelOff { validation.level = "off" }
    Levels "level-boundary" LevelBoundary { validation.level = "boundary" }
    Levels "level-full" LevelFull { validation.level = "full" }
    Levels "level-hardened" LevelHardened {
        validation.level = "hardened", validation.seed = 1
    }

    Checks "foreign" Foreign { validation.foreign = true }
    Checks "alignment" Alignment { validation.foreign = true, validation.alignment = true }
    Checks "size" Size { validation.foreign = true, validation.size = true }
    Checks "double-free" DoubleFree { validation.double_free = true }
    Checks "canary" Canary { validation.canary = true }
    Checks "poison" Poison { validation.poison = true }
    Checks "zero" Zero { validation.zero = true }
    Checks "random" Random { validation.random = true, validation.seed = 1 }
    Checks "quarantine" Quarantine { validation.quarantine = true }
    Checks "guard" Guard { validation.guard = true }

    Statistics "counters" Counters { stats.counters = true }
    Statistics "profile" Profile { stats.profile = true }
}

/// What all times are compared with.
pub(crate) fn general() -> &'static Variant {
    &ROWS[0]
}

/// The same spec once more: what it differs by is noise.
pub(crate) fn general_again() -> &'static Variant {
    &ROWS[1]
}

/// The rows of these names, or all if there are none, in the order of the list.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Variant>, String> {
    if let Some(name) = names.iter().find(|name| ROWS.iter().all(|row| row.name != **name)) {
        let known: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        return Err(format!("no row `{name}`; there are {}", known.join(", ")));
    }
    let is_meant = |row: &&Variant| names.is_empty() || names.iter().any(|name| row.name == name);
    Ok(ROWS.iter().filter(is_meant).collect())
}

#[cfg(test)]
mod tests {
    use super::{Group, ROWS, general, general_again, select};

    #[test]
    fn rows_have_names_of_their_own_and_a_group() {
        for (place, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..place].iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(Group::ALL.contains(&row.group), "{}", row.name);
        }
    }

    #[test]
    fn general_is_there_twice() {
        assert_eq!((general().name, general_again().name), ("general", "general-again"));
        assert_eq!(general().spec, general_again().spec);
    }

    #[test]
    fn rows_are_selected_by_name() {
        let names = ["web".to_owned(), "general".to_owned()];
        let selected: Vec<_> = select(&names).unwrap().iter().map(|row| row.name).collect();
        assert_eq!(selected, ["general", "web"]);
        assert_eq!(select(&[]).unwrap().len(), ROWS.len());
        let message = select(&["wbe".to_owned()]).err().unwrap();
        assert!(message.starts_with("no row `wbe`; there are general, "), "{message}");
    }
}
