//! The statics of an allocator: its classes, its depots, its heap, and each thread's cache.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::{names, number};
use hak_spec::{Class, Layers, Purge, PurgeHow, SUPERSLAB_BYTES, Spec, Superslab, UNIT_BYTES};

/// Words of a bin in a thread's cache; generated code makes sure that the runtime agrees.
pub(crate) const BIN_WORDS: u32 = 3;

/// The order of classes in the statics and in a thread's cache: the hot ones first, as the spec
/// lists them, so that their bins share cache lines; then the others, growing.
pub(crate) struct Order<'a> {
    classes: Vec<&'a Class>,
}

impl<'a> Order<'a> {
    pub(crate) fn of(spec: &'a Spec) -> Self {
        let mut classes: Vec<_> = spec.classes.iter().collect();
        // Stable, so the others keep growing.
        classes.sort_by_key(|class| class.hot.unwrap_or(u32::MAX));
        Order { classes }
    }

    /// Whether classes stand by size, as they do without hot ones.
    pub(crate) fn is_by_size(&self) -> bool {
        self.classes.is_sorted_by_key(|class| class.bytes)
    }

    /// Block size and place of each class, from small to large. A place counts in words of a
    /// thread's cache, so that no multiplication stands between a request and its bin.
    pub(crate) fn places(&self) -> Vec<(u32, u32)> {
        let mut places: Vec<_> = self
            .classes
            .iter()
            .zip(0..)
            .map(|(class, nth)| (class.bytes, nth * BIN_WORDS))
            .collect();
        places.sort_unstable();
        places
    }
}

const HOT_FIRST: &str = " Classes: the hot ones first, the others from small to large.";

/// The statics.
pub(crate) fn tables(spec: &Spec, order: &Order<'_>, name: &str) -> TokenStream {
    let count = number(order.classes.len() as u64);
    let shards = number(spec.superslab.shards);
    let classes = order.classes.iter().map(|class| size_class(class));
    let (depot_type, depots) = depots(spec, order);
    let terms = terms(spec);
    let spans_to = number(spec.spans_to);
    let keep = number(spec.keep);
    let (unit, superslab) = (number(UNIT_BYTES), number(SUPERSLAB_BYTES));
    let bin_words = number(BIN_WORDS);
    let assert = names::assert();
    let order_of_classes =
        if order.is_by_size() { " Classes, from small to large." } else { HOT_FIRST };
    quote! {
        const _: () = #assert!(
            runtime::UNIT_BYTES == #unit
                && runtime::SUPERSLAB_BYTES == #superslab
                && runtime::BIN_WORDS == #bin_words,
            "hak-runtime and hak-codegen are of different versions"
        );

        /// What the allocator holds from the system, and on which terms.
        static ACCOUNT: Account = Account::new(#name, #terms);

        #[doc = #order_of_classes]
        ///
        /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
        const SIZES: [SizeClass; #count] = [#(#classes),*];
        /// For each shard, the slabs of all classes.
        static CLASSES: [[Class; #count]; #shards] =
            [const { runtime::classes(&ACCOUNT, SIZES) }; #shards];
        #depots

        /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
        static HEAP: Heap<#depot_type> =
            Heap::new(&ACCOUNT, &CLASSES, &DEPOTS, Large::new(#spans_to, #keep));
        runtime::thread_local! {
            /// A thread's bins, in the order of `SIZES`.
            static CACHE: Cache<#count> = const { Cache::new() };
        }
    }
}

fn size_class(class: &Class) -> TokenStream {
    let figures = [class.bytes, class.slots, class.refill, class.prewarm, class.depot].map(number);
    let slab = [class.units, class.blocks].map(number);
    quote!(SizeClass::new([#(#figures),*], [#(#slab),*]))
}

/// The type and the static of the depots.
fn depots(spec: &Spec, order: &Order<'_>) -> (TokenStream, TokenStream) {
    if spec.layers == Layers::Magazine {
        return (
            quote!(NoDepot),
            quote!(
                static DEPOTS: NoDepot = NoDepot;
            ),
        );
    }
    let count = number(order.classes.len() as u64);
    let shards = number(spec.superslab.shards);
    let depots = quote! {
        /// For each shard, the full magazines of all classes.
        static DEPOTS: [[Depot; #count]; #shards] = [const { runtime::depots(SIZES) }; #shards];
    };
    (quote!([[Depot; #count]; #shards]), depots)
}

/// The terms of the allocator's account; what a spec leaves open is not written.
fn terms(spec: &Spec) -> TokenStream {
    let Superslab { purge, limit, huge_pages, prefault, shards_by_processors, .. } = spec.superslab;
    let limit = limit.map(|bytes| field("limit", number(bytes)));
    let cache_limit = spec.cache_limit.map(|bytes| field("cache_limit", number(bytes)));
    let purge = purge.map(|purge| field("purge", self::purge(purge)));
    let huge_pages = huge_pages.then(|| field("huge_pages", quote!(true)));
    let prefault = prefault.then(|| field("prefault", quote!(true)));
    let by_processors = shards_by_processors.then(|| field("shards_by_processors", quote!(true)));
    quote! {
        Terms {
            #limit #cache_limit #purge #huge_pages #prefault #by_processors
            ..Terms::DEFAULT
        }
    }
}

fn field(name: &str, value: impl ToTokens) -> TokenStream {
    let name = Ident::new(name, Span::call_site());
    quote!(#name: #value,)
}

fn purge(Purge { after_ms, how, helper }: Purge) -> TokenStream {
    let milliseconds = number(after_ms);
    let how = match how {
        PurgeHow::DontNeed => quote!(DontNeed),
        PurgeHow::Free => quote!(Free),
    };
    quote!(Purge::After { milliseconds: #milliseconds, how: PurgeHow::#how, helper: #helper })
}
