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
///     8     144     455        64      16     12%     10%     56      16       16     32
///     9     160     409        64      96     11%      9%     51      16       16     32
///    10     176     372        64      64     10%      8%     46      16       16     32
///    11     192     341        64      64      9%      7%     42      16       16     32
///    12     208     315        64      16      8%      7%     39      16       16     32
///    13     224     292        64     128      7%      6%     36      16       16     32
///    14     240     273        64      16      7%      6%     34      16       16     32
///    15     256     256        64       0      6%      5%     32      32       32     32
///    16     288     227        64     160     12%     10%     28      16       16     32
///    17     320     204        64     256     11%      9%     25      16       16     32
///    18     352     186        64      64     10%      8%     23      16       16     32
///    19     384     170        64     256      9%      8%     21      16       16     32
///    20     416     157        64     224      8%      7%     19      16       16     33
///    21     448     146        64     128      7%      6%     18      16       16     32
///    22     480     136        64     256      7%      6%     17      16       16     32
///    23     512     128        64       0      6%      6%     16      16       16     32
///    24     576     113        64     448     12%     10%     14      14       14     32
///    25     640     102        64     256     11%      9%     12      12       12     34
///    26     704      93        64      64     10%      8%     11      11       11     33
///    27     768      85        64     256      9%      8%     10      10       10     34
///    28     832      78        64     640      8%      7%      9       9        9     35
///    29     896      73        64     128      7%      7%      9       9        9     32
///    30     960      68        64     256      7%      6%      8       8        8     34
///    31    1024      64        64       0      6%      6%      8       8        8     32
///    32    1152      56        64    1024     12%     11%      7       4        4     32
///    33    1280      51        64     256     11%      9%      6       4        4     34
///    34    1408      46        64     768     10%      9%      5       4        4     37
///    35    1536      42        64    1024      9%      8%      5       4        4     34
///    36    1664      39        64     640      8%      7%      4       4        4     39
///    37    1792      36        64    1024      7%      7%      4       4        4     36
///    38    1920      34        64     256      7%      6%      4       4        4     34
///    39    2048      32        64       0      6%      6%      4       4        4     32
///    40    2304      28        64    1024     12%     11%      3       3        3     37
///    41    2560      25        64    1536     11%      9%      3       3        3     34
///    42    2816      23        64     768     10%      9%      2       2        2     46
///    43    3072      21        64    1024      9%      8%      2       2        2     42
///    44    3328      19        64    2304      8%      7%      2       2        2     39
///    45    3584      18        64    1024      7%      7%      2       2        2     36
///    46    3840      17        64     256      7%      6%      2       2        2     34
///    47    4096      16        64       0      6%      6%      2       2        2     32
///    48    4608      14        64    1024     12%     11%      1       1        1     56
///    49    5120      12        64    4096     11%      9%      1       1        1     51
///    50    5632      11        64    3584     10%      9%      1       1        1     46
///    51    6144      10        64    4096      9%      8%      1       1        1     42
///    52    6656       9        64    5632      8%      7%      1       1        1     39
///    53    7168       9        64    1024      7%      7%      1       1        1     36
///    54    7680       8        64    4096      7%      6%      1       1        1     34
///    55    8192       8        64       0      6%      6%      1       1        1     32
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
    use ::core::primitive::{bool, str, u8, usize};
    use ::core::ptr;
    use ::hak::__private as runtime;
    use runtime::{Cache, Class, Heap, Large, SizeClass, Stats, Depot};

    const _: () = ::core::assert!(
        runtime::UNIT_BYTES == 65_536 && runtime::SUPERSLAB_BYTES == 2_097_152,
        "hak-runtime and hak-codegen are of different versions",
    );

    const NAME: &str = "Web";

    /// Classes: the hot ones first, the others from small to large.
    ///
    /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
    static CLASSES: [Class; 72] = [
        Class::new(NAME, SizeClass::new([32, 64, 32, 32, 128], [1, 2048])),
        Class::new(NAME, SizeClass::new([48, 64, 32, 32, 85], [1, 1365])),
        Class::new(NAME, SizeClass::new([64, 64, 32, 32, 64], [1, 1024])),
        Class::new(NAME, SizeClass::new([128, 64, 32, 32, 32], [1, 512])),
        Class::new(NAME, SizeClass::new([256, 32, 32, 32, 32], [1, 256])),
        Class::new(NAME, SizeClass::new([512, 16, 16, 16, 32], [1, 128])),
        Class::new(NAME, SizeClass::new([16, 64, 16, 16, 256], [1, 4096])),
        Class::new(NAME, SizeClass::new([80, 64, 16, 16, 51], [1, 819])),
        Class::new(NAME, SizeClass::new([96, 64, 16, 16, 42], [1, 682])),
        Class::new(NAME, SizeClass::new([112, 64, 16, 16, 36], [1, 585])),
        Class::new(NAME, SizeClass::new([144, 56, 16, 16, 32], [1, 455])),
        Class::new(NAME, SizeClass::new([160, 51, 16, 16, 32], [1, 409])),
        Class::new(NAME, SizeClass::new([176, 46, 16, 16, 32], [1, 372])),
        Class::new(NAME, SizeClass::new([192, 42, 16, 16, 32], [1, 341])),
        Class::new(NAME, SizeClass::new([208, 39, 16, 16, 32], [1, 315])),
        Class::new(NAME, SizeClass::new([224, 36, 16, 16, 32], [1, 292])),
        Class::new(NAME, SizeClass::new([240, 34, 16, 16, 32], [1, 273])),
        Class::new(NAME, SizeClass::new([288, 28, 16, 16, 32], [1, 227])),
        Class::new(NAME, SizeClass::new([320, 25, 16, 16, 32], [1, 204])),
        Class::new(NAME, SizeClass::new([352, 23, 16, 16, 32], [1, 186])),
        Class::new(NAME, SizeClass::new([384, 21, 16, 16, 32], [1, 170])),
        Class::new(NAME, SizeClass::new([416, 19, 16, 16, 33], [1, 157])),
        Class::new(NAME, SizeClass::new([448, 18, 16, 16, 32], [1, 146])),
        Class::new(NAME, SizeClass::new([480, 17, 16, 16, 32], [1, 136])),
        Class::new(NAME, SizeClass::new([576, 14, 14, 14, 32], [1, 113])),
        Class::new(NAME, SizeClass::new([640, 12, 12, 12, 34], [1, 102])),
        Class::new(NAME, SizeClass::new([704, 11, 11, 11, 33], [1, 93])),
        Class::new(NAME, SizeClass::new([768, 10, 10, 10, 34], [1, 85])),
        Class::new(NAME, SizeClass::new([832, 9, 9, 9, 35], [1, 78])),
        Class::new(NAME, SizeClass::new([896, 9, 9, 9, 32], [1, 73])),
        Class::new(NAME, SizeClass::new([960, 8, 8, 8, 34], [1, 68])),
        Class::new(NAME, SizeClass::new([1024, 8, 8, 8, 32], [1, 64])),
        Class::new(NAME, SizeClass::new([1152, 7, 4, 4, 32], [1, 56])),
        Class::new(NAME, SizeClass::new([1280, 6, 4, 4, 34], [1, 51])),
        Class::new(NAME, SizeClass::new([1408, 5, 4, 4, 37], [1, 46])),
        Class::new(NAME, SizeClass::new([1536, 5, 4, 4, 34], [1, 42])),
        Class::new(NAME, SizeClass::new([1664, 4, 4, 4, 39], [1, 39])),
        Class::new(NAME, SizeClass::new([1792, 4, 4, 4, 36], [1, 36])),
        Class::new(NAME, SizeClass::new([1920, 4, 4, 4, 34], [1, 34])),
        Class::new(NAME, SizeClass::new([2048, 4, 4, 4, 32], [1, 32])),
        Class::new(NAME, SizeClass::new([2304, 3, 3, 3, 37], [1, 28])),
        Class::new(NAME, SizeClass::new([2560, 3, 3, 3, 34], [1, 25])),
        Class::new(NAME, SizeClass::new([2816, 2, 2, 2, 46], [1, 23])),
        Class::new(NAME, SizeClass::new([3072, 2, 2, 2, 42], [1, 21])),
        Class::new(NAME, SizeClass::new([3328, 2, 2, 2, 39], [1, 19])),
        Class::new(NAME, SizeClass::new([3584, 2, 2, 2, 36], [1, 18])),
        Class::new(NAME, SizeClass::new([3840, 2, 2, 2, 34], [1, 17])),
        Class::new(NAME, SizeClass::new([4096, 2, 2, 2, 32], [1, 16])),
        Class::new(NAME, SizeClass::new([4608, 1, 1, 1, 56], [1, 14])),
        Class::new(NAME, SizeClass::new([5120, 1, 1, 1, 51], [1, 12])),
        Class::new(NAME, SizeClass::new([5632, 1, 1, 1, 46], [1, 11])),
        Class::new(NAME, SizeClass::new([6144, 1, 1, 1, 42], [1, 10])),
        Class::new(NAME, SizeClass::new([6656, 1, 1, 1, 39], [1, 9])),
        Class::new(NAME, SizeClass::new([7168, 1, 1, 1, 36], [1, 9])),
        Class::new(NAME, SizeClass::new([7680, 1, 1, 1, 34], [1, 8])),
        Class::new(NAME, SizeClass::new([8192, 1, 1, 1, 32], [1, 8])),
        Class::new(NAME, SizeClass::new([9216, 1, 1, 1, 28], [2, 14])),
        Class::new(NAME, SizeClass::new([10_240, 1, 1, 1, 25], [2, 12])),
        Class::new(NAME, SizeClass::new([11_264, 1, 1, 1, 23], [2, 11])),
        Class::new(NAME, SizeClass::new([12_288, 1, 1, 1, 21], [2, 10])),
        Class::new(NAME, SizeClass::new([13_312, 1, 1, 1, 19], [2, 9])),
        Class::new(NAME, SizeClass::new([14_336, 1, 1, 1, 18], [2, 9])),
        Class::new(NAME, SizeClass::new([15_360, 1, 1, 1, 17], [2, 8])),
        Class::new(NAME, SizeClass::new([16_384, 1, 1, 1, 16], [2, 8])),
        Class::new(NAME, SizeClass::new([18_432, 1, 1, 1, 14], [3, 10])),
        Class::new(NAME, SizeClass::new([20_480, 1, 1, 1, 12], [3, 9])),
        Class::new(NAME, SizeClass::new([22_528, 1, 1, 1, 11], [3, 8])),
        Class::new(NAME, SizeClass::new([24_576, 1, 1, 1, 10], [3, 8])),
        Class::new(NAME, SizeClass::new([26_624, 1, 1, 1, 9], [4, 9])),
        Class::new(NAME, SizeClass::new([28_672, 1, 1, 1, 9], [4, 9])),
        Class::new(NAME, SizeClass::new([30_720, 1, 1, 1, 8], [4, 8])),
        Class::new(NAME, SizeClass::new([32_768, 1, 1, 1, 8], [4, 8])),
    ];

    /// Full magazines that each class may keep, in the order of `CLASSES`.
    static DEPOTS: [Depot; 72] = [
        Depot::new(128),
        Depot::new(85),
        Depot::new(64),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(256),
        Depot::new(51),
        Depot::new(42),
        Depot::new(36),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(33),
        Depot::new(32),
        Depot::new(32),
        Depot::new(32),
        Depot::new(34),
        Depot::new(33),
        Depot::new(34),
        Depot::new(35),
        Depot::new(32),
        Depot::new(34),
        Depot::new(32),
        Depot::new(32),
        Depot::new(34),
        Depot::new(37),
        Depot::new(34),
        Depot::new(39),
        Depot::new(36),
        Depot::new(34),
        Depot::new(32),
        Depot::new(37),
        Depot::new(34),
        Depot::new(46),
        Depot::new(42),
        Depot::new(39),
        Depot::new(36),
        Depot::new(34),
        Depot::new(32),
        Depot::new(56),
        Depot::new(51),
        Depot::new(46),
        Depot::new(42),
        Depot::new(39),
        Depot::new(36),
        Depot::new(34),
        Depot::new(32),
        Depot::new(28),
        Depot::new(25),
        Depot::new(23),
        Depot::new(21),
        Depot::new(19),
        Depot::new(18),
        Depot::new(17),
        Depot::new(16),
        Depot::new(14),
        Depot::new(12),
        Depot::new(11),
        Depot::new(10),
        Depot::new(9),
        Depot::new(9),
        Depot::new(8),
        Depot::new(8),
    ];

    /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
    static HEAP: Heap<[Depot; 72]> = Heap::new(
        NAME,
        &CLASSES,
        &DEPOTS,
        Large::new(1_048_576, 4_194_304),
    );

    runtime::thread_local! {
        /// A thread's bins, in the order of `CLASSES`.
        static CACHE: Cache<72> = const { Cache::new() };
    }

    /// The place in `CLASSES` for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 2048] = runtime::class_table(
        [
            (16, 6),
            (32, 0),
            (48, 1),
            (64, 2),
            (80, 7),
            (96, 8),
            (112, 9),
            (128, 3),
            (144, 10),
            (160, 11),
            (176, 12),
            (192, 13),
            (208, 14),
            (224, 15),
            (240, 16),
            (256, 4),
            (288, 17),
            (320, 18),
            (352, 19),
            (384, 20),
            (416, 21),
            (448, 22),
            (480, 23),
            (512, 5),
            (576, 24),
            (640, 25),
            (704, 26),
            (768, 27),
            (832, 28),
            (896, 29),
            (960, 30),
            (1024, 31),
            (1152, 32),
            (1280, 33),
            (1408, 34),
            (1536, 35),
            (1664, 36),
            (1792, 37),
            (1920, 38),
            (2048, 39),
            (2304, 40),
            (2560, 41),
            (2816, 42),
            (3072, 43),
            (3328, 44),
            (3584, 45),
            (3840, 46),
            (4096, 47),
            (4608, 48),
            (5120, 49),
            (5632, 50),
            (6144, 51),
            (6656, 52),
            (7168, 53),
            (7680, 54),
            (8192, 55),
            (9216, 56),
            (10_240, 57),
            (11_264, 58),
            (12_288, 59),
            (13_312, 60),
            (14_336, 61),
            (15_360, 62),
            (16_384, 63),
            (18_432, 64),
            (20_480, 65),
            (22_528, 66),
            (24_576, 67),
            (26_624, 68),
            (28_672, 69),
            (30_720, 70),
            (32_768, 71),
        ],
        4,
    );

    /// The place of the class that serves a request; `None` when it is above all classes.
    #[inline(always)]
    fn class_of(layout: Layout) -> Option<usize> {
        let key = runtime::key(layout);
        if key < 32_768 {
            Some(unsafe { *CLASS_OF.get_unchecked(key >> 4) } as usize)
        } else {
            cold_path();
            None
        }
    }

    /// A block of a class. `class` is below the number of classes.
    #[inline(always)]
    unsafe fn alloc_class(class: usize) -> *mut u8 {
        CACHE
            .with(|cache| {
                let bin = unsafe { cache.bin(class) };
                if bin.is_empty() {
                    cold_path();
                    return alloc_slow(class);
                }
                unsafe { bin.pop() }
            })
    }

    /// Takes back a block of a class, which no one uses any more.
    #[inline(always)]
    unsafe fn dealloc_class(block: *mut u8, class: usize) {
        CACHE
            .with(|cache| {
                let bin = unsafe { cache.bin(class) };
                if bin.is_full() {
                    cold_path();
                    return unsafe { dealloc_slow(block, class) };
                }
                unsafe { bin.push(block) };
            })
    }

    /// `alloc_class` when the bin is empty.
    #[cold]
    #[inline(never)]
    fn alloc_slow(class: usize) -> *mut u8 {
        CACHE.with(|cache| unsafe { cache.alloc_slow(&HEAP, class) })
    }

    /// `dealloc_class` when the bin is full.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_slow(block: *mut u8, class: usize) {
        CACHE.with(|cache| unsafe { cache.dealloc_slow(&HEAP, class, block) })
    }

    /// A request above all classes: a span or a mapping.
    #[cold]
    #[inline(never)]
    fn alloc_large(bytes: usize, align: usize, zeroed: bool) -> *mut u8 {
        HEAP.alloc_large(bytes, align, zeroed)
    }

    /// Takes back a span or a mapping.
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_large(start: *mut u8, bytes: usize, align: usize) {
        unsafe { HEAP.dealloc_large(start, bytes, align) }
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
    }

    unsafe impl GlobalAlloc for Web {
        #[inline(always)]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match class_of(layout) {
                Some(class) => unsafe { alloc_class(class) }
                None => alloc_large(layout.size(), layout.align(), false),
            }
        }

        #[inline(always)]
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            match class_of(layout) {
                Some(class) => unsafe { dealloc_class(block, class) }
                None => unsafe { dealloc_large(block, layout.size(), layout.align()) }
            }
        }

        #[inline(always)]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            let Some(class) = class_of(layout) else {
                return alloc_large(layout.size(), layout.align(), true);
            };
            let block = unsafe { alloc_class(class) };
            if !block.is_null() {
                unsafe { ptr::write_bytes(block, 0, layout.size()) };
            }
            block
        }

        /// Out of line: it usually copies.
        #[inline(never)]
        unsafe fn realloc(
            &self,
            block: *mut u8,
            layout: Layout,
            new_size: usize,
        ) -> *mut u8 {
            let (size, align) = (layout.size(), layout.align());
            let new_layout = unsafe {
                Layout::from_size_align_unchecked(new_size, align)
            };
            match (class_of(layout), class_of(new_layout)) {
                (Some(class), Some(new_class)) if class == new_class => return block,
                (None, None) => {
                    let resized = unsafe {
                        HEAP.resize_large(block, size, new_size, align)
                    };
                    if !resized.is_null() {
                        return resized;
                    }
                }
                _ => {}
            }
            let moved = unsafe { self.alloc(new_layout) };
            if !moved.is_null() {
                let kept = if size < new_size { size } else { new_size };
                unsafe { ptr::copy_nonoverlapping(block, moved, kept) };
                unsafe { self.dealloc(block, layout) };
            }
            moved
        }
    }

    runtime::implement_allocator! {
        Web
    }
};
