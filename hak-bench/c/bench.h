/* What the kernels in C share: each is the kernel in Rust of the same name, on malloc and free. */
#ifndef HAK_BENCH_H
#define HAK_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What a kernel did and how long it took, as `Measured` in Rust. */
struct measured {
    uint64_t operations;
    uint64_t nanoseconds;
    /* Depends on all that was read back from the blocks: equal on every allocator. */
    uint64_t checksum;
};

#define PARAMETERS_MAX 4

struct kernel {
    const char *name;
    const char *group;
    const char *operation;
    /* With their defaults, in the order in which `run` takes them; a name of none ends them. */
    struct parameter {
        const char *name;
        uint64_t value;
        uint64_t least;
        uint64_t most;
    } parameters[PARAMETERS_MAX];
    const char *about;
    struct measured (*run)(const uint64_t *numbers);
};

extern const struct kernel random_mixed, larson, xmalloc, churn;

/* Ends the process with an error; `what` says what could not be done. */
_Noreturn void fail(const char *what);

/* Nanoseconds from some moment on. */
uint64_t now(void);

/* Runs `command` with what it prints kept and hashed, and reports of it. Its exit status. */
int run_program(uint64_t operations, char **command);

/* What a process used of the machine. */
struct usage {
    uint64_t peak_resident_bytes;
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t user_microseconds, system_microseconds;
};

/* Of this process. */
struct usage own_usage(void);

struct rusage;
/* As the system tells it of a process, but for its peak. */
struct usage usage_of(const struct rusage *told);

/* Prints it, a line for each field, as `Outcome` in Rust reads it. */
void report(struct measured measured, struct usage usage);

/* Numbers from a seed: a xorshift generator (Marsaglia 2003, shifts 13, 7 and 17). */
struct random {
    uint64_t state;
};

static inline struct random random_of(uint64_t seed)
{
    /* Zero would stay zero; neighbouring seeds shall not give neighbouring numbers. */
    return (struct random){((seed ^ 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9) | 1};
}

static inline uint64_t next(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

/* A number below `limit`. */
static inline uint64_t below(struct random *random, uint64_t limit)
{
    return ((next(random) >> 32) * limit) >> 32;
}

/* A number from `least` to `most`, both included. */
static inline uint64_t within(struct random *random, uint64_t least, uint64_t most)
{
    return least + below(random, most - least + 1);
}

/* From `least` to below `most`, powers of two; each doubling is as likely as the next. */
static inline uint64_t scaled(struct random *random, uint64_t least, uint64_t most)
{
    uint64_t magnitude = least << below(random, __builtin_ctzll(most) - __builtin_ctzll(least));
    return magnitude + below(random, magnitude);
}

/* One allocation. Its first and its last byte hold a mark. */
struct block {
    unsigned char *start;
    size_t size;
};

/* malloc, or the end of the process. */
static inline void *get(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        fail("allocate");
    return memory;
}

/* Of at least one byte. */
static inline struct block block_of(size_t size, unsigned char mark)
{
    struct block block = {get(size), size};
    block.start[0] = mark;
    block.start[size - 1] = mark;
    return block;
}

/* Frees it, and tells the sum of both marks. */
static inline uint64_t free_block(struct block block)
{
    uint64_t marks = (uint64_t)block.start[0] + block.start[block.size - 1];
    free(block.start);
    return marks;
}

/* Replaces blocks at random by others of `least` to `most` bytes; what was freed. */
uint64_t replace(uint64_t cycles, struct block *slots, uint64_t count, struct random *random,
                 uint64_t least, uint64_t most);

/* Threads that follow each other: for each of `count` estates of `size` bytes, `lives` threads one
 * after the other. A thread lives, starts its successor and ends, while the successor is at work
 * already; the last one dissolves the estate. The sum of what `live` and `dissolve` told. */
uint64_t in_succession(uint64_t lives, uint64_t count, void *estates, size_t size,
                       uint64_t (*live)(void *), uint64_t (*dissolve)(void *));

#endif
