/// A memory allocator, generated from `tests/golden/variant_profile.toml`.
///
/// ```text
/// class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot
///     0      16    4096        64       0       -     93%     64      16       16   1024
///     1      64    1024        64       0    300%     73%     64      16       16    256
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
pub struct VariantProfile;

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
        Depot, Large, Profile, Profiler, ProfilerForks, Sampler,
    };

    const _: () = ::core::assert!(
        runtime::UNIT_BYTES == 65_536 && runtime::SUPERSLAB_BYTES == 2_097_152
            && runtime::BIN_WORDS == 3,
        "hak-runtime and hak-codegen are of different versions",
    );

    /// What the allocator holds from the system, and on which terms.
    static ACCOUNT: Account = Account::new(
        "VariantProfile",
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
        SizeClass::new([16, 64, 16, 16, 1024], [1, 4096]),
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

    /// What was sampled: of so many classes, once in so many bytes.
    static PROFILER: Profiler<3, 1_048_576> = Profiler::new();

    static PROFILER_FORKS: ProfilerForks = ProfilerForks::new();

    runtime::thread_local! {
        /// How many bytes are left until the thread's next sample.
        static SAMPLER: Sampler<1_048_576> = const { Sampler::new() };
    }

    /// The place for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 16] = runtime::class_table([(16, 0), (64, 3), (256, 6)], 4);

    /// The place of the class that serves a request, counted in words of a thread's `CACHE`;

    /// `None` when it is above all classes.
    #[inline(always)]
    fn class_of(size: usize, align: usize) -> Option<usize> {
        let key = runtime::key(size, align);
        if key < 256 {
            Some(unsafe { *CLASS_OF.get_unchecked(key >> 4) } as usize)
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
                unsafe { bin.pop() }
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
        let begun = runtime::ticks();
        let block = CACHE.with(|cache| unsafe { cache.alloc_slow(&HEAP, place) });
        PROFILER.slow_alloc(place / 3, begun);
        block
    }

    /// The taking back when the bin is full.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_slow(block: *mut u8, place: usize) {
        let begun = runtime::ticks();
        CACHE.with(|cache| unsafe { cache.dealloc_slow(&HEAP, place, block) });
        PROFILER.slow_dealloc(place / 3, begun);
    }

    /// A request above all classes: a span or a mapping.
    #[cold]
    #[inline(never)]
    fn alloc_large(layout: Layout, want: Want) -> *mut u8 {
        let begun = runtime::ticks();
        let block = CACHE
            .with(|cache| unsafe {
                cache.alloc_large(&HEAP, layout.size(), layout.align(), want)
            });
        PROFILER.slow_alloc(3, begun);
        block
    }

    /// Takes back a span or a mapping.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_large(start: *mut u8, layout: Layout) {
        let begun = runtime::ticks();
        unsafe { HEAP.dealloc_large(start, layout.size(), layout.align()) };
        PROFILER.slow_dealloc(3, begun);
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
            let held = PROFILER.hold(block);
            let resized = unsafe { HEAP.resize_large(block, size, new_size, align) };
            let has_moved = !resized.is_null() && resized != block;
            SAMPLER.with(|sampler| PROFILER.settle(sampler, held, has_moved));
            if has_moved {
                if SAMPLER.with(|sampler| sampler.is_due(new_size)) {
                    sample(resized, new_layout);
                }
            }
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
        if SAMPLER.with(|sampler| sampler.is_due(new_size)) {
            sample(moved, new_layout);
        }
        end_sample(block);
        match place {
            Some(place) => unsafe { dealloc_class(block, place) }
            None => unsafe { dealloc_large(block, layout) }
        }
        moved
    }

    /// Samples a block whose request was due.
    fn sample(block: *mut u8, layout: Layout) {
        let (size, align) = (layout.size(), layout.align());
        let class = match class_of(size, align) {
            Some(place) => place / 3,
            None => 3,
        };
        SAMPLER
            .with(|sampler| {
                PROFILER.allocated(&PROFILER_FORKS, sampler, block, size, class)
            });
    }

    /// Ends the sample of a block, if there is one. The block is still the caller's.
    fn end_sample(block: *mut u8) {
        SAMPLER.with(|sampler| PROFILER.freed(sampler, block));
    }

    /// `alloc`, sampled.
    #[cold]
    #[inline(never)]
    unsafe fn alloc_due(layout: Layout) -> *mut u8 {
        #[inline(always)]
        unsafe fn alloc(layout: Layout) -> *mut u8 {
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { alloc_class(place) }
                None => alloc_large(layout, Want::Bytes),
            }
        }
        let block = unsafe { alloc(layout) };
        sample(block, layout);
        block
    }

    /// `alloc_zeroed`, sampled.
    #[cold]
    #[inline(never)]
    unsafe fn alloc_zeroed_due(layout: Layout) -> *mut u8 {
        #[inline(always)]
        unsafe fn alloc(layout: Layout) -> *mut u8 {
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
        let block = unsafe { alloc(layout) };
        sample(block, layout);
        block
    }

    /// `dealloc` of a block that may have been sampled.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_known(block: *mut u8, layout: Layout) {
        end_sample(block);
        match class_of(layout.size(), layout.align()) {
            Some(place) => unsafe { dealloc_class(block, place) }
            None => unsafe { dealloc_large(block, layout) }
        }
    }

    impl VariantProfile {
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

        /// What was sampled since the start: sizes, lifetimes, and the times of slow paths.
        /// Allocates nothing; waits some milliseconds if the first sample was not long ago.
        pub fn profile() -> Profile<3> {
            PROFILER.profile(&PROFILER_FORKS, &HEAP)
        }
    }

    unsafe impl GlobalAlloc for VariantProfile {
        #[inline(always)]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if SAMPLER.with(|sampler| sampler.is_due(layout.size())) {
                cold_path();
                return unsafe { alloc_due(layout) };
            }
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { alloc_class(place) }
                None => alloc_large(layout, Want::Bytes),
            }
        }

        #[inline(always)]
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            if PROFILER.may_know(block) {
                cold_path();
                return unsafe { dealloc_known(block, layout) };
            }
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { dealloc_class(block, place) }
                None => unsafe { dealloc_large(block, layout) }
            }
        }

        #[inline(always)]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if SAMPLER.with(|sampler| sampler.is_due(layout.size())) {
                cold_path();
                return unsafe { alloc_zeroed_due(layout) };
            }
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
        VariantProfile
    }
};
