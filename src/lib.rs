//! hak: a TOML file becomes a memory allocator.
//!
//! [`hak_allocator!`] reads a spec when your crate is compiled and writes the allocator that it
//! describes as straight-line Rust: for a request of known size six instructions and one branch,
//! no call. Nothing is decided at run time that the spec could decide.
//!
//! # Use it
//!
//! ```toml
//! # specs/service.toml
//! schema  = 1
//! extends = "web"
//!
//! [cache]
//! bytes = "32 KiB"
//! ```
//!
//! ```
//! # mod specs_stand_elsewhere_in_this_test {
//! hak::hak_allocator!(
//!     #[global_allocator]
//!     static ALLOC = "specs/web.toml"
//! );
//! # }
//! ```
//!
//! Paths start from the folder of your crate's `Cargo.toml`. An edit of the spec, or of a file that
//! it extends, rebuilds the crate. `hak check` tells what is wrong with a spec without a build, and
//! `hak expand` shows what it becomes. All keys are in `docs/spec-reference.md`.
//!
//! # The forms
//!
//! ```
//! use hak::hak_allocator;
//!
//! hak_allocator!("specs/web.toml"); // declares `Web`: the spec says its name
//! hak_allocator!(pub(crate) struct Edge = "specs/web.toml"); // name and visibility are yours
//! hak_allocator!(struct Small = { schema = 1, classes.sizes = [16, 32, 64] }); // inline
//!
//! # fn main() {
//! use std::alloc::{GlobalAlloc, Layout};
//! let layout = Layout::new::<[u64; 4]>();
//! // SAFETY: the layout has bytes, and the block is freed once, with the same layout.
//! unsafe {
//!     let block = Small.alloc(layout);
//!     assert!(!block.is_null());
//!     Small.dealloc(block, layout);
//! }
//! println!("{}", Small::stats());
//! # }
//! ```
//!
//! With `#[global_allocator] static NAME = …` the type is declared as well, and installed. The
//! type has no size, is `Copy`, and its rustdoc shows the table of its classes. It has three
//! functions of its own: `stats()`, a [`Stats`] that is put together without counters on the hit
//! paths; `flush()`, which gives what the thread and the depots cache back to the slabs; and
//! `purge()`, which returns all memory that no block is in to the system.
//!
//! Any number of allocators may live in one program. Each has its own caches, classes and limits;
//! all take their memory from one pool.
//!
//! # Getting the six instructions
//!
//! - **Turn on LTO**: `lto = "fat"` or `"thin"` in the release profile. Without it, code in other
//!   crates than the one with the `#[global_allocator]` reaches the allocator by a call, as with
//!   every allocator.
//! - **Keep the allocator in a small crate of its own** and `use` that crate in the program. The
//!   compiler removes an allocation that nobody uses only if the static stands in another crate.
//! - A shared library (`cdylib`) reaches thread-local storage by a call; use hak in executables.
//!
//! # Layers
//!
//! `cache.layers` names what stands between a thread and the slabs. The default is
//! `["magazine", "depot"]`: arrays of pointers to free blocks, which threads exchange as a whole.
//! `freelist` links free blocks through their own memory, instead of arrays or behind them: less
//! memory, but an alloc reads the block it takes. Without `depot` no thread hands blocks to another
//! except through slabs, and with `[]` each request goes to the slabs. A `cache.adaptive` such as
//! `{ min = 16, max = 256 }` lets what a thread keeps of a class follow its misses; the six
//! instructions stay the same.
//!
//! # Hints
//!
//! `hints.hit`, `room` and `small` say which way the branches usually go, and so which side falls
//! through; the classes of `hot` share the first cache lines. `inline` says what becomes part of
//! the caller: `"always"` all of the hit path; `"constant"` that of layouts which the compiler
//! knows, and a call for others, much less code for nearly the same speed; `"never"` a call.
//! `prefetch` asks for the next block's memory early: for programs that fill cold blocks at once.
//!
//! # What a spec costs
//!
//! `hak inspect SPEC` builds the allocator and steps through its hit paths: instructions, loads,
//! stores, each branch with what it asks and the hint about it, bytes for each thread and
//! superslab. `hak inspect ONE OTHER` shows two specs side by side. `docs/price-list.md` has the
//! price of every layer, hint and check.
//!
//! # Statistics
//!
//! A spec with `stats.counters` adds `counters()`, exact [`Counters`] of what each class did; one
//! with `stats.profile` adds `profile()`, a [`Profile`] of sampled sizes and lifetimes and of the
//! cycles of slow paths. Each is a table by `Display` and JSON by `json()`. Without the keys
//! nothing of them is there; what they cost and how to read them is in `docs/statistics.md`.
//!
//! ```
//! hak::hak_allocator!(struct Watched = {
//!     schema = 1, extends = "web", stats = { counters = true, profile = true }
//! });
//!
//! # fn main() {
//! println!("{}\n{}", Watched::counters(), Watched::profile().json());
//! # }
//! ```
//!
//! # Memory that goes back
//!
//! Free memory of whole units (empty slabs, freed spans) returns to the system after
//! `superslab.purge.after`, on slow paths of any thread. A program that goes quiet after a burst
//! takes no slow paths: let it call `purge()`, or set `superslab.purge.helper = true`, which
//! starts one sleeping thread. `superslab.limit` bounds what an allocator holds, `cache.limit`
//! what all its threads cache.
//!
//! # Threads, forks, signals
//!
//! A thread's cache is emptied when it ends, after all its destructors; what it frees even later
//! goes to the slabs. A forked child can use every allocator; what other threads had cached is
//! lost to it. A signal handler must not allocate or free, as with other allocators; it may fork.
//!
//! # Checks
//!
//! `validation.level` is `"off"`, `"boundary"` (wrong frees), `"full"` (and overflows, and writes
//! after the free) or `"hardened"` (and zeroed, shuffled, held back and guarded memory); each check
//! can be added to a level or taken from it. A check that fails writes one line to the error
//! stream, such as `hak: Careful: double free of 64-byte block 0x7f30c0a1e400`, and ends the
//! process with `SIGABRT`. `specs/hardened.toml` has them all on; `docs/hardening.md` tells what
//! each finds, and what none does.
//!
//! ```
//! # mod alloc {
//! hak::hak_allocator!(struct Careful = {
//!     schema = 1, extends = "general", validation = { level = "boundary", canary = true }
//! });
//! # }
//! ```
//!
//! # What it does not do
//!
//! - It runs on 64-bit Linux only.
//! - Without `[validation]`, what is wrong with a block is found when it reaches its slab, at the
//!   latest; other misuse is not looked for.
//! - A crate that forbids `unsafe_code` cannot call the macro, since an allocator is unsafe code;
//!   one that denies it can.
//!
//! # Features
//!
//! - `allocator-api2`: the generated types implement `Allocator` of that crate, for collections
//!   that take one.

