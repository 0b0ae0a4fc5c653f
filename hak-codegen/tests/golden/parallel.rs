/// Threads that exchange blocks: no two blocks in one cache line
///
/// A memory allocator, generated from `specs/parallel.toml`.
///
/// ```text
/// class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot
///     0      64    1024        64       0       -     98%     64      16       16   2048
///     1     128     512        64       0    100%     49%     64      16       16   1024
///     2     192     341        64      64     50%     32%     64      16       16    682
///     3     256     256        64       0     33%     24%     64      16       16    512
///     4     320     204        64     256     25%     19%     64      16       16    409
///     5     384     170        64     256     20%     16%     64      16       16    341
///     6     448     146        64     128     16%     14%     64      16       16    292
///     7     512     128        64       0     14%     12%     64      16       16    256
///     8     640     102        64     256     25%     19%     64      16       16    204
///     9     768      85        64     256     20%     16%     64      16       16    170
///    10     896      73        64     128     16%     14%     64      16       16    146
///    11    1024      64        64       0     14%     12%     64      16       16    128
///    12    1280      51        64     256     25%     19%     51       8        8    128
///    13    1536      42        64    1024     20%     16%     42       8        8    130
///    14    1792      36        64    1024     16%     14%     36       8        8    130
///    15    2048      32        64       0     14%     12%     32       8        8    128
///    16    2560      25        64    1536     25%     19%     25       8        8    131
///    17    3072      21        64    1024     20%     16%     21       8        8    130
///    18    3584      18        64    1024     16%     14%     18       8        8    130
///    19    4096      16        64       0     14%     12%     16       8        8    128
///    20    5120      12        64    4096     25%     19%     12       8        8    136
///    21    6144      10        64    4096     20%     16%     10       8        8    136
///    22    7168       9        64    1024     16%     14%      9       8        8    130
///    23    8192       8        64       0     14%     12%      8       8        8    128
///    24   10240      12       128    8192     25%     19%      6       6        6    136
///    25   12288      10       128    8192     20%     16%      5       5        5    136
///    26   14336       9       128    2048     16%     14%      4       4        4    146
///    27   16384       8       128       0     14%     12%      4       4        4    128
///    28   20480       9       192   12288     25%     19%      3       3        3    136
///    29   24576       8       192       0     20%     16%      2       2        2    170
///    30   28672       9       256    4096     16%     14%      2       2        2    146
///    31   32768       8       256       0     14%     12%      2       2        2    128
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
pub struct Parallel;

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
        "Parallel",
        Terms {
            cache_limit: 67_108_864,
            purge: Purge::After {
                milliseconds: 1000,
                how: PurgeHow::DontNeed,
                helper: false,
            },
            prefault: runtime::Prefault::Growing,
            shards_by_processors: true,
            ..Terms::DEFAULT
        },
    );

    /// Classes, from small to large.
    ///
    /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
    const SIZES: [SizeClass; 32] = [
        SizeClass::new([64, 64, 16, 16, 2048], [1, 1024]),
        SizeClass::new([128, 64, 16, 16, 1024], [1, 512]),
        SizeClass::new([192, 64, 16, 16, 682], [1, 341]),
        SizeClass::new([256, 64, 16, 16, 512], [1, 256]),
        SizeClass::new([320, 64, 16, 16, 409], [1, 204]),
        SizeClass::new([384, 64, 16, 16, 341], [1, 170]),
        SizeClass::new([448, 64, 16, 16, 292], [1, 146]),
        SizeClass::new([512, 64, 16, 16, 256], [1, 128]),
        SizeClass::new([640, 64, 16, 16, 204], [1, 102]),
        SizeClass::new([768, 64, 16, 16, 170], [1, 85]),
        SizeClass::new([896, 64, 16, 16, 146], [1, 73]),
        SizeClass::new([1024, 64, 16, 16, 128], [1, 64]),
        SizeClass::new([1280, 51, 8, 8, 128], [1, 51]),
        SizeClass::new([1536, 42, 8, 8, 130], [1, 42]),
        SizeClass::new([1792, 36, 8, 8, 130], [1, 36]),
        SizeClass::new([2048, 32, 8, 8, 128], [1, 32]),
        SizeClass::new([2560, 25, 8, 8, 131], [1, 25]),
        SizeClass::new([3072, 21, 8, 8, 130], [1, 21]),
        SizeClass::new([3584, 18, 8, 8, 130], [1, 18]),
        SizeClass::new([4096, 16, 8, 8, 128], [1, 16]),
        SizeClass::new([5120, 12, 8, 8, 136], [1, 12]),
        SizeClass::new([6144, 10, 8, 8, 136], [1, 10]),
        SizeClass::new([7168, 9, 8, 8, 130], [1, 9]),
        SizeClass::new([8192, 8, 8, 8, 128], [1, 8]),
        SizeClass::new([10_240, 6, 6, 6, 136], [2, 12]),
        SizeClass::new([12_288, 5, 5, 5, 136], [2, 10]),
        SizeClass::new([14_336, 4, 4, 4, 146], [2, 9]),
        SizeClass::new([16_384, 4, 4, 4, 128], [2, 8]),
        SizeClass::new([20_480, 3, 3, 3, 136], [3, 9]),
        SizeClass::new([24_576, 2, 2, 2, 170], [3, 8]),
        SizeClass::new([28_672, 2, 2, 2, 146], [4, 9]),
        SizeClass::new([32_768, 2, 2, 2, 128], [4, 8]),
    ];

    /// For each shard, the slabs of all classes.
    static CLASSES: [[Class; 32]; 8] = [const { runtime::classes(&ACCOUNT, SIZES) }; 8];

    /// For each shard, the full magazines of all classes.
    static DEPOTS: [[Depot; 32]; 8] = [const { runtime::depots(SIZES) }; 8];

    /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
    static HEAP: Heap<[[Depot; 32]; 8]> = Heap::new(
        &ACCOUNT,
        &CLASSES,
        &DEPOTS,
        Large::new(1_048_576, 33_554_432),
    );

    runtime::thread_local! {
        /// What a thread keeps of each class, in the order of `SIZES`.
        static CACHE: Cache<Bin, 32> = const { Cache::new() };
    }

    /// The place for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 512] = runtime::class_table(
        [
            (64, 0),
            (128, 3),
            (192, 6),
            (256, 9),
            (320, 12),
            (384, 15),
            (448, 18),
            (512, 21),
            (640, 24),
            (768, 27),
            (896, 30),
            (1024, 33),
            (1280, 36),
            (1536, 39),
            (1792, 42),
            (2048, 45),
            (2560, 48),
            (3072, 51),
            (3584, 54),
            (4096, 57),
            (5120, 60),
            (6144, 63),
            (7168, 66),
            (8192, 69),
            (10_240, 72),
            (12_288, 75),
            (14_336, 78),
            (16_384, 81),
            (20_480, 84),
            (24_576, 87),
            (28_672, 90),
            (32_768, 93),
        ],
        6,
    );

    /// The place of the class that serves a request, counted in words of a thread's `CACHE`;

    /// `None` when it is above all classes.
    #[inline(always)]
    fn class_of(size: usize, align: usize) -> Option<usize> {
        let key = runtime::key(size, align);
        if key < 32_768 {
            Some(unsafe { *CLASS_OF.get_unchecked(key >> 6) } as usize)
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

    impl Parallel {
        /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
        pub fn stats() -> Stats<32> {
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

    unsafe impl GlobalAlloc for Parallel {
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
        Parallel
    }
};
