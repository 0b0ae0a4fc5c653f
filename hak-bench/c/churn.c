/* Short threads, each of which leaves half of its blocks to the next: `threads/churn.rs` in C. */
#include "bench.h"

#define LEAST 16
#define MOST 1024

/* What a thread leaves. */
struct remains {
    struct block *blocks;
    uint64_t count;
    /* That a thread makes. */
    uint64_t number;
    struct random random;
};

static uint64_t free_all(struct block *blocks, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t number = 0; number < count; number++)
        sum += free_block(blocks[number]);
    return sum;
}

static void shuffle(struct random *random, struct block *blocks, uint64_t count)
{
    for (uint64_t last = count; last-- > 1;) {
        uint64_t other = below(random, last + 1);
        struct block block = blocks[last];
        blocks[last] = blocks[other];
        blocks[other] = block;
    }
}

static __attribute__((noinline)) uint64_t live(void *estate)
{
    struct remains *remains = estate;
    uint64_t number = remains->number;
    uint64_t sum = free_all(remains->blocks, remains->count);
    struct block *blocks = get(number * sizeof *blocks);
    for (uint64_t at = 0; at < number; at++)
        blocks[at] = block_of(scaled(&remains->random, LEAST, MOST), (unsigned char)at);
    shuffle(&remains->random, blocks, number);
    remains->count = number >> 1;
    sum += free_all(blocks + remains->count, number - remains->count);
    free(remains->blocks);
    remains->blocks = blocks;
    return sum;
}

static uint64_t dissolve(void *estate)
{
    struct remains *remains = estate;
    uint64_t sum = free_all(remains->blocks, remains->count);
    free(remains->blocks);
    return sum;
}

static struct measured run(const uint64_t *numbers)
{
    uint64_t lives = numbers[0], threads = numbers[1], blocks = numbers[2], seed = numbers[3];
    struct remains *estates = get(threads * sizeof *estates);
    for (uint64_t number = 0; number < threads; number++)
        estates[number] = (struct remains){NULL, 0, blocks, random_of(seed + number)};
    uint64_t start = now();
    uint64_t sum = in_succession(lives, threads, estates, sizeof *estates, live, dissolve);
    return (struct measured){lives * threads * blocks, now() - start, sum};
}

const struct kernel churn = {
    .name = "churn",
    .group = "threads",
    .operation = "make and free",
    .parameters = {{"lives", 700, 1, 1 << 24},
                   {"threads", 4, 1, 64},
                   {"blocks", 1000, 1, 1 << 20},
                   {"seed", 42, 0, UINT64_MAX}},
    .about = "4 threads at a time, 700 in succession: each frees what its predecessor left, makes "
             "1000 blocks of 16 bytes to 1 KiB (each doubling as likely as the next, seed 42), "
             "frees half of them at random, starts its successor, leaves it the rest and ends",
    .run = run,
};
