//! The statics of an allocator: its classes, its depots, its heap, and each thread's cache.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::checks::Guarded;
use crate::{c, counters, layers, names, number, profile};
use hak_spec::{Class, Prefault, Purge, PurgeHow, SUPERSLAB_BYTES, Spec, Superslab, UNIT_BYTES};

/// The order of classes in the statics and in a thread's cache: the hot ones first, as the spec
/// lists them, so that their bins share cache lines; then the others, growing.
pub(crate) struct Order<'a> {
    classes: Vec<&'a Class>,
    /// What a place counts in.
    pub(crate) words: u32,
}

impl<'a> Order<'a> {
    pub(crate) fn of(spec: &'a Spec) -> Self {
        let mut classes: Vec<_> = spec.classes.iter().collect();
        // Stable, so the others keep growing.
        classes.sort_by_key(|class| class.hot.unwrap_or(u32::MAX));
        Order { classes, words: layers::words(spec.layers) }
    }

    /// Whether classes stand by size, as they do without hot ones.
    pub(crate) fn is_by_size(&self) -> bool {
        self.classes.is_sorted_by_key(|class| class.bytes)
    }

    /// Block size and place of each class, from small to large. A place counts in words of a
    /// thread's cache, so that no multiplication stands between a request and its bin. Without a
    /// cache it is the number of the class.
    pub(crate) fn places(&self) -> Vec<(u32, u32)> {
        let mut places: Vec<_> = self
            .classes
            .iter()
            .zip(0..)
            .map(|(class, nth)| (class.bytes, nth * self.words))
            .collect();
        places.sort_unstable();
        places
    }
}

const HOT_FIRST: &str = " Classes: the hot ones first, the others from small to large.";

/// The statics.
pub(crate) fn tables(
    spec: &Spec,
    order: &Order<'_>,
    guarded: &Guarded<'_>,
    name: &str,
) -> TokenStream {
    let count = number(order.classes.len() as u64);
    let shards = number(spec.superslab.shards);
    let classes = order.classes.iter().map(|class| size_class(class));
    let depot = layers::depot(spec.layers);
    let (depot_type, depots) = depots(spec, &depot, &[&count, &shards]);
    let terms = guarded.terms(terms(spec));
    let (large, large_name) = (guarded.large(), guarded.large_name());
    let spans_to = number(spec.spans_to);
    let keep = number(spec.keep);
    let order_of_classes =
        if order.is_by_size() { " Classes, from small to large." } else { HOT_FIRST };
    let same_version = same_version(spec);
    let cache = cache(spec, guarded, &count);
    let (counters, profile) = (counters::statics(spec), profile::statics(spec));
    quote! {
        #same_version

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
        static HEAP: Heap<#depot_type #large> =
            Heap::new(&ACCOUNT, &CLASSES, &DEPOTS, #large_name::new(#spans_to, #keep));
        #cache
        #counters
        #profile
    }
}

/// The figures that this crate and the runtime must agree on.
fn same_version(spec: &Spec) -> TokenStream {
    let (unit, superslab) = (number(UNIT_BYTES), number(SUPERSLAB_BYTES));
    let words = number(layers::words(spec.layers));
    let words =
        layers::runtime_words(spec.layers).map(|of_runtime| quote!(&& #of_runtime == #words));
    let assert = names::assert();
    quote! {
        const _: () = #assert!(
            runtime::UNIT_BYTES == #unit && runtime::SUPERSLAB_BYTES == #superslab #words,
            "hak-runtime and hak-codegen are of different versions"
        );
    }
}

/// The statics of each thread.
fn cache(spec: &Spec, guarded: &Guarded<'_>, count: &Literal) -> TokenStream {
    if guarded.is_c() {
        return c::local(spec, guarded, count);
    }
    let front = layers::front(spec);
    let cache = spec.layers.has_cache().then(|| {
        quote! {
            /// What a thread keeps of each class, in the order of `SIZES`.
            static CACHE: Cache<#front, #count> = const { Cache::new() };
        }
    });
    let others = guarded.thread_locals(count);
    if cache.is_none() && others.is_empty() {
        return TokenStream::new();
    }
    quote!(runtime::thread_local! { #cache #others })
}

fn size_class(class: &Class) -> TokenStream {
    let figures = [class.bytes, class.slots, class.refill, class.prewarm, class.depot].map(number);
    let slab = [class.units, class.blocks].map(number);
    quote!(SizeClass::new([#(#figures),*], [#(#slab),*]))
}

/// The type and the static of the depots.
pub(crate) fn depots(
    spec: &Spec,
    depot: &TokenStream,
    counts: &[&Literal; 2],
) -> (TokenStream, TokenStream) {
    let [count, shards] = counts;
    if !spec.layers.has_depot() {
        let depots = quote!(
            static DEPOTS: #depot = NoDepot::new();
        );
        return (depot.clone(), depots);
    }
    let doc = format!(" For each shard, the full {} of all classes.", layers::parcels(spec.layers));
    let depots = quote! {
        #[doc = #doc]
        static DEPOTS: [[#depot; #count]; #shards] = [const { runtime::depots(SIZES) }; #shards];
    };
    (quote!([[#depot; #count]; #shards]), depots)
}

/// The terms of the allocator's account; what a spec leaves open is not written.
fn terms(spec: &Spec) -> TokenStream {
    let Superslab { purge, limit, huge_pages, prefault, shards_by_processors, .. } = spec.superslab;
    let limit = limit.map(|bytes| field("limit", number(bytes)));
    let cache_limit = spec.cache_limit.map(|bytes| field("cache_limit", number(bytes)));
    let purge = purge.map(|purge| field("purge", self::purge(purge)));
    let huge_pages = huge_pages.then(|| field("huge_pages", quote!(true)));
    let prefault = match prefault {
        Prefault::None => None,
        Prefault::Growing => Some(field("prefault", quote!(runtime::Prefault::Growing))),
        Prefault::All => Some(field("prefault", quote!(runtime::Prefault::All))),
    };
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
