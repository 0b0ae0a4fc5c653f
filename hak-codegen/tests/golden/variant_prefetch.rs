/// A memory allocator, generated from `tests/golden/variant_prefetch.toml`.
///
/// ```text
/// class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot
///     0      32    2048        64       0       -     96%     64      16       16    512
///     1      64    1024        64       0    100%     48%     64      16       16    256
///     2     256     256        64       0    300%     74%     64      16       16     64
/// ```
///
/// - bytes: of a block. blocks: in a slab. tail: bytes at the slab's end that no block covers.
/// - step: growth over the class before.
/// - worst: share of a block that the smallest request of the class leaves unused.
/// - slots: blocks in a magazine; a thread holds up to two magazines of a class.
/// - refill: blocks fetched from slabs at a time. prewarm: the same at a thread's first use.
/// - depot: full magazines kept for all threads.
///
/// A request goes to the smallest class that is not below its size, rounded up to a multiple of
/// its alignment. What is above the last class becomes a span of 64 KiB units, or a mapping.
#[derive(
    ::core::clone::Clone,
    ::core::marker::Copy,
    ::core::fmt::Debug,
    ::core::default::Default
)]
pub struct VariantPrefetch;

#[allow(unsafe_code, unused_imports, clippy::all, clippy::pedantic, clippy::restriction)]
const _: () = {
    use ::core::alloc::{GlobalAlloc, Layout};
    use ::core::hint::cold_path;
    use ::core::option::Option::{self, None, Some};
    use ::core::primitive::{u8, u16, usize};
    use ::core::ptr;
    use ::hak::__private as runtime;
    use runtime::{
        Account, Class, Heap, SizeClass, Stats, Terms, Want, Purge, PurgeHow, Bin, Cache,
        Depot, Large,
    };

    const _: () = ::core::assert!(
        runtime::UNIT_BYTES == 65_536 && runtime::SUPERSLAB_BYTES == 2_097_152
            && runtime::BIN_WORDS == 3,
        "hak-runtime and hak-codegen are of different versions",
    );

    /// What the allocator holds from the system, and on which terms.
    static ACCOUNT: Account = Account::new(
        "VariantPrefetch",
        Terms {
            cache_limit: 67_108_864,
            purge: Purge::After {
                milliseconds: 1000,
                how: PurgeHow::DontNeed,
                helper: false,
            },
            prefault: runtime::Prefault::Growing,
            ..Terms::DEFAULT
        },
    );

    /// Classes, from small to large.
    ///
    /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
    const SIZES: [SizeClass; 3] = [
        SizeClass::new([32, 64, 16, 16, 512], [1, 2048]),
        SizeClass::new([64, 64, 16, 16, 256], [1, 1024]),
        SizeClass::new([256, 64, 16, 16, 64], [1, 256]),
    ];

    /// For each shard, the slabs of all classes.
    static CLASSES: [[Class; 3]; 1] = [const { runtime::classes(&ACCOUNT, SIZES) }; 1];

    /// For each shard, the full magazines of all classes.
    static DEPOTS: [[Depot; 3]; 1] = [const { runtime::depots(SIZES) }; 1];

    /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
    static HEAP: Heap<[[Depot; 3]; 1]> = Heap::new(
        &ACCOUNT,
        &CLASSES,
        &DEPOTS,
        Large::new(1_048_576, 33_554_432),
    );

    runtime::thread_local! {
        /// What a thread keeps of each class, in the order of `SIZES`.
        static CACHE: Cache<Bin, 3> = const { Cache::new() };
    }

    /// The place for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 8] = runtime::class_table([(32, 0), (64, 3), (256, 6)], 5);

    /// The place of the class that serves a request, counted in words of a thread's `CACHE`;

    /// `None` when it is above all classes.
    #[inline(always)]
    fn class_of(size: usize, align: usize) -> Option<usize> {
        let key = runtime::key(size, align);
        if key < 256 {
            Some(unsafe { *CLASS_OF.get_unchecked(key >> 5) } as usize)
        } else {
            cold_path();
            None
        }
    }

    /// A block of the class at a place.
    #[inline(always)]
    unsafe fn alloc_class(place: usize) -> *mut u8 {
        CACHE
            .with(|cache| {
                let bin = unsafe { cache.bin(place) };
                if bin.is_empty() {
                    cold_path();
                    return alloc_slow(place);
                }
                let block = unsafe { bin.pop() };
                unsafe { bin.prefetch() };
                block
            })
    }

    /// Takes back a block of the class at a place, which no one uses any more.
    #[inline(always)]
    unsafe fn dealloc_class(block: *mut u8, place: usize) {
        CACHE
            .with(|cache| {
                let bin = unsafe { cache.bin(place) };
                if bin.is_full() {
                    cold_path();
                    return unsafe { dealloc_slow(block, place) };
                }
                unsafe { bin.push(block) };
            })
    }

    /// The same when the bin is empty.
    #[cold]
    #[inline(never)]
    fn alloc_slow(place: usize) -> *mut u8 {
        CACHE.with(|cache| unsafe { cache.alloc_slow(&HEAP, place) })
    }

    /// The taking back when the bin is full.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_slow(block: *mut u8, place: usize) {
        CACHE.with(|cache| unsafe { cache.dealloc_slow(&HEAP, place, block) })
    }

    /// A request above all classes: a span or a mapping.
    #[cold]
    #[inline(never)]
    fn alloc_large(layout: Layout, want: Want) -> *mut u8 {
        CACHE
            .with(|cache| unsafe {
                cache.alloc_large(&HEAP, layout.size(), layout.align(), want)
            })
    }

    /// Takes back a span or a mapping.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_large(start: *mut u8, layout: Layout) {
        unsafe { HEAP.dealloc_large(start, layout.size(), layout.align()) }
    }

    /// Resizes a block whose class changes, or that no class serves.
    #[inline(never)]
    unsafe fn realloc_slow(
        block: *mut u8,
        layout: Layout,
        new_layout: Layout,
    ) -> *mut u8 {
        let (size, new_size, align) = (layout.size(), new_layout.size(), layout.align());
        let (place, new_place) = (class_of(size, align), class_of(new_size, align));
        if place.is_none() && new_place.is_none() {
            let resized = unsafe { HEAP.resize_large(block, size, new_size, align) };
            if !resized.is_null() {
                return resized;
            }
        }
        let want = if size < new_size { Want::Growth } else { Want::Bytes };
        let moved = match new_place {
            Some(place) => unsafe { alloc_class(place) }
            None => alloc_large(new_layout, want),
        };
        if moved.is_null() {
            return moved;
        }
        let kept = if size < new_size { size } else { new_size };
        unsafe { ptr::copy_nonoverlapping(block, moved, kept) };
        match place {
            Some(place) => unsafe { dealloc_class(block, place) }
            None => unsafe { dealloc_large(block, layout) }
        }
        moved
    }

    impl VariantPrefetch {
        /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
        pub fn stats() -> Stats<3> {
            HEAP.stats()
        }

        /// Gives the free blocks that this thread and the depots keep back to their slabs.
        pub fn flush() {
            CACHE.with(|cache| unsafe { cache.flush(&HEAP) });
            HEAP.drain_depots();
        }

        /// Returns all memory that no block is in to the system, but for what other threads
        /// cache. Takes a while when there is much of it.
        pub fn purge() {
            Self::flush();
            HEAP.purge();
        }
    }

    unsafe impl GlobalAlloc for VariantPrefetch {
        #[inline(always)]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { alloc_class(place) }
                None => alloc_large(layout, Want::Bytes),
            }
        }

        #[inline(always)]
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { dealloc_class(block, place) }
                None => unsafe { dealloc_large(block, layout) }
            }
        }

        #[inline(always)]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            match class_of(layout.size(), layout.align()) {
                Some(place) => {
                    let block = unsafe { alloc_class(place) };
                    if !block.is_null() {
                        unsafe { ptr::write_bytes(block, 0, layout.size()) };
                    }
                    block
                }
                None => alloc_large(layout, Want::Zeros),
            }
        }

        #[inline]
        unsafe fn realloc(
            &self,
            block: *mut u8,
            layout: Layout,
            new_size: usize,
        ) -> *mut u8 {
            let new_layout = unsafe {
                Layout::from_size_align_unchecked(new_size, layout.align())
            };
            if let (Some(place), Some(new_place)) = (
                class_of(layout.size(), layout.align()),
                class_of(new_size, layout.align()),
            ) && place == new_place
            {
                return block;
            }
            unsafe { realloc_slow(block, layout, new_layout) }
        }
    }

    runtime::implement_allocator! {
        VariantPrefetch
    }
};
