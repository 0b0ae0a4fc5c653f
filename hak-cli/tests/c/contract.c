/* What each function of the interface promises, corner by corner. It holds for the C library's own
   allocator, too: the test runs on both. */
#include "check.h"
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

#define TOO_LARGE_COUNT 6
static const size_t too_large[TOO_LARGE_COUNT] = {
    (size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 15, SIZE_MAX - 4096, SIZE_MAX / 2 + 2,
};

/* Not constants, or the compiler would know better. */
static volatile size_t zero = 0, one = 1;

static bool is_aligned(void *block, size_t align) {
    return (uintptr_t)block % align == 0;
}

#define FAILS_FOR_LACK_OF_MEMORY(call) \
    do { \
        errno = 0; \
        CHECK((call) == NULL); \
        CHECK(errno == ENOMEM); \
    } while (0)

static void too_large_is_refused_by_all(void) {
    for (int i = 0; i < TOO_LARGE_COUNT; i++) {
        size_t bytes = too_large[i];
        FAILS_FOR_LACK_OF_MEMORY(malloc(bytes));
        FAILS_FOR_LACK_OF_MEMORY(calloc(1, bytes));
        FAILS_FOR_LACK_OF_MEMORY(calloc(bytes, 1));
        FAILS_FOR_LACK_OF_MEMORY(realloc(NULL, bytes));
        FAILS_FOR_LACK_OF_MEMORY(valloc(bytes));
        FAILS_FOR_LACK_OF_MEMORY(pvalloc(bytes));
        size_t starts[] = {1, 40, 5000, 100000, 3000000};
        for (int s = 0; s < 5; s++) {
            char *block = malloc(starts[s]);
            memset(block, 7, starts[s]);
            FAILS_FOR_LACK_OF_MEMORY(realloc(block, bytes));
            FAILS_FOR_LACK_OF_MEMORY(reallocarray(block, bytes, 1));
            FAILS_FOR_LACK_OF_MEMORY(reallocarray(block, bytes, 2));
            for (size_t at = 0; at < starts[s]; at++)
                CHECK(block[at] == 7);
            free(block);
        }
        for (int shift = 0; shift < 48; shift++) {
            size_t align = (size_t)1 << shift;
            void *marker = &marker, *place = marker;
            FAILS_FOR_LACK_OF_MEMORY(memalign(align, bytes));
            FAILS_FOR_LACK_OF_MEMORY(aligned_alloc(align, bytes));
            int expected = align < sizeof(void *) ? EINVAL : ENOMEM;
            CHECK(posix_memalign(&place, align, bytes) == expected);
            CHECK(place == marker);
        }
    }
    FAILS_FOR_LACK_OF_MEMORY(calloc(SIZE_MAX / 2, 3));
    FAILS_FOR_LACK_OF_MEMORY(calloc((size_t)1 << 33, (size_t)1 << 33));
    FAILS_FOR_LACK_OF_MEMORY(reallocarray(NULL, (size_t)1 << 33, (size_t)1 << 33));
}

static void posix_memalign_leaves_its_place_alone(void) {
    size_t wrong[] = {0, 1, 2, 3, 4, 7, 9, 12, 24, 48, 100, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *place = &place;
        errno = 1789;
        CHECK(posix_memalign(&place, wrong[i], 100) == EINVAL);
        CHECK(place == (void *)&place);
        CHECK(errno == 1789);
    }
    void *place = &place;
    errno = 1789;
    CHECK(posix_memalign(&place, (size_t)1 << 62, 100) == ENOMEM);
    CHECK(place == (void *)&place);
}

static void alignments_are_served(void) {
    for (int shift = 0; shift <= 22; shift++) {
        size_t align = (size_t)1 << shift;
        size_t sizes[] = {0, 1, align - 1, align, align + 1, 24, 100, 5000, 70000, 1 << 20};
        void *blocks[3][10];
        for (int s = 0; s < 10; s++) {
            blocks[0][s] = memalign(align, sizes[s]);
            blocks[1][s] = aligned_alloc(align, sizes[s]);
            blocks[2][s] = NULL;
            if (align >= sizeof(void *))
                CHECK(posix_memalign(&blocks[2][s], align, sizes[s]) == 0);
            for (int kind = 0; kind < 3; kind++) {
                if (blocks[kind][s] == NULL) {
                    CHECK(kind == 2 && align < sizeof(void *));
                    continue;
                }
                CHECK(is_aligned(blocks[kind][s], align));
                CHECK(malloc_usable_size(blocks[kind][s]) >= sizes[s]);
                memset(blocks[kind][s], 10 * kind + s, sizes[s]);
            }
        }
        for (int s = 0; s < 10; s++)
            for (int kind = 0; kind < 3; kind++) {
                for (size_t at = 0; blocks[kind][s] && at < sizes[s]; at++)
                    CHECK(((char *)blocks[kind][s])[at] == 10 * kind + s);
                free(blocks[kind][s]);
            }
    }
    /* What is no power of two is rounded up. */
    for (size_t align = 17; align < 300; align += 14) {
        size_t up = 16;
        while (up < align)
            up *= 2;
        void *block = memalign(align, 40);
        CHECK(block && is_aligned(block, up));
        free(block);
    }
    errno = 0;
    CHECK(memalign(SIZE_MAX, 10) == NULL && errno == EINVAL);
    long page = sysconf(_SC_PAGESIZE);
    void *block = valloc(100);
    CHECK(is_aligned(block, page));
    free(block);
    block = pvalloc(100);
    CHECK(is_aligned(block, page) && malloc_usable_size(block) >= (size_t)page);
    free(block);
}

static void blocks_are_for_any_type(void) {
    for (size_t bytes = 0; bytes < 3000; bytes++) {
        void *a = malloc(bytes), *b = calloc(bytes, 1), *c = realloc(malloc(1), bytes + 1);
        CHECK(is_aligned(a, 16) && is_aligned(b, 16) && is_aligned(c, 16));
        free(a), free(b), free(c);
    }
    for (int shift = 12; shift < 26; shift++) {
        void *block = malloc((size_t)1 << shift);
        CHECK(is_aligned(block, 16));
        free(block);
    }
}

static void no_bytes_are_a_block_of_their_own(void) {
    void *blocks[100];
    for (int i = 0; i < 100; i++) {
        void *made[] = {malloc(zero), calloc(zero, 5), calloc(5, zero), realloc(NULL, zero),
                        reallocarray(NULL, zero, 3), reallocarray(NULL, 3, zero), memalign(64, zero)};
        blocks[i] = made[i % 7];
        for (int other = 0; other < 7; other++)
            if (made[other] != blocks[i])
                free(made[other]);
    }
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < i; j++)
            CHECK(blocks[i] != NULL && blocks[i] != blocks[j]);
    for (int i = 0; i < 100; i++)
        free(blocks[i]);
    errno = 1789;
    void *block = realloc(NULL, zero);
    CHECK(block && errno == 1789);
    CHECK(realloc(block, zero) == NULL);
    CHECK(reallocarray(malloc(40), zero, 3) == NULL);
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0);
}

