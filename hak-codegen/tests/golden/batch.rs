/// Compilers, parsers and queries: throughput first
///
/// A memory allocator, generated from `specs/batch.toml`.
///
/// ```text
/// class   bytes  blocks  slab KiB    tail    step   worst  slots  refill  prewarm  depot
///     0      16    4096        64       0       -     93%     64      16       16   8192
///     1      32    2048        64       0    100%     46%     64      16       16   4096
///     2      48    1365        64      16     50%     31%     64      16       16   2730
///     3      64    1024        64       0     33%     23%     64      16       16   2048
///     4      80     819        64      16     25%     18%     64      16       16   1638
///     5      96     682        64      64     20%     15%     64      16       16   1365
///     6     112     585        64      16     16%     13%     64      16       16   1170
///     7     128     512        64       0     14%     11%     64      16       16   1024
///     8     160     409        64      96     25%     19%     64      16       16    819
///     9     192     341        64      64     20%     16%     64      16       16    682
///    10     224     292        64     128     16%     13%     64      16       16    585
///    11     256     256        64       0     14%     12%     64      16       16    512
///    12     320     204        64     256     25%     19%     64      16       16    409
///    13     384     170        64     256     20%     16%     64      16       16    341
///    14     448     146        64     128     16%     14%     64      16       16    292
///    15     512     128        64       0     14%     12%     64      16       16    256
///    16     640     102        64     256     25%     19%     64      16       16    204
///    17     768      85        64     256     20%     16%     64      16       16    170
///    18     896      73        64     128     16%     14%     64      16       16    146
///    19    1024      64        64       0     14%     12%     64      16       16    128
///    20    1280      51        64     256     25%     19%     64       8        8    102
///    21    1536      42        64    1024     20%     16%     64       8        8     85
///    22    1792      36        64    1024     16%     14%     64       8        8     73
///    23    2048      32        64       0     14%     12%     64       8        8     64
///    24    2560      25        64    1536     25%     19%     64       8        8     51
///    25    3072      21        64    1024     20%     16%     64       8        8     42
///    26    3584      18        64    1024     16%     14%     64       8        8     36
///    27    4096      16        64       0     14%     12%     64       8        8     32
///    28    5120      12        64    4096     25%     19%     51       8        8     32
///    29    6144      10        64    4096     20%     16%     42       8        8     32
///    30    7168       9        64    1024     16%     14%     36       8        8     32
///    31    8192       8        64       0     14%     12%     32       8        8     32
///    32   10240      12       128    8192     25%     19%     25       8        8     32
///    33   12288      10       128    8192     20%     16%     21       8        8     32
///    34   14336       9       128    2048     16%     14%     18       8        8     32
///    35   16384       8       128       0     14%     12%     16       8        8     32
///    36   20480       9       192   12288     25%     19%     12       8        8     34
///    37   24576       8       192       0     20%     16%     10       8        8     34
///    38   28672       9       256    4096     16%     14%      9       8        8     32
///    39   32768       8       256       0     14%     12%      8       8        8     32
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
pub struct Batch;