#[cfg(feature = "allocator-api2")]
#[doc(hidden)]
pub mod allocator_api;

/// Declares an allocator that a spec describes.
///
/// The argument is one of
///
/// ```text
/// "PATH"                                    a type, named by the spec
/// [ATTRIBUTES] [VISIBILITY] struct NAME = SPEC      a type of that name
/// [ATTRIBUTES] [VISIBILITY] static NAME = "PATH"    a type named by the spec, and a static of it
/// ```
///
/// where `SPEC` is `"PATH"` or an inline spec, `{ key = value, … }`, with dotted keys for tables.
/// The crate's documentation shows each.
///
/// When the spec is wrong, all that is wrong with it becomes compile errors, each with its place in
/// the spec, and a type of the same name stands in, so that no other error follows.
#[macro_export]
macro_rules! hak_allocator {
    ($($call:tt)*) => {
        $crate::__private::hak_allocator! { [$crate] $($call)* }
    };
}

pub use hak_runtime::{
    ClassCounters, ClassProfile, ClassStats, Counters, LargeCounters, Profile, SizeProfile,
    SlowPath, Stats,
};

/// For generated code only: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use hak_macros::hak_allocator;
    pub use hak_runtime::*;

    pub use crate::__implement_allocator as implement_allocator;
    #[cfg(feature = "allocator-api2")]
    pub use crate::allocator_api;
}

/// Without the feature `allocator-api2` there is nothing to implement.
#[cfg(not(feature = "allocator-api2"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __implement_allocator {
    ($name:ident) => {};
}
