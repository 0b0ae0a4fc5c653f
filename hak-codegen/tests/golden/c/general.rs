#![no_std]
#![allow(unsafe_code, unused_imports, dead_code)]
use ::core::alloc::Layout;
use ::core::hint::cold_path;
use ::core::mem::offset_of;
use ::hak_runtime as runtime;
use runtime::{
    Account, Class, Heap, SizeClass, Terms, Want, Purge, PurgeHow, Bin, Cache, Depot,
    CheckedLarge,
};
use runtime::c::{Front, Here, Library, Part, Presence, Shared};

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
///    12     320     204        64     256     25%     19%     64      16       16     51
///    13     384     170        64     256     20%     16%     64      16       16     42
///    14     448     146        64     128     16%     14%     64      16       16     36
///    15     512     128        64       0     14%     12%     64      16       16     32
///    16     640     102        64     256     25%     19%     64      16       16     25
///    17     768      85        64     256     20%     16%     64      16       16     21
///    18     896      73        64     128     16%     14%     64      16       16     18
///    19    1024      64        64       0     14%     12%     64      16       16     16
///    20    1280      51        64     256     25%     19%     51       8        8     16
///    21    1536      42        64    1024     20%     16%     42       8        8     16
///    22    1792      36        64    1024     16%     14%     36       8        8     16
///    23    2048      32        64       0     14%     12%     32       8        8     16
///    24    2560      25        64    1536     25%     19%     25       8        8     16
///    25    3072      21        64    1024     20%     16%     21       8        8     16
///    26    3584      18        64    1024     16%     14%     18       8        8     16
///    27    4096      16        64       0     14%     12%     16       8        8     16
///    28    5120      12        64    4096     25%     19%     12       8        8     17
///    29    6144      10        64    4096     20%     16%     10       8        8     17
///    30    7168       9        64    1024     16%     14%      9       8        8     16
///    31    8192       8        64       0     14%     12%      8       8        8     16
///    32   10240      12       128    8192     25%     19%      6       6        6     17
///    33   12288      10       128    8192     20%     16%      5       5        5     17
///    34   14336       9       128    2048     16%     14%      4       4        4     18
///    35   16384       8       128       0     14%     12%      4       4        4     16
///    36   20480       9       192   12288     25%     19%      3       3        3     17
///    37   24576       8       192       0     20%     16%      2       2        2     21
///    38   28672       9       256    4096     16%     14%      2       2        2     18
///    39   32768       8       256       0     14%     12%      2       2        2     16
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
struct Hak;

const _: () = ::core::assert!(
    runtime::UNIT_BYTES == 65_536 && runtime::SUPERSLAB_BYTES == 2_097_152
        && runtime::BIN_WORDS == 3,
    "hak-runtime and hak-codegen are of different versions",
);

/// What the allocator holds from the system, and on which terms.
static ACCOUNT: Account = Account::new(
    "General",
    runtime::c::terms::<
        CHECKS,
        STEP,
    >(Terms {
        cache_limit: 67_108_864,
        purge: Purge::After {
            milliseconds: 1000,
            how: PurgeHow::DontNeed,
            helper: false,
        },
        prefault: runtime::Prefault::Growing,
        ..Terms::DEFAULT
    }),
);

