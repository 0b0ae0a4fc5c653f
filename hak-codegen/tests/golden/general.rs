/// Any program: fast for small blocks, modest with memory
///
/// A memory allocator, generated from `specs/general.toml`.
///
/// ```text
/// class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot
///     0      16    4096        64       0       -     93%     64      16       16   1024
///     1      32    2048        64       0    100%     46%     64      16       16    512
///     2      48    1365        64      16     50%     31%     64      16       16    341
///     3      64    1024        64       0     33%     23%     64      16       16    256
///     4      80     819        64      16     25%     18%     64      16       16    204
///     5      96     682        64      64     20%     15%     64      16       16    170
///     6     112     585        64      16     16%     13%     64      16       16    146
///     7     128     512        64       0     14%     11%     64      16       16    128
///     8     160     409        64      96     25%     19%     64      16       16    102
///     9     192     341        64      64     20%     16%     64      16       16     85
///    10     224     292        64     128     16%     13%     64      16       16     73
///    11     256     256        64       0     14%     12%     64      16       16     64
///    12     320     204        64     256     25%     19%     51      16       16     64
///    13     384     170        64     256     20%     16%     42      16       16     65
///    14     448     146        64     128     16%     14%     36      16       16     65
///    15     512     128        64       0     14%     12%     32      16       16     64
///    16     640     102        64     256     25%     19%     25      16       16     65
///    17     768      85        64     256     20%     16%     21      16       16     65
///    18     896      73        64     128     16%     14%     18      16       16     65
///    19    1024      64        64       0     14%     12%     16      16       16     64
///    20    1280      51        64     256     25%     19%     12       8        8     68
///    21    1536      42        64    1024     20%     16%     10       8        8     68
///    22    1792      36        64    1024     16%     14%      9       8        8     65
///    23    2048      32        64       0     14%     12%      8       8        8     64
///    24    2560      25        64    1536     25%     19%      6       6        6     68
///    25    3072      21        64    1024     20%     16%      5       5        5     68
///    26    3584      18        64    1024     16%     14%      4       4        4     73
///    27    4096      16        64       0     14%     12%      4       4        4     64
///    28    5120      12        64    4096     25%     19%      3       3        3     68
///    29    6144      10        64    4096     20%     16%      2       2        2     85
///    30    7168       9        64    1024     16%     14%      2       2        2     73
///    31    8192       8        64       0     14%     12%      2       2        2     64
///    32   10240      12       128    8192     25%     19%      1       1        1    102
///    33   12288      10       128    8192     20%     16%      1       1        1     85
///    34   14336       9       128    2048     16%     14%      1       1        1     73
///    35   16384       8       128       0     14%     12%      1       1        1     64
///    36   20480       9       192   12288     25%     19%      1       1        1     51
///    37   24576       8       192       0     20%     16%      1       1        1     42
///    38   28672       9       256    4096     16%     14%      1       1        1     36
///    39   32768       8       256       0     14%     12%      1       1        1     32
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
pub struct General;

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

    const NAME: &str = "General";

    /// Classes, from small to large.
    ///
    /// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
    static CLASSES: [Class; 40] = [
        Class::new(NAME, SizeClass::new([16, 64, 16, 16, 1024], [1, 4096])),
        Class::new(NAME, SizeClass::new([32, 64, 16, 16, 512], [1, 2048])),
        Class::new(NAME, SizeClass::new([48, 64, 16, 16, 341], [1, 1365])),
        Class::new(NAME, SizeClass::new([64, 64, 16, 16, 256], [1, 1024])),
        Class::new(NAME, SizeClass::new([80, 64, 16, 16, 204], [1, 819])),
        Class::new(NAME, SizeClass::new([96, 64, 16, 16, 170], [1, 682])),
        Class::new(NAME, SizeClass::new([112, 64, 16, 16, 146], [1, 585])),
        Class::new(NAME, SizeClass::new([128, 64, 16, 16, 128], [1, 512])),
        Class::new(NAME, SizeClass::new([160, 64, 16, 16, 102], [1, 409])),
        Class::new(NAME, SizeClass::new([192, 64, 16, 16, 85], [1, 341])),
        Class::new(NAME, SizeClass::new([224, 64, 16, 16, 73], [1, 292])),
        Class::new(NAME, SizeClass::new([256, 64, 16, 16, 64], [1, 256])),
        Class::new(NAME, SizeClass::new([320, 51, 16, 16, 64], [1, 204])),
        Class::new(NAME, SizeClass::new([384, 42, 16, 16, 65], [1, 170])),
        Class::new(NAME, SizeClass::new([448, 36, 16, 16, 65], [1, 146])),
        Class::new(NAME, SizeClass::new([512, 32, 16, 16, 64], [1, 128])),
        Class::new(NAME, SizeClass::new([640, 25, 16, 16, 65], [1, 102])),
        Class::new(NAME, SizeClass::new([768, 21, 16, 16, 65], [1, 85])),
        Class::new(NAME, SizeClass::new([896, 18, 16, 16, 65], [1, 73])),
        Class::new(NAME, SizeClass::new([1024, 16, 16, 16, 64], [1, 64])),
        Class::new(NAME, SizeClass::new([1280, 12, 8, 8, 68], [1, 51])),
        Class::new(NAME, SizeClass::new([1536, 10, 8, 8, 68], [1, 42])),
        Class::new(NAME, SizeClass::new([1792, 9, 8, 8, 65], [1, 36])),
        Class::new(NAME, SizeClass::new([2048, 8, 8, 8, 64], [1, 32])),
        Class::new(NAME, SizeClass::new([2560, 6, 6, 6, 68], [1, 25])),
        Class::new(NAME, SizeClass::new([3072, 5, 5, 5, 68], [1, 21])),
        Class::new(NAME, SizeClass::new([3584, 4, 4, 4, 73], [1, 18])),
        Class::new(NAME, SizeClass::new([4096, 4, 4, 4, 64], [1, 16])),
        Class::new(NAME, SizeClass::new([5120, 3, 3, 3, 68], [1, 12])),
        Class::new(NAME, SizeClass::new([6144, 2, 2, 2, 85], [1, 10])),
        Class::new(NAME, SizeClass::new([7168, 2, 2, 2, 73], [1, 9])),
        Class::new(NAME, SizeClass::new([8192, 2, 2, 2, 64], [1, 8])),
        Class::new(NAME, SizeClass::new([10_240, 1, 1, 1, 102], [2, 12])),
        Class::new(NAME, SizeClass::new([12_288, 1, 1, 1, 85], [2, 10])),
        Class::new(NAME, SizeClass::new([14_336, 1, 1, 1, 73], [2, 9])),
        Class::new(NAME, SizeClass::new([16_384, 1, 1, 1, 64], [2, 8])),
        Class::new(NAME, SizeClass::new([20_480, 1, 1, 1, 51], [3, 9])),
        Class::new(NAME, SizeClass::new([24_576, 1, 1, 1, 42], [3, 8])),
        Class::new(NAME, SizeClass::new([28_672, 1, 1, 1, 36], [4, 9])),
        Class::new(NAME, SizeClass::new([32_768, 1, 1, 1, 32], [4, 8])),
    ];

    /// Full magazines that each class may keep, in the order of `CLASSES`.
    static DEPOTS: [Depot; 40] = [
        Depot::new(1024),
        Depot::new(512),
        Depot::new(341),
        Depot::new(256),
        Depot::new(204),
        Depot::new(170),
        Depot::new(146),
        Depot::new(128),
        Depot::new(102),
        Depot::new(85),
        Depot::new(73),
        Depot::new(64),
        Depot::new(64),
        Depot::new(65),
        Depot::new(65),
        Depot::new(64),
        Depot::new(65),
        Depot::new(65),
        Depot::new(65),
        Depot::new(64),
        Depot::new(68),
        Depot::new(68),
        Depot::new(65),
        Depot::new(64),
        Depot::new(68),
        Depot::new(68),
        Depot::new(73),
        Depot::new(64),
        Depot::new(68),
        Depot::new(85),
        Depot::new(73),
        Depot::new(64),
        Depot::new(102),
        Depot::new(85),
        Depot::new(73),
        Depot::new(64),
        Depot::new(51),
        Depot::new(42),
        Depot::new(36),
        Depot::new(32),
    ];

    /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
    static HEAP: Heap<[Depot; 40]> = Heap::new(
        NAME,
        &CLASSES,
        &DEPOTS,
        Large::new(1_048_576, 33_554_432),
    );

    runtime::thread_local! {
        /// A thread's bins, in the order of `CLASSES`.
        static CACHE: Cache<40> = const { Cache::new() };
    }

    /// The place in `CLASSES` for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 2048] = runtime::class_table(
        [
            (16, 0),
            (32, 1),
            (48, 2),
            (64, 3),
            (80, 4),
            (96, 5),
            (112, 6),
            (128, 7),
            (160, 8),
            (192, 9),
            (224, 10),
            (256, 11),
            (320, 12),
            (384, 13),
            (448, 14),
            (512, 15),
            (640, 16),
            (768, 17),
            (896, 18),
            (1024, 19),
            (1280, 20),
            (1536, 21),
            (1792, 22),
            (2048, 23),
            (2560, 24),
            (3072, 25),
            (3584, 26),
            (4096, 27),
            (5120, 28),
            (6144, 29),
            (7168, 30),
            (8192, 31),
            (10_240, 32),
            (12_288, 33),
            (14_336, 34),
            (16_384, 35),
            (20_480, 36),
            (24_576, 37),
            (28_672, 38),
            (32_768, 39),
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

    impl General {
        /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
        pub fn stats() -> Stats<40> {
            HEAP.stats()
        }

        /// Gives the free blocks that this thread and the depots keep back to their slabs.
        pub fn flush() {
            CACHE.with(|cache| unsafe { cache.flush(&HEAP) });
            HEAP.drain_depots();
        }
    }

    unsafe impl GlobalAlloc for General {
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
        General
    }
};
