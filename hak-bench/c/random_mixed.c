/* Blocks of mixed sizes that replace each other at random: `patterns/random_mixed.rs` in C. */
#include "bench.h"

#define LEAST 16
#define MOST 1040

__attribute__((noinline)) uint64_t replace(uint64_t cycles, struct block *slots, uint64_t count,
                                           struct random *random, uint64_t least, uint64_t most)
{
    uint64_t sum = 0;
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        struct block *slot = &slots[below(random, count)];
        size_t size = within(random, least, most);
        if (slot->start)
            sum += free_block(*slot);
        *slot = block_of(size, (unsigned char)cycle);
    }
    return sum;
}

static struct measured run(const uint64_t *numbers)
{
    uint64_t cycles = numbers[0], live = numbers[1];
    struct random random = random_of(numbers[2]);
    struct block *slots = calloc(live, sizeof *slots);
    if (!slots)
        fail("allocate");
    uint64_t start = now();
    uint64_t sum = replace(cycles, slots, live, &random, LEAST, MOST);
    return (struct measured){cycles, now() - start, sum};
}

const struct kernel random_mixed = {
    .name = "random-mixed",
    .group = "pattern",
    .operation = "replace",
    .parameters = {{"cycles", 10000000, 1, UINT64_MAX},
                   {"live", 256, 1, 1 << 24},
                   {"seed", 42, 0, UINT64_MAX}},
    .about = "one of 256 live blocks, at random (seed 42), is replaced by one of 16 to 1040 bytes",
    .run = run,
};