/// Classes, from small to large.
///
/// [bytes, slots, refill, prewarm, depot], [units of a slab, blocks of a slab]
const SIZES: [SizeClass; 40] = [
    SizeClass::new([16, 64, 16, 16, 1024], [1, 4096]),
    SizeClass::new([32, 64, 16, 16, 512], [1, 2048]),
    SizeClass::new([48, 64, 16, 16, 341], [1, 1365]),
    SizeClass::new([64, 64, 16, 16, 256], [1, 1024]),
    SizeClass::new([80, 64, 16, 16, 204], [1, 819]),
    SizeClass::new([96, 64, 16, 16, 170], [1, 682]),
    SizeClass::new([112, 64, 16, 16, 146], [1, 585]),
    SizeClass::new([128, 64, 16, 16, 128], [1, 512]),
    SizeClass::new([160, 64, 16, 16, 102], [1, 409]),
    SizeClass::new([192, 64, 16, 16, 85], [1, 341]),
    SizeClass::new([224, 64, 16, 16, 73], [1, 292]),
    SizeClass::new([256, 64, 16, 16, 64], [1, 256]),
    SizeClass::new([320, 64, 16, 16, 51], [1, 204]),
    SizeClass::new([384, 64, 16, 16, 42], [1, 170]),
    SizeClass::new([448, 64, 16, 16, 36], [1, 146]),
    SizeClass::new([512, 64, 16, 16, 32], [1, 128]),
    SizeClass::new([640, 64, 16, 16, 25], [1, 102]),
    SizeClass::new([768, 64, 16, 16, 21], [1, 85]),
    SizeClass::new([896, 64, 16, 16, 18], [1, 73]),
    SizeClass::new([1024, 64, 16, 16, 16], [1, 64]),
    SizeClass::new([1280, 51, 8, 8, 16], [1, 51]),
    SizeClass::new([1536, 42, 8, 8, 16], [1, 42]),
    SizeClass::new([1792, 36, 8, 8, 16], [1, 36]),
    SizeClass::new([2048, 32, 8, 8, 16], [1, 32]),
    SizeClass::new([2560, 25, 8, 8, 16], [1, 25]),
    SizeClass::new([3072, 21, 8, 8, 16], [1, 21]),
    SizeClass::new([3584, 18, 8, 8, 16], [1, 18]),
    SizeClass::new([4096, 16, 8, 8, 16], [1, 16]),
    SizeClass::new([5120, 12, 8, 8, 17], [1, 12]),
    SizeClass::new([6144, 10, 8, 8, 17], [1, 10]),
    SizeClass::new([7168, 9, 8, 8, 16], [1, 9]),
    SizeClass::new([8192, 8, 8, 8, 16], [1, 8]),
    SizeClass::new([10_240, 6, 6, 6, 17], [2, 12]),
    SizeClass::new([12_288, 5, 5, 5, 17], [2, 10]),
    SizeClass::new([14_336, 4, 4, 4, 18], [2, 9]),
    SizeClass::new([16_384, 4, 4, 4, 16], [2, 8]),
    SizeClass::new([20_480, 3, 3, 3, 17], [3, 9]),
    SizeClass::new([24_576, 2, 2, 2, 21], [3, 8]),
    SizeClass::new([28_672, 2, 2, 2, 18], [4, 9]),
    SizeClass::new([32_768, 2, 2, 2, 16], [4, 8]),
];

/// For each shard, the slabs of all classes.
static CLASSES: [[Class; 40]; 1] = [const { runtime::classes(&ACCOUNT, SIZES) }; 1];

/// For each shard, the full magazines of all classes.
static DEPOTS: [[Depot; 40]; 1] = [const { runtime::depots(SIZES) }; 1];

/// What all threads share. Sizes: of the largest span, and of the mappings kept for reuse.
static HEAP: Heap<[[Depot; 40]; 1], CheckedLarge<CHECKS>> = Heap::new(
    &ACCOUNT,
    &CLASSES,
    &DEPOTS,
    CheckedLarge::new(1_048_576, 33_554_432),
);

/// What classes are apart in the map of places, where the first one is at this, too.
const STEP: usize = 3;

/// What a thread has.
#[repr(C)]
struct Local {
    here: Here,
    never: Bin,
    cache: Cache<Bin, 40>,
    presence: Presence,
}

impl Local {
    const fn with(here: Here) -> Self {
        Local {
            here,
            never: <Bin as Front>::NEW,
            cache: Cache::new(),
            presence: Presence::new(),
        }
    }
}

unsafe impl runtime::c::Local for Local {
    const PRESENCE: usize = offset_of!(Local, presence);
    fn new(here: Here) -> Self {
        Local::with(here)
    }
    fn gone() -> *const Here {
        (&raw const GONE).cast()
    }
    fn end(&self) {
        self.cache.end();
    }
}

/// What a thread has at first.
static FRESH: Shared<Local> = Shared::new(Local::with(Here::fresh()));

/// What a thread has that can have nothing of its own, any more or at all.
static GONE: Shared<Local> = Shared::new(Local::with(Here::gone()));

runtime::define_here!(FRESH);

/// A bin that is always empty and full, at place 0 of the map; behind it the others.
const BINS: Part<Bin, { offset_of!(Local, never) }> = unsafe { Part::new() };

/// The others.
const FRONTS: Part<Bin, { offset_of!(Local, cache) }> = unsafe { Part::new() };

/// What a thread keeps of each class, in the order of `SIZES`.
const CACHE: Part<Cache<Bin, 40>, { offset_of!(Local, cache) }> = unsafe { Part::new() };

