/* Threads replace blocks at random, and leave them to their successors: `threads/larson.rs` in C. */
#include "bench.h"

#define LEAST 8
#define MOST 1000
/* Of one thread. */
#define REPLACEMENTS 50000

/* An array with the numbers that choose among its blocks. */
struct office {
    struct block *blocks;
    uint64_t count;
    struct random random;
};

static struct office office_of(uint64_t count, struct random random)
{
    struct office office = {get(count * sizeof *office.blocks), count, random};
    for (uint64_t number = 0; number < count; number++)
        office.blocks[number] =
            block_of(within(&office.random, LEAST, MOST), (unsigned char)number);
    return office;
}

static uint64_t live(void *estate)
{
    struct office *office = estate;
    return replace(REPLACEMENTS, office->blocks, office->count, &office->random, LEAST, MOST);
}

static uint64_t dissolve(void *estate)
{
    struct office *office = estate;
    uint64_t sum = 0;
    for (uint64_t number = 0; number < office->count; number++)
        sum += free_block(office->blocks[number]);
    free(office->blocks);
    return sum;
}

static struct measured run(const uint64_t *numbers)
{
    uint64_t lives = numbers[0], threads = numbers[1], blocks = numbers[2], seed = numbers[3];
    struct office *offices = get(threads * sizeof *offices);
    for (uint64_t number = 0; number < threads; number++)
        offices[number] = office_of(blocks, random_of(seed + number));
    uint64_t start = now();
    uint64_t sum = in_succession(lives, threads, offices, sizeof *offices, live, dissolve);
    return (struct measured){lives * threads * REPLACEMENTS, now() - start, sum};
}

const struct kernel larson = {
    .name = "larson",
    .group = "threads",
    .operation = "replace",
    .parameters = {{"lives", 80, 1, 1 << 24},
                   {"threads", 4, 1, 64},
                   {"blocks", 1000, 1, 1 << 20},
                   {"seed", 42, 0, UINT64_MAX}},
    .about = "4 threads at a time, 80 in succession: each replaces 50 000 times one of the 1000 "
             "blocks of its array, at random (seed 42), by one of 8 to 1000 bytes, starts its "
             "successor, leaves it the array and ends",
    .run = run,
};
