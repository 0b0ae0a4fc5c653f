//! The checks of a spec, written where a block goes to the program and where it comes back.
//!
//! A check that is off leaves nothing: not a line, not a bit.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use crate::{layers, number};
use hak_spec::{CANARY_BYTES, Checks, Layers, Spec};

/// How the generated functions get and give back blocks, with this spec's checks.
pub(crate) struct Guarded<'a> {
    checks: &'a Checks,
    layers: Layers,
    interface: Interface,
}

/// Who asks for memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    /// Rust, which says the layout of what it frees.
    Rust,
    /// C, which says nothing of it.
    C,
}

impl<'a> Guarded<'a> {
    pub(crate) fn new(spec: &'a Spec) -> Self {
        Guarded { checks: &spec.checks, layers: spec.layers, interface: Interface::Rust }
    }

    /// The same for a library with the C interface.
    pub(crate) fn for_c(spec: &'a Spec) -> Self {
        Guarded { interface: Interface::C, ..Guarded::new(spec) }
    }

    pub(crate) fn is_c(&self) -> bool {
        self.interface == Interface::C
    }

    /// Whether a block is looked at, or written to, before the program gets it.
    pub(crate) fn hands_out(&self) -> bool {
        self.checks.canary || self.checks.poison
    }

    /// Whether a block is looked at when the program gives it back, or resizes it.
    pub(crate) fn inspects(&self) -> bool {
        let Checks { foreign, alignment, size, double_free, canary, .. } = *self.checks;
        foreign || alignment || size || double_free || canary
    }

    /// Whether anything is done with a block that the program gives back.
    pub(crate) fn takes_in(&self) -> bool {
        self.inspects() || self.checks.poison || self.checks.zero
    }