#[allow(unsafe_code, unused_imports, clippy::all, clippy::pedantic, clippy::restriction)]
const _: () = {
    use ::core::alloc::{GlobalAlloc, Layout};
    use ::core::hint::{cold_path, black_box};
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
        "Batch",
        Terms {
            cache_limit: 268_435_456,
            purge: Purge::After {
                milliseconds: 10_000,
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
    const SIZES: [SizeClass; 40] = [
        SizeClass::new([16, 64, 16, 16, 8192], [1, 4096]),
        SizeClass::new([32, 64, 16, 16, 4096], [1, 2048]),
        SizeClass::new([48, 64, 16, 16, 2730], [1, 1365]),
        SizeClass::new([64, 64, 16, 16, 2048], [1, 1024]),
        SizeClass::new([80, 64, 16, 16, 1638], [1, 819]),
        SizeClass::new([96, 64, 16, 16, 1365], [1, 682]),
        SizeClass::new([112, 64, 16, 16, 1170], [1, 585]),
        SizeClass::new([128, 64, 16, 16, 1024], [1, 512]),
        SizeClass::new([160, 64, 16, 16, 819], [1, 409]),
        SizeClass::new([192, 64, 16, 16, 682], [1, 341]),
        SizeClass::new([224, 64, 16, 16, 585], [1, 292]),
        SizeClass::new([256, 64, 16, 16, 512], [1, 256]),
        SizeClass::new([320, 64, 16, 16, 409], [1, 204]),
        SizeClass::new([384, 64, 16, 16, 341], [1, 170]),
        SizeClass::new([448, 64, 16, 16, 292], [1, 146]),
        SizeClass::new([512, 64, 16, 16, 256], [1, 128]),
        SizeClass::new([640, 64, 16, 16, 204], [1, 102]),
        SizeClass::new([768, 64, 16, 16, 170], [1, 85]),
        SizeClass::new([896, 64, 16, 16, 146], [1, 73]),
        SizeClass::new([1024, 64, 16, 16, 128], [1, 64]),
        SizeClass::new([1280, 64, 8, 8, 102], [1, 51]),
        SizeClass::new([1536, 64, 8, 8, 85], [1, 42]),
        SizeClass::new([1792, 64, 8, 8, 73], [1, 36]),
        SizeClass::new([2048, 64, 8, 8, 64], [1, 32]),
        SizeClass::new([2560, 64, 8, 8, 51], [1, 25]),
        SizeClass::new([3072, 64, 8, 8, 42], [1, 21]),
        SizeClass::new([3584, 64, 8, 8, 36], [1, 18]),
        SizeClass::new([4096, 64, 8, 8, 32], [1, 16]),
        SizeClass::new([5120, 51, 8, 8, 32], [1, 12]),
        SizeClass::new([6144, 42, 8, 8, 32], [1, 10]),
        SizeClass::new([7168, 36, 8, 8, 32], [1, 9]),
        SizeClass::new([8192, 32, 8, 8, 32], [1, 8]),
        SizeClass::new([10_240, 25, 8, 8, 32], [2, 12]),
        SizeClass::new([12_288, 21, 8, 8, 32], [2, 10]),
        SizeClass::new([14_336, 18, 8, 8, 32], [2, 9]),
        SizeClass::new([16_384, 16, 8, 8, 32], [2, 8]),
        SizeClass::new([20_480, 12, 8, 8, 34], [3, 9]),
        SizeClass::new([24_576, 10, 8, 8, 34], [3, 8]),
        SizeClass::new([28_672, 9, 8, 8, 32], [4, 9]),
        SizeClass::new([32_768, 8, 8, 8, 32], [4, 8]),
    ];

    /// For each shard, the slabs of all classes.
    static CLASSES: [[Class; 40]; 1] = [const { runtime::classes(&ACCOUNT, SIZES) }; 1];

    /// For each shard, the full magazines of all classes.
    static DEPOTS: [[Depot; 40]; 1] = [const { runtime::depots(SIZES) }; 1];

    /// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
    static HEAP: Heap<[[Depot; 40]; 1]> = Heap::new(
        &ACCOUNT,
        &CLASSES,
        &DEPOTS,
        Large::new(1_048_576, 134_217_728),
    );

    runtime::thread_local! {
        /// What a thread keeps of each class, in the order of `SIZES`.
        static CACHE: Cache<Bin, 40> = const { Cache::new() };
    }

    /// The place for each granule of sizes, made of (block size, place).
    static CLASS_OF: [u8; 2048] = runtime::class_table(
        [
            (16, 0),
            (32, 3),
            (48, 6),
            (64, 9),
            (80, 12),
            (96, 15),
            (112, 18),
            (128, 21),
            (160, 24),
            (192, 27),
            (224, 30),
            (256, 33),
            (320, 36),
            (384, 39),
            (448, 42),
            (512, 45),
            (640, 48),
            (768, 51),
            (896, 54),
            (1024, 57),
            (1280, 60),
            (1536, 63),
            (1792, 66),
            (2048, 69),
            (2560, 72),
            (3072, 75),
            (3584, 78),
            (4096, 81),
            (5120, 84),
            (6144, 87),
            (7168, 90),
            (8192, 93),
            (10_240, 96),
            (12_288, 99),
            (14_336, 102),
            (16_384, 105),
            (20_480, 108),
            (24_576, 111),
            (28_672, 114),
            (32_768, 117),
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
        let layout = runtime::at_least_a_byte(layout);
        let new_layout = runtime::at_least_a_byte(new_layout);
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

    impl Batch {
        /// What this allocator holds now. Takes its locks for a moment, allocates nothing.
        pub fn stats() -> Stats<40> {
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

    unsafe impl GlobalAlloc for Batch {
        /// Calls itself, for a request of no bytes: so the compiler inlines it for constant
        /// layouts only.
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { alloc_class(place) }
                None if runtime::unknown(layout.size()) == 0 => {
                    let byte = runtime::at_least_a_byte(layout);
                    let result = unsafe { GlobalAlloc::alloc(self, byte) };
                    black_box(());
                    result
                }
                None => alloc_large(layout, Want::Bytes),
            }
        }

        /// Calls itself, for a request of no bytes: so the compiler inlines it for constant
        /// layouts only.
        #[inline]
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            match class_of(layout.size(), layout.align()) {
                Some(place) => unsafe { dealloc_class(block, place) }
                None if runtime::unknown(layout.size()) == 0 => {
                    let byte = runtime::at_least_a_byte(layout);
                    let result = unsafe { GlobalAlloc::dealloc(self, block, byte) };
                    black_box(());
                    result
                }
                None => unsafe { dealloc_large(block, layout) }
            }
        }

        /// Calls itself, for a request of no bytes: so the compiler inlines it for constant
        /// layouts only.
        #[inline]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            match class_of(layout.size(), layout.align()) {
                Some(place) => {
                    let block = unsafe { alloc_class(place) };
                    if !block.is_null() {
                        unsafe { ptr::write_bytes(block, 0, layout.size()) };
                    }
                    block
                }
                None if runtime::unknown(layout.size()) == 0 => {
                    let byte = runtime::at_least_a_byte(layout);
                    let result = unsafe { GlobalAlloc::alloc_zeroed(self, byte) };
                    black_box(());
                    result
                }
                None => alloc_large(layout, Want::Zeros),
            }
        }

        #[inline(never)]
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
        Batch
    }
};