const _: () = assert!(
    offset_of!(Local, cache) - offset_of!(Local, never) == size_of::<Bin>(),
);

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
    if runtime::c::arrive::<Local>() {
        CACHE.with(|cache| unsafe { cache.alloc_slow(&HEAP, place) })
    } else {
        unsafe { HEAP.take(place / 3) }
    }
}

/// The taking back when the bin is full.
#[cold]
#[inline(never)]
unsafe fn dealloc_slow(block: *mut u8, place: usize) {
    if runtime::c::arrive::<Local>() {
        CACHE.with(|cache| unsafe { cache.dealloc_slow(&HEAP, place, block) })
    } else {
        unsafe { HEAP.give_back(place / 3, block) }
    }
}

/// A request above all classes: a span or a mapping.
#[cold]
#[inline(never)]
fn alloc_large(layout: Layout, want: Want) -> *mut u8 {
    if runtime::c::arrive::<Local>() {
        CACHE
            .with(|cache| unsafe {
                cache.alloc_large(&HEAP, layout.size(), layout.align(), want)
            })
    } else {
        HEAP.alloc_large(layout.size(), layout.align(), want)
    }
}

/// Takes back a span or a mapping.
#[cold]
#[inline(never)]
unsafe fn dealloc_large(start: *mut u8, layout: Layout) {
    unsafe { HEAP.dealloc_large(start, layout.size(), layout.align()) }
}

/// What is checked: a bit for each check.
const CHECKS: u16 = 0;

/// The largest request that a class serves.
const LARGEST: usize = 32_768;

/// The place of the class for each size, made of (block size, place).
static PLACE_OF: [u8; LARGEST + 1] = runtime::c::place_table([
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
]);

impl Hak {
    /// `malloc`, or what is done `elsewhere` when there is no block here.
    #[inline(always)]
    fn malloc_or(bytes: usize, elsewhere: impl FnOnce(usize) -> *mut u8) -> *mut u8 {
        if bytes > LARGEST {
            cold_path();
            return elsewhere(bytes);
        }
        let place = unsafe { *PLACE_OF.get_unchecked(bytes) } as usize;
        if unsafe { FRONTS.with_place(place, |bin| bin.is_empty()) } {
            cold_path();
            return elsewhere(bytes);
        }
        let block = unsafe { FRONTS.pop(place) };
        block
    }

    /// `free`.
    #[inline(always)]
    unsafe fn free(block: *mut u8) {
        let map = runtime::c::place_map();
        if map.is_null() {
            cold_path();
            return unsafe { runtime::c::free_elsewhere::<Self>(block) };
        }
        let place = unsafe { runtime::c::place_in(map, block) };
        if unsafe { BINS.with_place(place, |bin| bin.is_full()) } {
            cold_path();
            return unsafe { runtime::c::free_elsewhere::<Self>(block) };
        }
        unsafe { BINS.with_place(place, |bin| unsafe { bin.push(block) }) }
    }
}

impl Library for Hak {
    type Depots = [[Depot; 40]; 1];
    type Larges = CheckedLarge<CHECKS>;
    type Own = Local;

    const CHECKS: u16 = CHECKS;

    const WORDS: usize = 3;

    const STEP: usize = STEP;
    fn heap() -> &'static Heap<Self::Depots, Self::Larges> {
        &HEAP
    }

    #[inline(always)]
    fn class_of(bytes: usize, align: usize) -> Option<usize> {
        class_of(bytes, align)
    }

    #[inline(always)]
    unsafe fn obtain(place: usize) -> *mut u8 {
        unsafe { alloc_class(place) }
    }

    #[inline(always)]
    unsafe fn release(block: *mut u8, place: usize) {
        unsafe { dealloc_class(block, place) }
    }

    #[inline(always)]
    unsafe fn inspect(block: *mut u8, place: usize) {}
    fn obtain_large(bytes: usize, align: usize, want: Want) -> *mut u8 {
        let layout = unsafe { Layout::from_size_align_unchecked(bytes, align) };
        alloc_large(layout, want)
    }
    fn flush() {
        if runtime::c::arrive::<Local>() {
            CACHE.with(|cache| unsafe { cache.flush(&HEAP) });
        }
    }
}

runtime::export_c! {
    Hak
}

#[panic_handler]
fn panic(_: &::core::panic::PanicInfo<'_>) -> ! {
    runtime::c::panicked()
}
