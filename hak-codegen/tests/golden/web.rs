/// HTTP and JSON services: bursts of small short-lived blocks, many connections
///
/// A memory allocator, generated from `specs/web.toml`.
///
/// ```text
/// class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot
///     0      16    4096        64       0       -     93%     64      16       16    256
///     1      32    2048        64       0    100%     46%     64      32       32    128
///     2      48    1365        64      16     50%     31%     64      32       32     85
///     3      64    1024        64       0     33%     23%     64      32       32     64
///     4      80     819        64      16     25%     18%     64      16       16     51
///     5      96     682        64      64     20%     15%     64      16       16     42
///     6     112     585        64      16     16%     13%     64      16       16     36
///     7     128     512        64       0     14%     11%     64      32       32     32
///     8     144     455        64      16     12%     10%     64      16       16     28
///     9     160     409        64      96     11%      9%     64      16       16     25
///    10     176     372        64      64     10%      8%     64      16       16     23
///    11     192     341        64      64      9%      7%     64      16       16     21
///    12     208     315        64      16      8%      7%     64      16       16     19
///    13     224     292        64     128      7%      6%     64      16       16     18
///    14     240     273        64      16      7%      6%     64      16       16     17
///    15     256     256        64       0      6%      5%     64      32       32     16
///    16     288     227        64     160     12%     10%     56      16       16     16
///    17     320     204        64     256     11%      9%     51      16       16     16
///    18     352     186        64      64     10%      8%     46      16       16     16
///    19     384     170        64     256      9%      8%     42      16       16     16
///    20     416     157        64     224      8%      7%     39      16       16     16
///    21     448     146        64     128      7%      6%     36      16       16     16
///    22     480     136        64     256      7%      6%     34      16       16     16
///    23     512     128        64       0      6%      6%     32      32       32     16
///    24     576     113        64     448     12%     10%     28      16       16     16
///    25     640     102        64     256     11%      9%     25      16       16     16
///    26     704      93        64      64     10%      8%     23      16       16     16
///    27     768      85        64     256      9%      8%     21      16       16     16
///    28     832      78        64     640      8%      7%     19      16       16     16
///    29     896      73        64     128      7%      7%     18      16       16     16
///    30     960      68        64     256      7%      6%     17      16       16     16
///    31    1024      64        64       0      6%      6%     16      16       16     16
///    32    1152      56        64    1024     12%     11%     14       4        4     16
///    33    1280      51        64     256     11%      9%     12       4        4     17
///    34    1408      46        64     768     10%      9%     11       4        4     16
///    35    1536      42        64    1024      9%      8%     10       4        4     17
///    36    1664      39        64     640      8%      7%      9       4        4     17
///    37    1792      36        64    1024      7%      7%      9       4        4     16
///    38    1920      34        64     256      7%      6%      8       4        4     17
///    39    2048      32        64       0      6%      6%      8       4        4     16
///    40    2304      28        64    1024     12%     11%      7       4        4     16
///    41    2560      25        64    1536     11%      9%      6       4        4     17
///    42    2816      23        64     768     10%      9%      5       4        4     18
///    43    3072      21        64    1024      9%      8%      5       4        4     17
///    44    3328      19        64    2304      8%      7%      4       4        4     19
///    45    3584      18        64    1024      7%      7%      4       4        4     18
///    46    3840      17        64     256      7%      6%      4       4        4     17
///    47    4096      16        64       0      6%      6%      4       4        4     16
///    48    4608      14        64    1024     12%     11%      3       3        3     18
///    49    5120      12        64    4096     11%      9%      3       3        3     17
///    50    5632      11        64    3584     10%      9%      2       2        2     23
///    51    6144      10        64    4096      9%      8%      2       2        2     21
///    52    6656       9        64    5632      8%      7%      2       2        2     19
///    53    7168       9        64    1024      7%      7%      2       2        2     18
///    54    7680       8        64    4096      7%      6%      2       2        2     17
///    55    8192       8        64       0      6%      6%      2       2        2     16
///    56    9216      14       128    2048     12%     11%      1       1        1     28
///    57   10240      12       128    8192     11%      9%      1       1        1     25
///    58   11264      11       128    7168     10%      9%      1       1        1     23
///    59   12288      10       128    8192      9%      8%      1       1        1     21
///    60   13312       9       128   11264      8%      7%      1       1        1     19
///    61   14336       9       128    2048      7%      7%      1       1        1     18
///    62   15360       8       128    8192      7%      6%      1       1        1     17
///    63   16384       8       128       0      6%      6%      1       1        1     16
///    64   18432      10       192   12288     12%     11%      1       1        1     14
///    65   20480       9       192   12288     11%      9%      1       1        1     12
///    66   22528       8       192   16384     10%      9%      1       1        1     11
///    67   24576       8       192       0      9%      8%      1       1        1     10
///    68   26624       9       256   22528      8%      7%      1       1        1      9
///    69   28672       9       256    4096      7%      7%      1       1        1      9
///    70   30720       8       256   16384      7%      6%      1       1        1      8
///    71   32768       8       256       0      6%      6%      1       1        1      8
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
pub struct Web;

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
        "Web",
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

    /// Classes: the hot ones first, the others from small to large.
    ///
    /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
    const SIZES: [SizeClass; 72] = [
        SizeClass::new([32, 64, 32, 32, 128], [1, 2048]),
        SizeClass::new([48, 64, 32, 32, 85], [1, 1365]),
        SizeClass::new([64, 64, 32, 32, 64], [1, 1024]),
        SizeClass::new([128, 64, 32, 32, 32], [1, 512]),
        SizeClass::new([256, 64, 32, 32, 16], [1, 256]),
        SizeClass::new([512, 32, 32, 32, 16], [1, 128]),
        SizeClass::new([16, 64, 16, 16, 256], [1, 4096]),
        SizeClass::new([80, 64, 16, 16, 51], [1, 819]),
        SizeClass::new([96, 64, 16, 16, 42], [1, 682]),
        SizeClass::new([112, 64, 16, 16, 36], [1, 585]),
        SizeClass::new([144, 64, 16, 16, 28], [1, 455]),
        SizeClass::new([160, 64, 16, 16, 25], [1, 409]),
        SizeClass::new([176, 64, 16, 16, 23], [1, 372]),
        SizeClass::new([192, 64, 16, 16, 21], [1, 341]),
        SizeClass::new([208, 64, 16, 16, 19], [1, 315]),
        SizeClass::new([224, 64, 16, 16, 18], [1, 292]),
        SizeClass::new([240, 64, 16, 16, 17], [1, 273]),
        SizeClass::new([288, 56, 16, 16, 16], [1, 227]),
        SizeClass::new([320, 51, 16, 16, 16], [1, 204]),
        SizeClass::new([352, 46, 16, 16, 16], [1, 186]),
        SizeClass::new([384, 42, 16, 16, 16], [1, 170]),
        SizeClass::new([416, 39, 16, 16, 16], [1, 157]),
        SizeClass::new([448, 36, 16, 16, 16], [1, 146]),
        SizeClass::new([480, 34, 16, 16, 16], [1, 136]),
        SizeClass::new([576, 28, 16, 16, 16], [1, 113]),
        SizeClass::new([640, 25, 16, 16, 16], [1, 102]),
        SizeClass::new([704, 23, 16, 16, 16], [1, 93]),
        SizeClass::new([768, 21, 16, 16, 16], [1, 85]),
        SizeClass::new([832, 19, 16, 16, 16], [1, 78]),
        SizeClass::new([896, 18, 16, 16, 16], [1, 73]),
        SizeClass::new([960, 17, 16, 16, 16], [1, 68]),
        SizeClass::new([1024, 16, 16, 16, 16], [1, 64]),
        SizeClass::new([1152, 14, 4, 4, 16], [1, 56]),
        SizeClass::new([1280, 12, 4, 4, 17], [1, 51]),
        SizeClass::new([1408, 11, 4, 4, 16], [1, 46]),
        SizeClass::new([1536, 10, 4, 4, 17], [1, 42]),
        SizeClass::new([1664, 9, 4, 4, 17], [1, 39]),
        SizeClass::new([1792, 9, 4, 4, 16], [1, 36]),
        SizeClass::new([1920, 8, 4, 4, 17], [1, 34]),
        SizeClass::new([2048, 8, 4, 4, 16], [1, 32]),
        SizeClass::new([2304, 7, 4, 4, 16], [1, 28]),
        SizeClass::new([2560, 6, 4, 4, 17], [1, 25]),
        SizeClass::new([2816, 5, 4, 4, 18], [1, 23]),
        SizeClass::new([3072, 5, 4, 4, 17], [1, 21]),
        SizeClass::new([3328, 4, 4, 4, 19], [1, 19]),
        SizeClass::new([3584, 4, 4, 4, 18], [1, 18]),
        SizeClass::new([3840, 4, 4, 4, 17], [1, 17]),
        SizeClass::new([4096, 4, 4, 4, 16], [1, 16]),
        SizeClass::new([4608, 3, 3, 3, 18], [1, 14]),
        SizeClass::new([5120, 3, 3, 3, 17], [1, 12]),
        SizeClass::new([5632, 2, 2, 2, 23], [1, 11]),
        SizeClass::new([6144, 2, 2, 2, 21], [1, 10]),
        SizeClass::new([6656, 2, 2, 2, 19], [1, 9]),
        SizeClass::new([7168, 2, 2, 2, 18], [1, 9]),
        SizeClass::new([7680, 2, 2, 2, 17], [1, 8]),
        SizeClass::new([8192, 2, 2, 2, 16], [1, 8]),
        SizeClass::new([9216, 1, 1, 1, 28], [2, 14]),
        SizeClass::new([10_240, 1, 1, 1, 25], [2, 12]),
        SizeClass::new([11_264, 1, 1, 1, 23], [2, 11]),
        SizeClass::new([12_288, 1, 1, 1, 21], [2, 10]),
        SizeClass::new([13_312, 1, 1, 1, 19], [2, 9]),
        SizeClass::new([14_336, 1, 1, 1, 18], [2, 9]),
        SizeClass::new([15_360, 1, 1, 1, 17], [2, 8]),
        SizeClass::new([16_384, 1, 1, 1, 16], [2, 8]),
        SizeClass::new([18_432, 1, 1, 1, 14], [3, 10]),
        SizeClass::new([20_480, 1, 1, 1, 12], [3, 9]),
        SizeClass::new([22_528, 1, 1, 1, 11], [3, 8]),
        SizeClass::new([24_576, 1, 1, 1, 10], [3, 8]),
        SizeClass::new([26_624, 1, 1, 1, 9], [4, 9]),
        SizeClass::new([28_672, 1, 1, 1, 9], [4, 9]),
        SizeClass::new([30_720, 1, 1, 1, 8], [4, 8]),
        SizeClass::new([32_768, 1, 1, 1, 8], [4, 8]),
    ];

    /// For each shard, the slabs of all classes.
    static CLASSES: [[Class; 72]; 1] = [const { runtime::classes(&ACCOUNT, SIZES) }; 1];

    /// For each shard, the full magazines of all classes.
    static DEPOTS: [[Depot; 72]; 1] = [const { runtime::depots(SIZES) }; 1];

    /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
    static HEAP: Heap<[[Depot; 72]; 1]> = Heap::new(
        &ACCOUNT,
        &CLASSES,
        &DEPOTS,
        Large::new(1_048_576, 4_194_304),
    );

    runtime::thread_local! {
        /// What a thread keeps of each class, in the order of `SIZES`.
        static CACHE: Cache<Bin, 72> = const { Cache::new() };
    }

    /// The place for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 2048] = runtime::class_table(
        [
            (16, 18),
            (32, 0),
            (48, 3),
            (64, 6),
            (80, 21),
            (96, 24),
            (112, 27),
            (128, 9),
            (144, 30),
            (160, 33),
            (176, 36),
            (192, 39),
            (208, 42),
            (224, 45),
            (240, 48),
            (256, 12),
            (288, 51),
            (320, 54),
            (352, 57),
            (384, 60),
            (416, 63),
            (448, 66),
            (480, 69),
            (512, 15),
            (576, 72),
            (640, 75),
            (704, 78),
            (768, 81),
            (832, 84),
            (896, 87),
            (960, 90),
            (1024, 93),
            (1152, 96),
            (1280, 99),
            (1408, 102),
            (1536, 105),
            (1664, 108),
            (1792, 111),
            (1920, 114),
            (2048, 117),
            (2304, 120),
            (2560, 123),
            (2816, 126),
            (3072, 129),
            (3328, 132),
            (3584, 135),
            (3840, 138),
            (4096, 141),
            (4608, 144),
            (5120, 147),
            (5632, 150),
            (6144, 153),
            (6656, 156),
            (7168, 159),
            (7680, 162),
            (8192, 165),
            (9216, 168),
            (10_240, 171),
            (11_264, 174),
            (12_288, 177),
            (13_312, 180),
            (14_336, 183),
            (15_360, 186),
            (16_384, 189),
            (18_432, 192),
            (20_480, 195),
            (22_528, 198),
            (24_576, 201),
            (26_624, 204),
            (28_672, 207),
            (30_720, 210),
            (32_768, 213),
        ],
        4,
    );

    /// The place of the class that serves a request, counted in words of a thread's `CACHE`;

    /// `None` when it is above all classes.
    #[inline(always)]
    fn class_of(size: usize, align: usize) -> Option<usize> {
        let key = runtime::key(size, align);
        if key < 32_768 {
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

    impl Web {
        /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
        pub fn stats() -> Stats<72> {
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

    unsafe impl GlobalAlloc for Web {
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
        Web
    }
};
