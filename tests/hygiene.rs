//! Generated code takes no name from its surroundings, and leaves none behind but the type's.
//!
//! This file is compiled without a prelude, and its modules shadow whatever they can.

#![no_implicit_prelude]

use ::std::alloc::{GlobalAlloc, Layout};
use ::std::assert;
use ::std::vec::Vec;

/// Every name that generated code uses is something else here.
#[allow(dead_code, non_camel_case_types, unused_macros, reason = "they are there to be shadows")]
mod shadowed {
    mod alloc {}
    mod core {}
    mod hak {}
    mod hint {}
    mod option {}
    mod primitive {}
    mod ptr {}
    mod runtime {}
    mod std {}
    struct u8;
    struct usize;
    struct bool;
    struct str;
    struct Cache;
    struct Class;
    struct Depot;
    struct Heap;
    struct Large;
    struct Layout;
    struct SizeClass;
    struct Stats;
    enum Option {}
    struct Some;
    struct None;
    trait Clone {}
    trait Copy {}
    trait Debug {}
    trait Default {}
    trait GlobalAlloc {}
    fn cold_path() {}
    fn class_of() {}
    static CLASSES: () = ();
    static HEAP: () = ();
    static NAME: () = ();
    macro_rules! assert {
        () => {};
    }
    macro_rules! compile_error {
        () => {};
    }
    macro_rules! include_bytes {
        () => {};
    }
    macro_rules! thread_local {
        () => {};
    }
    macro_rules! implement_allocator {
        () => {};
    }

    ::hak::hak_allocator!(pub struct Shadowed = "specs/general.toml");
    ::hak::hak_allocator!(pub struct OddSizes = { schema = 1, classes.sizes = [16, 40, 56, 64] });
    ::hak::hak_allocator!(pub struct Bare = {
        schema = 1,
        classes.sizes = [64],
        cache.layers = ["magazine"],
        hints.inline = "never",
    });
    ::hak::hak_allocator!(pub struct Watched = {
        schema = 1,
        classes.sizes = [64],
        stats = { counters = true, profile = true, sample_bytes = 100 },
    });
}

/// Types that are called like what generated code imports or declares.
#[allow(non_camel_case_types, reason = "names are in their imports' form")]
mod like_an_import {
    ::hak::hak_allocator!(pub struct Cache = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct Depot = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct GlobalAlloc = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct HEAP = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct Layout = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct Option = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct Stats = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct Declared = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct runtime = "specs/tiny.toml");
    ::hak::hak_allocator!(pub struct usize = "specs/tiny.toml");
}

/// The program's own allocator, in a module, named by its spec.
mod global {
    ::hak::hak_allocator!(
        #[global_allocator]
        pub static ALLOC = "specs/web.toml"
    );
}

/// Takes and gives back a block of each of some sizes, all alive at once.
fn use_it(allocator: impl GlobalAlloc) {
    let layouts = [(1, 1), (40, 16), (56, 8), (64, 64), (5000, 8), (100_000, 4096), (3 << 20, 8)];
    let blocks: Vec<_> = ::std::iter::Iterator::collect(::std::iter::Iterator::map(
        ::std::iter::IntoIterator::into_iter(layouts),
        |(size, align)| {
            let layout = ::std::result::Result::unwrap(Layout::from_size_align(size, align));
            // SAFETY: the layout has bytes.
            let block = unsafe { allocator.alloc(layout) };
            assert!(!block.is_null() && block.addr() % align == 0);
            // SAFETY: the block has at least one byte.
            unsafe { block.write(7) };
            (block, layout)
        },
    ));
    for (block, layout) in blocks {
        // SAFETY: the block is alive and one was written to it.
        ::std::assert_eq!(unsafe { block.read() }, 7);
        // SAFETY: the block is alive, with this layout.
        unsafe { allocator.dealloc(block, layout) };
    }
}

#[test]
fn nothing_is_taken_from_the_surroundings() {
    use_it(shadowed::Shadowed);
    use_it(shadowed::OddSizes);
    use_it(shadowed::Bare);
    use_it(shadowed::Watched);
    ::std::assert_eq!(shadowed::OddSizes::stats().classes.len(), 4);
}

#[test]
fn a_type_may_be_called_like_an_import() {
    use_it(like_an_import::Cache);
    use_it(like_an_import::Depot);
    use_it(like_an_import::GlobalAlloc);
    use_it(like_an_import::HEAP);
    use_it(like_an_import::Layout);
    use_it(like_an_import::Option);
    use_it(like_an_import::Stats);
    use_it(like_an_import::Declared);
    use_it(like_an_import::runtime);
    use_it(like_an_import::usize);
    like_an_import::Stats::flush();
}

#[test]
fn the_global_allocator_may_stand_in_a_module() {
    use_it(global::ALLOC);
    let before = global::Web::stats().superslab_bytes;
    assert!(before > 0, "the test harness allocates");
}

#[test]
fn a_function_may_declare_one() {
    fn supplied() -> ::std::primitive::u64 {
        ::hak::hak_allocator!(struct Local = { schema = 1, classes.sizes = [64] });
        use_it(Local);
        Local::stats().classes[0].supplied
    }
    assert!(supplied() > 0);
}

/// Two allocators of one spec share neither classes nor caches.
#[test]
fn allocators_are_apart() {
    ::hak::hak_allocator!(struct One = { schema = 1, classes.sizes = [64] });
    ::hak::hak_allocator!(struct Other = { schema = 1, classes.sizes = [64] });
    use_it(One);
    assert!(One::stats().classes[0].supplied > 0);
    ::std::assert_eq!(Other::stats().classes[0].supplied, 0);
}

#[test]
fn attributes_and_derived_traits_arrive() {
    ::hak::hak_allocator!(
        #[derive(PartialEq, Eq)]
        #[allow(dead_code)]
        struct Attributed = { schema = 1, classes.sizes = [64] }
    );
    let copy = Attributed;
    let copies = (copy, copy);
    assert!(copies.0 == copies.1);
    let default: Attributed = ::std::default::Default::default();
    ::std::assert_eq!(::std::format!("{default:?}"), "Attributed");
    ::std::assert_eq!(::std::mem::size_of::<Attributed>(), 0);
}
