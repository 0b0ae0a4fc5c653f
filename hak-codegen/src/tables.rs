//! The statics of an allocator: its classes, its depots, its heap, and each thread's cache.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{names, number};
use hak_spec::{Class, Layers, SUPERSLAB_BYTES, Spec, UNIT_BYTES};

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

    /// Block size and place of each class, from small to large.
    pub(crate) fn places(&self) -> Vec<(u32, usize)> {
        let mut places: Vec<_> =
            self.classes.iter().enumerate().map(|(place, class)| (class.bytes, place)).collect();
        places.sort_unstable();
        places
    }
}

const HOT_FIRST: &str = " Classes: the hot ones first, the others from small to large.";

/// The statics.
pub(crate) fn tables(spec: &Spec, order: &Order<'_>, name: &str) -> TokenStream {
    let count = number(order.classes.len() as u64);
    let classes = order.classes.iter().map(|class| size_class(class));
    let (depot_type, depots) = depots(spec, order);
    let spans_to = number(spec.spans_to);
    let keep = number(spec.keep);
    let (unit, superslab) = (number(UNIT_BYTES), number(SUPERSLAB_BYTES));
    let assert = names::assert();
    let order_of_classes =
        if order.is_by_size() { " Classes, from small to large." } else { HOT_FIRST };
    quote! {
        const _: () = #assert!(
            runtime::UNIT_BYTES == #unit && runtime::SUPERSLAB_BYTES == #superslab,
            "hak-runtime and hak-codegen are of different versions"
        );

        const NAME: &str = #name;

        #[doc = #order_of_classes]
        ///
        /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
        static CLASSES: [Class; #count] = [#(#classes),*];
        #depots

        /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
        static HEAP: Heap<#depot_type> =
            Heap::new(NAME, &CLASSES, &DEPOTS, Large::new(#spans_to, #keep));
        runtime::thread_local! {
            /// A thread's bins, in the order of `CLASSES`.
            static CACHE: Cache<#count> = const { Cache::new() };
        }
    }
}

fn size_class(class: &Class) -> TokenStream {
    let figures = [class.bytes, class.slots, class.refill, class.prewarm, class.depot].map(number);
    let slab = [class.units, class.blocks].map(number);
    quote!(Class::new(NAME, SizeClass::new([#(#figures),*], [#(#slab),*])))
}

/// The type and the static of the depots.
fn depots(spec: &Spec, order: &Order<'_>) -> (TokenStream, TokenStream) {
    if spec.layers == Layers::Magazine {
        return (
            quote!(NoDepot),
            quote! {
                /// No layer between the threads' magazines and the slabs.
                static DEPOTS: NoDepot = NoDepot;
            },
        );
    }
    let count = number(order.classes.len() as u64);
    let depots = order.classes.iter().map(|class| {
        let depot = number(class.depot);
        quote!(Depot::new(#depot))
    });
    let depots = quote! {
        /// Full magazines that each class may keep, in the order of `CLASSES`.
        static DEPOTS: [Depot; #count] = [#(#depots),*];
    };
    (quote!([Depot; #count]), depots)
}