static void resizing_keeps_contents(void) {
    size_t sizes[] = {1, 15, 16, 17, 100, 1000, 1024, 4097, 32768, 32769, 65536, 100000, 1 << 20,
                      (1 << 20) + 1, 3 << 20, 40 << 20};
    int count = sizeof sizes / sizeof *sizes;
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++) {
            unsigned char *block = malloc(sizes[from]);
            size_t kept = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
            for (size_t at = 0; at < kept; at += 1 + kept / 5000)
                block[at] = at * 7 + from;
            block = realloc(block, sizes[to]);
            CHECK(block && malloc_usable_size(block) >= sizes[to] && is_aligned(block, 16));
            for (size_t at = 0; at < kept; at += 1 + kept / 5000)
                CHECK(block[at] == (unsigned char)(at * 7 + from));
            block[sizes[to] - 1] = 1;
            free(block);
        }
    /* A buffer that grows by steps, as buffers do. */
    unsigned char *block = NULL;
    for (size_t bytes = 1; bytes < 20 << 20; bytes += 1 + bytes / 3) {
        block = realloc(block, bytes);
        block[bytes - 1] = bytes;
        for (size_t before = 1; before < bytes; before += 1 + before / 3)
            CHECK(block[before - 1] == (unsigned char)before);
    }
    free(block);
}

