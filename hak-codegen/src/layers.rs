//! What each list of layers is made of: what stands in front, what waits behind it, and what goes
//! to the depot.

use proc_macro2::TokenStream;
use quote::quote;

use crate::number;
use hak_spec::{Layers, Spec};

/// Words of a magazine's bin; generated code makes sure that the runtime agrees.
const BIN_WORDS: u32 = 3;
/// Words of a list.
const LIST_WORDS: u32 = 2;
/// Chains behind an array that are as many blocks as the array holds.
const HALF_CHAINS: u32 = 2;

/// Words of what a thread has in front for a class, in which places are counted; 1 without a
/// cache, where a place is the number of a class.
pub(crate) fn words(layers: Layers) -> u32 {
    match layers {
        Layers::None => 1,
        Layers::Freelist { .. } => LIST_WORDS,
        Layers::Magazine { .. } | Layers::MagazineFreelist { .. } => BIN_WORDS,
    }
}

/// The number of the class at `place`, in the order of the statics.
pub(crate) fn class_at_place(layers: Layers) -> TokenStream {
    match words(layers) {
        1 => quote!(place),
        words => {
            let words = number(words);
            quote!(place / #words)
        }
    }
}

/// The runtime's name for these words.
pub(crate) fn runtime_words(layers: Layers) -> Option<TokenStream> {
    match layers {
        Layers::None => None,
        Layers::Freelist { .. } => Some(quote!(runtime::LIST_WORDS)),
        Layers::Magazine { .. } | Layers::MagazineFreelist { .. } => {
            Some(quote!(runtime::BIN_WORDS))
        }
    }
}

/// The type in front. Where the number of spares follows the misses, their bounds are part of it.
pub(crate) fn front(spec: &Spec) -> TokenStream {
    let adaptive = |least: u32| {
        let most = spec.adaptive.map(|most| number(most * least));
        let least = number(least);
        most.map(|most| quote!(Adaptive<#least, #most>))
    };
    match spec.layers {
        Layers::None => TokenStream::new(),
        Layers::Magazine { .. } => match adaptive(1) {
            Some(bound) => quote!(Bin<Magazines<#bound>>),
            None => quote!(Bin),
        },
        Layers::Freelist { .. } => match adaptive(1) {
            Some(bound) => quote!(List<Chains<#bound>>),
            None => quote!(List),
        },
        Layers::MagazineFreelist { .. } => {
            let two = number(HALF_CHAINS);
            let bound = adaptive(HALF_CHAINS).unwrap_or_else(|| quote!(AtMost<#two>));
            quote!(Bin<Chains<#bound>>)
        }
    }
}

/// The runtime's types that `front`, the cache and the depots name.
pub(crate) fn imports(spec: &Spec) -> TokenStream {
    let depot = if spec.layers.has_depot() { quote!(Depot,) } else { quote!(NoDepot,) };
    let adaptive = spec.adaptive.map(|_| quote!(Adaptive,));
    match spec.layers {
        Layers::None => depot,
        Layers::Magazine { .. } => {
            let spares = spec.adaptive.map(|_| quote!(Magazines,));
            quote!(#adaptive Bin, Cache, #depot #spares)
        }
        Layers::Freelist { .. } => {
            let spares = spec.adaptive.map(|_| quote!(Chains,));
            quote!(#adaptive Cache, Chain, #depot List, #spares)
        }
        Layers::MagazineFreelist { .. } => {
            let bound = adaptive.unwrap_or_else(|| quote!(AtMost,));
            quote!(#bound Bin, Cache, Chains, #depot HalfChain,)
        }
    }
}

/// The type of a depot, or of none.
pub(crate) fn depot(layers: Layers) -> TokenStream {
    let depot = if layers.has_depot() { quote!(Depot) } else { quote!(NoDepot) };
    match layers {
        Layers::None | Layers::Magazine { .. } => depot,
        Layers::Freelist { .. } => quote!(#depot<Chain>),
        Layers::MagazineFreelist { .. } => quote!(#depot<HalfChain>),
    }
}

/// What the rustdoc calls the parcels that a depot keeps.
pub(crate) fn parcels(layers: Layers) -> &'static str {
    if layers.has_freelist() { "chains" } else { "magazines" }
}
