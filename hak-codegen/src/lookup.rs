//! The cheapest way from a request to its class that these classes allow.

use proc_macro2::TokenStream;
use quote::quote;

use crate::number;
use crate::tables::Order;
use hak_spec::{Class, Likely, Spec, UNIT_BYTES};

/// `class_of`, and the table it reads if it needs one.
pub(crate) fn lookup(spec: &Spec, order: &Order<'_>) -> TokenStream {
    let places = order.places();
    let largest = number(places[places.len() - 1].0);
    let (table, place) = place(order, &places);
    let aligned = aligned(&spec.classes, &places);
    let (small, large) = match spec.hints.small {
        Likely::Likely => (None, Some(quote!(cold_path();))),
        Likely::Unlikely => (Some(quote!(cold_path();)), None),
        Likely::None => (None, None),
    };
    let place_doc = match order.words {
        1 => " The number of the class that serves a request;",
        _ => {
            " The place of the class that serves a request, counted in words of a thread's `CACHE`;"
        }
    };
    quote! {
        #table

        #[doc = #place_doc]
        /// `None` when it is above all classes.
        #[inline(always)]
        fn class_of(size: usize, align: usize) -> Option<usize> {
            #aligned
            let key = runtime::key(size, align);
            if key < #largest {
                #small
                Some(#place)
            } else {
                #large
                None
            }
        }
    }
}

/// How the place follows from the key: by nothing, by a shift, or by a table of bytes.
fn place(order: &Order<'_>, places: &[(u32, u32)]) -> (TokenStream, TokenStream) {
    if places.len() == 1 {
        return (TokenStream::new(), quote!(0));
    }
    let quantum = places[0].0;
    let is_linear = order.is_by_size()
        && quantum.is_power_of_two()
        && places.iter().zip(1..).all(|(&(bytes, _), nth)| bytes == nth * quantum);
    if is_linear {
        let shift = number(quantum.trailing_zeros());
        let scale = (order.words > 1).then(|| number(order.words)).map(|words| quote!(* #words));
        return (TokenStream::new(), quote!((key >> #shift) #scale));
    }
    // All sizes are multiples of the granule.
    let shift = places.iter().fold(0, |bits, (bytes, _)| bits | bytes).trailing_zeros();
    let entries = number(places[places.len() - 1].0 >> shift);
    let shift = number(shift);
    let pairs = places.iter().map(|&(bytes, place)| {
        let (bytes, place) = (number(bytes), number(place));
        quote!((#bytes, #place))
    });
    // Generated code is not told when a literal wraps, so the width is chosen here.
    let is_narrow = places.iter().all(|&(_, place)| u8::try_from(place).is_ok());
    let (entry, class_table) = if is_narrow {
        (quote!(u8), quote!(class_table))
    } else {
        (quote!(u16), quote!(wide_class_table))
    };
    let table = quote! {
        /// The place for each granule of sizes, made of (block size, place).
        static CLASS_OF: [#entry; #entries] = runtime::#class_table([#(#pairs),*], #shift);
    };
    // In bounds: the caller has tested that the key is below the largest class.
    (table, quote!(unsafe { *CLASS_OF.get_unchecked(key >> #shift) } as usize))
}

/// A test for alignments that the classes do not serve by their place in the list alone. None is
/// needed for a ladder: there a size rounded up to an alignment meets a class that it divides.
fn aligned(classes: &[Class], places: &[(u32, u32)]) -> TokenStream {
    let Some(served) = largest_alignment_served(classes) else { return TokenStream::new() };
    let served = number(served);
    let pairs = places.iter().map(|&(bytes, place)| {
        let (bytes, place) = (number(bytes), number(place));
        quote!((#bytes, #place))
    });
    quote! {
        if align > #served {
            cold_path();
            return runtime::aligned_class(&[#(#pairs),*], size, align);
        }
    }
}

/// The largest alignment that every class found by key serves; `None` when that is all there are.
fn largest_alignment_served(classes: &[Class]) -> Option<u32> {
    let largest = classes[classes.len() - 1].bytes;
    let serves = |align: u32| {
        let before = std::iter::once(0).chain(classes.iter().map(|class| class.bytes));
        classes.iter().zip(before).all(|(class, before)| {
            let first_key = (before / align + 1) * align;
            // A block is aligned as its size is, but no more than its slab, which starts at a
            // unit.
            let is_aligned = class.bytes.is_multiple_of(align) && align <= UNIT_BYTES;
            first_key > class.bytes || is_aligned
        })
    };
    let unserved = (0..32).map(|shift| 1 << shift).take_while(|&a| a <= largest);
    unserved.clone().find(|&align| !serves(align)).map(|align| align / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(sizes: &[u32]) -> Vec<Class> {
        let sizes = sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let text = format!("schema = 1\nclasses.sizes = [{sizes}]\n");
        hak_spec::parse(&text, "test.toml", "Test", None).unwrap().classes
    }

    #[test]
    fn ladders_serve_every_alignment() {
        let general = hak_spec::parse("schema = 1", "test.toml", "Test", None).unwrap();
        assert_eq!(largest_alignment_served(&general.classes), None);
    }

    #[test]
    fn no_class_serves_more_than_a_unit() {
        let sizes = [64 << 10, 128 << 10];
        assert_eq!(largest_alignment_served(&classes(&sizes)), Some(UNIT_BYTES));
    }

    #[test]
    fn odd_sizes_serve_small_alignments_only() {
        // 48 bytes aligned to 16 have key 47, which meets the class of 56: not a multiple of 16.
        assert_eq!(largest_alignment_served(&classes(&[16, 32, 56, 64])), Some(8));
        assert_eq!(largest_alignment_served(&classes(&[16, 40, 48, 56, 64])), Some(8));
        assert_eq!(largest_alignment_served(&classes(&[16, 32, 40, 48, 56, 64])), None);
    }
}