static void calloc_clears_what_was_used(void) {
    size_t sizes[] = {1, 16, 24, 100, 1000, 5000, 32768, 40000, 200000, 2 << 20, 10 << 20};
    for (int round = 0; round < 4; round++)
        for (int s = 0; s < 11; s++) {
            unsigned char *dirty[8];
            for (int i = 0; i < 8; i++) {
                dirty[i] = malloc(sizes[s]);
                memset(dirty[i], 0xa5, sizes[s]);
            }
            for (int i = 0; i < 8; i++)
                free(dirty[i]);
            unsigned char *clean = calloc(sizes[s], 1);
            for (size_t at = 0; at < sizes[s]; at++)
                CHECK(clean[at] == 0);
            free(clean);
        }
}

/* Programs write up to the usable size, and ask for it again. */
static void the_usable_size_is_usable(void) {
    for (size_t bytes = 0; bytes < 70000; bytes += 1 + bytes / 50) {
        unsigned char *block = malloc(bytes), *other = malloc(bytes);
        size_t usable = malloc_usable_size(block), of_other = malloc_usable_size(other);
        CHECK(usable >= bytes);
        memset(block, 0x11, usable);
        memset(other, 0x22, of_other);
        CHECK(malloc_usable_size(block) == usable && malloc_usable_size(other) == of_other);
        for (size_t at = 0; at < usable; at++)
            CHECK(block[at] == 0x11);
        block = realloc(block, usable);
        CHECK(malloc_usable_size(block) >= usable);
        memset(block, 0x33, malloc_usable_size(block));
        free(block), free(other);
    }
    for (size_t bytes = 100000; bytes < 10 << 20; bytes *= 3) {
        unsigned char *block = malloc(bytes);
        memset(block, 0x44, malloc_usable_size(block));
        free(block);
    }
}

static void errno_is_kept_by_what_succeeds(void) {
    for (size_t bytes = 1; bytes < 80 << 20; bytes *= 2) {
        void *blocks[40];
        int count = bytes < 1 << 20 ? 40 : 2;
        errno = 1789;
        for (int i = 0; i < count; i++)
            blocks[i] = malloc(bytes);
        CHECK(errno == 1789);
        for (int i = 0; i < count; i++)
            free(blocks[i]);
        CHECK(errno == 1789);
        free(calloc(bytes, 1));
        free(realloc(malloc(bytes), bytes / 2 + 1));
        free(memalign(4096, bytes));
        free(NULL);
        CHECK(errno == 1789);
    }
}

static void the_other_functions_do_what_they_are_for(void) {
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    void *blocks[1000];
    for (int i = 0; i < 1000; i++)
        blocks[i] = malloc(1000);
    struct mallinfo2 info = mallinfo2();
    CHECK(info.uordblks >= 1000 * 1000);
    CHECK(info.arena + info.hblkhd >= info.uordblks);
    for (int i = 0; i < 1000; i++)
        free(blocks[i]);
    CHECK(mallinfo2().uordblks < info.uordblks);
    int trimmed = malloc_trim(0);
    CHECK(trimmed == 0 || trimmed == 1);
}

int main(void) {
    CHECK(one == 1);
    too_large_is_refused_by_all();
    posix_memalign_leaves_its_place_alone();
    alignments_are_served();
    blocks_are_for_any_type();
    no_bytes_are_a_block_of_their_own();
    resizing_keeps_contents();
    calloc_clears_what_was_used();
    the_usable_size_is_usable();
    errno_is_kept_by_what_succeeds();
    the_other_functions_do_what_they_are_for();
    return well();
}