    /// The bytes that are asked of a class, or above all classes, for a size.
    pub(crate) fn bytes(&self, size: TokenStream) -> TokenStream {
        let canary = number(CANARY_BYTES);
        if self.checks.canary { quote!(#size + #canary) } else { size }
    }

    /// A block of the class at `place` for `size` bytes.
    pub(crate) fn obtain(&self, size: TokenStream) -> TokenStream {
        if self.hands_out() {
            quote!(hand_out(alloc_class(place), place, #size))
        } else {
            quote!(alloc_class(place))
        }
    }

    /// Gives `block`, of the class at `place`, back.
    pub(crate) fn release(&self) -> TokenStream {
        if self.takes_in() {
            quote!(take_in(block, place, layout))
        } else {
            quote!(dealloc_class(block, place))
        }
    }

    /// A block stays where it is, and has another size from now on.
    pub(crate) fn keep(&self) -> TokenStream {
        if self.inspects() {
            quote!(unsafe { keep(block, place, layout, new_size) })
        } else {
            quote!(block)
        }
    }

    /// What is looked at before a block is copied elsewhere.
    pub(crate) fn inspect_before_copy(&self) -> Option<TokenStream> {
        let bytes = self.bytes(quote!(size));
        self.inspects().then(|| {
            quote! {
                match place {
                    Some(place) => unsafe { inspect(block, place, layout) },
                    None => unsafe { HEAP.inspect_large(block, #bytes, align) },
                }
            }
        })
    }

    /// The functions behind [`Guarded::obtain`] and its like.
    pub(crate) fn functions(&self) -> TokenStream {
        let bits = match self.names() {
            Some(names) => Some(quote!(#(checks::#names)|*)),
            None => self.is_c().then(|| quote!(0)),
        };
        let checks = bits.map(|bits| {
            quote! {
                /// What is checked: a bit for each check.
                const CHECKS: u16 = #bits;
            }
        });
        let hand_out = self.hands_out().then(|| self.hand_out());
        let inspect = self.inspects().then(|| self.inspect());
        let take_in = self.takes_in().then(|| self.take_in());
        quote!(#checks #hand_out #inspect #take_in)
    }

    /// The names of the checks, as the runtime has them; `None` when there are none.
    fn names(&self) -> Option<Vec<Ident>> {
        let checks = self.checks;
        // Nobody says a size to hold against the block's.
        let size = checks.size && !self.is_c();
        let all = [
            (checks.foreign, "FOREIGN"),
            (checks.alignment, "ALIGNMENT"),
            (size, "SIZE"),
            (checks.double_free, "DOUBLE_FREE"),
            (checks.canary, "CANARY"),
            (checks.poison, "POISON"),
            (checks.zero, "ZERO"),
            (checks.random, "RANDOM"),
            (checks.quarantine, "QUARANTINE"),
            (checks.guard, "GUARD"),
        ];
        let on = all.iter().filter(|(is_on, _)| *is_on);
        let names: Vec<_> = on.map(|(_, name)| Ident::new(name, Span::call_site())).collect();
        (!names.is_empty()).then_some(names)
    }

    /// The type of the heap's way for large requests, as its last parameter; the usual one is not
    /// named.
    pub(crate) fn large(&self) -> Option<TokenStream> {
        self.keeps_records().then(|| quote!(, CheckedLarge<CHECKS>))
    }

    /// The same, where it is made.
    pub(crate) fn large_name(&self) -> TokenStream {
        if self.keeps_records() { quote!(CheckedLarge) } else { quote!(Large) }
    }

    /// Whether large blocks are on record: for checks, or since nobody says how large they are.
    fn keeps_records(&self) -> bool {
        self.is_c() || self.names().is_some()
    }

    /// The terms of the account, with what the checks need done.
    pub(crate) fn terms(&self, terms: TokenStream) -> TokenStream {
        match self.names() {
            _ if self.is_c() => quote!(runtime::c::terms::<CHECKS, STEP>(#terms)),
            None => terms,
            Some(_) => quote!(runtime::checked::<CHECKS>(#terms)),
        }
    }

    /// Of the runtime, what the functions and the statics name.
    pub(crate) fn imports(&self) -> TokenStream {
        let Checks { canary, poison, zero, random, quarantine, .. } = *self.checks;
        let checks = self.names().map(|_| quote!(checks,));
        let large = self.large_name();
        let large = quote!(#large, #checks);
        let canary = canary.then(|| quote!(Canary,));
        let poison = (poison || zero).then(|| quote!(Poison,));
        let quarantine = quarantine.then(|| quote!(Quarantine,));
        let random = random.then(|| quote!(Random,));
        quote!(#large #canary #poison #quarantine #random)
    }

    /// What a thread has beside its cache.
    pub(crate) fn thread_locals(&self, count: &Literal) -> TokenStream {
        let Checks { random, quarantine, quarantine_bytes, seed, .. } = *self.checks;
        let random = random.then(|| {
            let seed = seed.map_or(quote!(None), |seed| {
                let seed = Literal::u64_unsuffixed(seed);
                quote!(Some(#seed))
            });
            quote! {
                /// Which of the cached blocks comes next.
                static RANDOM: Random = const { Random::new(#seed) };
            }
        });
        let quarantine = quarantine.then(|| {
            let bytes = number(quarantine_bytes);
            quote! {
                /// Freed blocks that wait: so many bytes of each class.
                static HELD: Quarantine<#count> = const { Quarantine::new(#bytes) };
            }
        });
        quote!(#random #quarantine)
    }

    /// The same in a library: fields, what they start as, and how they are reached.
    pub(crate) fn parts(&self, count: &Literal) -> [TokenStream; 3] {
        let Checks { random, quarantine, quarantine_bytes, seed, .. } = *self.checks;
        let (mut fields, mut values, mut parts) =
            (TokenStream::new(), TokenStream::new(), TokenStream::new());
        if random {
            let seed = seed.map_or(quote!(None), |seed| {
                let seed = Literal::u64_unsuffixed(seed);
                quote!(Some(#seed))
            });
            fields.extend(quote!(random: Random,));
            values.extend(quote!(random: Random::new(#seed),));
            parts.extend(quote! {
                /// Which of the cached blocks comes next.
                const RANDOM: Part<Random, { offset_of!(Local, random) }> =
                    unsafe { Part::new() };
            });
        }
        if quarantine {
            let bytes = number(quarantine_bytes);
            fields.extend(quote!(held: Quarantine<#count>,));
            values.extend(quote!(held: Quarantine::new(#bytes),));
            parts.extend(quote! {
                /// Freed blocks that wait: so many bytes of each class.
                const HELD: Part<Quarantine<#count>, { offset_of!(Local, held) }> =
                    unsafe { Part::new() };
            });
        }
        [fields, values, parts]
    }

    /// What is around getting a block from the cache: another one may come in its place.
    pub(crate) fn alloc(&self) -> Option<TokenStream> {
        self.checks.random.then(|| {
            quote! {
                /// A block of the class at a place: any of those that are cached.
                #[inline(always)]
                unsafe fn alloc_class(place: usize) -> *mut u8 {
                    let block = unsafe { alloc_top(place) };
                    RANDOM.with(|random| {
                        CACHE.with(|cache| unsafe { cache.bin(place).exchange(block, random) })
                    })
                }
            }
        })
    }

    /// What is around giving a block to the cache: one that was freed before may go in its place.
    pub(crate) fn dealloc(&self, freed: Option<TokenStream>) -> Option<TokenStream> {
        let class = layers::class_at_place(self.layers);
        let directly = self.is_c().then(|| {
            quote! {
                if !runtime::c::arrive::<Local>() {
                    return unsafe { dealloc_released(block, place) };
                }
            }
        });
        self.checks.quarantine.then(|| {
            quote! {
                /// Takes back a block of the class at a place, and lets it wait.
                #[inline(always)]
                unsafe fn dealloc_class(block: *mut u8, place: usize) {
                    #directly
                    #freed
                    if let Some(block) =
                        HELD.with(|held| unsafe { held.hold(&HEAP, #class, block) })
                    {
                        unsafe { dealloc_released(block.as_ptr(), place) };
                    }
                }
            }
        })
    }

    /// What is done with this thread's cache. In a library a thread may have none: then it is done
    /// `directly`.
    pub(crate) fn with_cache(&self, act: TokenStream, directly: &TokenStream) -> TokenStream {
        if self.is_c() {
            quote!(if runtime::c::arrive::<Local>() { #act } else { #directly })
        } else {
            act
        }
    }

    /// An alloc that is tried again without what the thread holds back, if it gets nothing.
    pub(crate) fn in_need(&self, alloc: TokenStream) -> TokenStream {
        if !self.checks.quarantine {
            return alloc;
        }
        quote! {
            match #alloc {
                none if none.is_null() && HELD.with(|held| unsafe { held.flush(&HEAP) }) => #alloc,
                block => block,
            }
        }
    }

    /// What `flush` does beside emptying the cache.
    pub(crate) fn flush(&self) -> Option<TokenStream> {
        let quarantine = self.checks.quarantine;
        quarantine.then(|| quote!(HELD.with(|held| unsafe { held.flush(&HEAP) });))
    }

    fn hand_out(&self) -> TokenStream {
        let class = layers::class_at_place(self.layers);
        let zero = self.checks.zero;
        let verify = self.checks.poison.then(|| {
            quote! {
                // Nobody wrote to it while it was free.
                unsafe { Poison::<#zero>::verify(&ACCOUNT, block, HEAP.block_bytes(#class)) };
            }
        });
        let write = self.checks.canary.then(|| quote!(unsafe { Canary::write(block, size) };));
        quote! {
            /// What is done with a block before the program gets it.
            #[inline(never)]
            unsafe fn hand_out(block: *mut u8, place: usize, size: usize) -> *mut u8 {
                if block.is_null() {
                    return block;
                }
                #verify
                #write
                block
            }
        }
    }

    fn inspect(&self) -> TokenStream {
        let class = layers::class_at_place(self.layers);
        let Checks { foreign, alignment, size, double_free, canary, zero, .. } = *self.checks;
        let look = (foreign || alignment || size || double_free).then(|| {
            quote! {
                unsafe { HEAP.check_block::<CHECKS>(#class, block, layout.size(), layout.align()) };
            }
        });
        let canary_check = canary.then(|| {
            quote! {
                unsafe {
                    Canary::check::<#zero>(&ACCOUNT, block, layout.size(), HEAP.block_bytes(#class))
                };
            }
        });
        let canary_write = canary.then(|| quote!(unsafe { Canary::write(block, new_size) };));
        quote! {
            /// Ends the process if a block that the program gives back, or resizes, is not what its
            /// layout says.
            #[inline(always)]
            unsafe fn inspect(block: *mut u8, place: usize, layout: Layout) {
                #look
                #canary_check
            }

            /// A block of the same class serves the new size.
            #[inline(never)]
            unsafe fn keep(
                block: *mut u8,
                place: usize,
                layout: Layout,
                new_size: usize,
            ) -> *mut u8 {
                unsafe { inspect(block, place, layout) };
                #canary_write
                block
            }
        }
    }

    fn take_in(&self) -> TokenStream {
        let Checks { canary, poison, zero, .. } = *self.checks;
        let class = layers::class_at_place(self.layers);
        let inspect = self.inspects().then(|| quote!(unsafe { inspect(block, place, layout) };));
        let after = if poison || zero {
            quote!(unsafe { Poison::<#zero>::fill(block, HEAP.block_bytes(#class)) };)
        } else if canary {
            quote!(unsafe { Canary::retire(block, layout.size()) };)
        } else {
            TokenStream::new()
        };
        quote! {
            /// What is done with a block that the program gives back.
            #[inline(never)]
            unsafe fn take_in(block: *mut u8, place: usize, layout: Layout) {
                #inspect
                #after
                unsafe { dealloc_class(block, place) }
            }
        }
    }
}
