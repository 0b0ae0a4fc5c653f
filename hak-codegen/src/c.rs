//! A library with the C interface instead of a type: the same tables and the same paths behind the
//! hit paths, which are those of `malloc` and `free`.
//!
//! Nobody says the layout of what is freed, so the hit path of `free` finds the class in a map of
//! the address space. A thread's cache is found by one pointer. See `hak-runtime/src/c.rs`.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use crate::checks::Guarded;
use crate::fast_path::{branch, is_full};
use crate::tables::{self, Order};
use crate::{class_table, fast_path, layers, lookup, number};
use hak_spec::{CANARY_BYTES, Layers, Spec};

/// Largest class that `malloc` finds in a table with an entry for each size.
const TABLE_BYTES_MAX: u32 = 64 << 10;
/// What a byte of the map of places holds at most.
const PLACE_MAX: u32 = 255;

/// The largest request that a class serves, and the size of that class, which is aligned as the
/// rules for specs have it.
fn largest(spec: &Spec) -> (u32, u32) {
    let class = spec.classes[spec.classes.len() - 1].bytes;
    let canary = if spec.checks.canary { CANARY_BYTES } else { 0 };
    (class - canary, class)
}

/// The source of a library's crate. Its only dependency is `hak_runtime`, with the feature `c`.
/// What `[stats]` asks for is left out: C has no way to it.
pub fn library(spec: &Spec, origin: &str) -> TokenStream {
    let spec = &Spec { counters: false, profile: false, ..spec.clone() };
    // Not the name that the spec has: it might be that of an import.
    let name = Ident::new("Hak", Span::call_site());
    let order = Order::of(spec);
    let guarded = Guarded::for_c(spec);
    let rustdoc = class_table::rustdoc(spec, Some(origin));
    let uses = uses(spec, &guarded);
    let tables = tables::tables(spec, &order, &guarded, &spec.name);
    let lookup = lookup::lookup(spec, &order);
    let paths = fast_path::paths(spec, &guarded);
    let hits = hits(spec, &order, &guarded, &name);
    let implementation = implementation(spec, &guarded, &name);
    quote! {
        #![no_std]
        #![allow(unsafe_code, unused_imports, dead_code)]

        #uses

        #rustdoc
        struct #name;

        #tables
        #lookup
        #paths
        #hits
        #implementation

        runtime::export_c! { #name }

        #[panic_handler]
        fn panic(_: &::core::panic::PanicInfo<'_>) -> ! {
            runtime::c::panicked()
        }
    }
}

fn uses(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let (layers, checks) = (layers::imports(spec), guarded.imports());
    let purge = spec.superslab.purge.map(|_| quote!(Purge, PurgeHow,));
    quote! {
        use ::core::alloc::Layout;
        use ::core::hint::cold_path;
        use ::core::mem::offset_of;
        use ::hak_runtime as runtime;
        use runtime::{Account, Class, Heap, SizeClass, Terms, Want, #purge #layers #checks};
        use runtime::c::{Front, Here, Library, Part, Presence, Shared};
    }
}

/// What a thread has.
pub(crate) fn local(spec: &Spec, guarded: &Guarded<'_>, count: &Literal) -> TokenStream {
    let front = layers::front(spec);
    let steps = step(spec);
    let has_cache = spec.layers.has_cache();
    let fields = has_cache.then(|| quote!(never: #front, cache: Cache<#front, #count>,));
    let values = has_cache.then(|| quote!(never: <#front as Front>::NEW, cache: Cache::new(),));
    let cache = has_cache.then(|| {
        quote! {
            /// A bin that is always empty and full, at place 0 of the map; behind it the others.
            const BINS: Part<#front, { offset_of!(Local, never) }> = unsafe { Part::new() };
            /// The others.
            const FRONTS: Part<#front, { offset_of!(Local, cache) }> = unsafe { Part::new() };
            /// What a thread keeps of each class, in the order of `SIZES`.
            const CACHE: Part<Cache<#front, #count>, { offset_of!(Local, cache) }> =
                unsafe { Part::new() };
            const _: () = assert!(
                offset_of!(Local, cache) - offset_of!(Local, never) == size_of::<#front>()
            );
        }
    });
    let end_cache = has_cache.then(|| quote!(self.cache.end();));
    let end_held = spec.checks.quarantine.then(|| quote!(self.held.end();));
    let [more_fields, more_values, more_parts] = guarded.parts(count);
    quote! {
        /// What classes are apart in the map of places, where the first one is at this, too.
        const STEP: usize = #steps;

        /// What a thread has.
        #[repr(C)]
        struct Local {
            here: Here,
            #fields
            presence: Presence,
            #more_fields
        }

        impl Local {
            const fn with(here: Here) -> Self {
                Local { here, #values presence: Presence::new(), #more_values }
            }
        }

        unsafe impl runtime::c::Local for Local {
            const PRESENCE: usize = offset_of!(Local, presence);

            fn new(here: Here) -> Self {
                Local::with(here)
            }

            fn gone() -> *const Here {
                (&raw const GONE).cast()
            }

            fn end(&self) {
                #end_cache
                #end_held
            }
        }

        /// What a thread has at first.
        static FRESH: Shared<Local> = Shared::new(Local::with(Here::fresh()));
        /// What a thread has that can have nothing of its own, any more or at all.
        static GONE: Shared<Local> = Shared::new(Local::with(Here::gone()));
        runtime::define_here!(FRESH);
        #cache
        #more_parts
    }
}

/// What classes are apart in the map of places: their distance in words, if a byte holds that.
fn step(spec: &Spec) -> Literal {
    number(if is_scaled(spec) { 1 } else { layers::words(spec.layers) })
}

/// Whether a byte of the map counts in classes, and is to be multiplied.
fn is_scaled(spec: &Spec) -> bool {
    let classes = u32::try_from(spec.classes.len()).unwrap_or(u32::MAX);
    layers::words(spec.layers).saturating_mul(classes) > PLACE_MAX
}

/// The hit paths of `malloc` and `free`.
fn hits(spec: &Spec, order: &Order<'_>, guarded: &Guarded<'_>, name: &Ident) -> TokenStream {
    let has_cache = spec.layers.has_cache();
    let (table, malloc) = if has_cache && !guarded.hands_out() && !spec.checks.random {
        malloc(spec, order)
    } else {
        (TokenStream::new(), quote!(elsewhere(bytes)))
    };
    let free = if has_cache && !guarded.takes_in() && !spec.checks.quarantine {
        free(spec, guarded)
    } else {
        quote!(unsafe { runtime::c::free::<Self>(block) })
    };
    quote! {
        #table

        impl #name {
            /// `malloc`, or what is done `elsewhere` when there is no block here.
            #[inline(always)]
            fn malloc_or(bytes: usize, elsewhere: impl FnOnce(usize) -> *mut u8) -> *mut u8 {
                #malloc
            }

            /// `free`.
            #[inline(always)]
            unsafe fn free(block: *mut u8) {
                #free
            }
        }
    }
}

/// The table, and what `malloc` does with it.
fn malloc(spec: &Spec, order: &Order<'_>) -> (TokenStream, TokenStream) {
    let elsewhere = quote!(return elsewhere(bytes););
    let (largest, class) = largest(spec);
    let is_bin = !matches!(spec.layers, Layers::Freelist { .. });
    let pop = if is_bin {
        quote!(FRONTS.pop(place))
    } else {
        quote!(FRONTS.with_place(place, |bin| bin.pop()))
    };
    let prefetch = spec.hints.prefetch.then(|| {
        let prefetch =
            if is_bin { quote!(unsafe { bin.prefetch() }) } else { quote!(bin.prefetch()) };
        quote!(unsafe { FRONTS.with_place(place, |bin| #prefetch) };)
    });
    let is_empty = quote!(unsafe { FRONTS.with_place(place, |bin| bin.is_empty()) });
    let miss = branch(spec.hints.hit, is_empty, elsewhere.clone());
    let hit = quote! {
        #miss
        let block = unsafe { #pop };
        #prefetch
        block
    };
    if class > TABLE_BYTES_MAX {
        let granule = quote!(class_of(if bytes == 0 { 1 } else { bytes }, runtime::c::ALIGN));
        return (
            TokenStream::new(),
            quote! {
                let Some(place) = #granule else { cold_path(); #elsewhere };
                #hit
            },
        );
    }
    let too_large = branch(spec.hints.small, quote!(bytes > LARGEST), elsewhere);
    let table = table(order, largest);
    let body = quote! {
        #too_large
        let place = unsafe { *PLACE_OF.get_unchecked(bytes) } as usize;
        #hit
    };
    (table, body)
}

/// The table of places.
fn table(order: &Order<'_>, largest: u32) -> TokenStream {
    let places = order.places();
    let is_narrow = places.iter().all(|&(_, place)| u8::try_from(place).is_ok());
    let (entry, make) = if is_narrow {
        (quote!(u8), quote!(place_table))
    } else {
        (quote!(u16), quote!(wide_place_table))
    };
    let pairs = places.iter().map(|&(bytes, place)| {
        let (bytes, place) = (number(bytes), number(place));
        quote!((#bytes, #place))
    });
    let largest = number(largest);
    quote! {
        /// The largest request that a class serves.
        const LARGEST: usize = #largest;

        /// The place of the class for each size, made of (block size, place).
        static PLACE_OF: [#entry; LARGEST + 1] = runtime::c::#make([#(#pairs),*]);
    }
}

/// What `free` does.
fn free(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let scale = is_scaled(spec).then(|| {
        let words = number(layers::words(spec.layers));
        quote!(* #words)
    });
    let elsewhere = quote!(return unsafe { runtime::c::free_elsewhere::<Self>(block) };);
    let full = is_full(spec, guarded);
    let full = quote!(unsafe { BINS.with_place(place, |bin| #full) });
    let full = branch(spec.hints.room, full, elsewhere.clone());
    quote! {
        let map = runtime::c::place_map();
        if map.is_null() {
            cold_path();
            #elsewhere
        }
        let place = unsafe { runtime::c::place_in(map, block) } #scale;
        #full
        unsafe { BINS.with_place(place, |bin| unsafe { bin.push(block) }) }
    }
}

/// What the rest of the interface needs to know.
fn implementation(spec: &Spec, guarded: &Guarded<'_>, name: &Ident) -> TokenStream {
    let count = number(spec.classes.len() as u64);
    let shards = number(spec.superslab.shards);
    let depot = layers::depot(spec.layers);
    let (depots, _) = tables::depots(spec, &depot, &[&count, &shards]);
    let large = guarded.large_name();
    let words = number(layers::words(spec.layers));
    let blocks = blocks(spec, guarded);
    let flush = flush(spec, guarded);
    quote! {
        impl Library for #name {
            type Depots = #depots;
            type Larges = #large<CHECKS>;
            type Own = Local;

            const CHECKS: u16 = CHECKS;
            const WORDS: usize = #words;
            const STEP: usize = STEP;

            fn heap() -> &'static Heap<Self::Depots, Self::Larges> {
                &HEAP
            }

            #[inline(always)]
            fn class_of(bytes: usize, align: usize) -> Option<usize> {
                class_of(bytes, align)
            }

            #blocks

            fn obtain_large(bytes: usize, align: usize, want: Want) -> *mut u8 {
                let layout = unsafe { Layout::from_size_align_unchecked(bytes, align) };
                alloc_large(layout, want)
            }

            fn flush() {
                #flush
            }
        }
    }
}

/// How blocks of a class go out and come in, and are looked at.
fn blocks(spec: &Spec, guarded: &Guarded<'_>) -> TokenStream {
    let class = layers::class_at_place(spec.layers);
    let canary = number(if spec.checks.canary { CANARY_BYTES } else { 0 });
    let usable = quote!(unsafe { HEAP.block_bytes(#class) } - #canary);
    let obtain = guarded.obtain(quote!(usable));
    let release = guarded.release();
    let has_layout = quote! {
        let usable = #usable;
        let layout = unsafe { Layout::from_size_align_unchecked(usable, runtime::c::ALIGN) };
    };
    let usable_first = guarded.hands_out().then(|| quote!(let usable = #usable;));
    let layout_first = guarded.takes_in().then_some(&has_layout);
    let inspect =
        guarded.inspects().then(|| quote!(#has_layout unsafe { inspect(block, place, layout) }));
    quote! {
            #[inline(always)]
            unsafe fn obtain(place: usize) -> *mut u8 {
                #usable_first
                unsafe { #obtain }
            }

            #[inline(always)]
            unsafe fn release(block: *mut u8, place: usize) {
                #layout_first
                unsafe { #release }
            }

            #[inline(always)]
            unsafe fn inspect(block: *mut u8, place: usize) {
                #inspect
            }

    }
}

/// What a thread gives back.
fn flush(spec: &Spec, guarded: &Guarded<'_>) -> Option<TokenStream> {
    let held = guarded.flush();
    spec.layers.has_cache().then(|| {
        quote! {
            if runtime::c::arrive::<Local>() {
                #held
                CACHE.with(|cache| unsafe { cache.flush(&HEAP) });
            }
        }
    })
}
