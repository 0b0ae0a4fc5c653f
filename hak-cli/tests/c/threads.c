/* Threads: memory handed across, threads that end, and memory that runs out while they work. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define WORKERS 4
#define PLACES 512
#define BLOCKS 50000
#define STEPS 200000

static _Atomic(unsigned char *) places[PLACES];

/* Swaps blocks at random places: most are freed by another thread than the one that got them. */
static void *swap(void *seed) {
    uint64_t random = (uintptr_t)seed * 0x9e3779b97f4a7c15 + 1;
    for (int step = 0; step < STEPS; step++) {
        uint64_t number = next_random(&random);
        size_t bytes = 2 + (number >> 20) % (number % 64 == 0 ? 60000 : 600);
        unsigned char *block = number & 1 << 12 ? malloc(bytes) : calloc(1, bytes);
        CHECK(block);
        block[0] = bytes, block[1] = bytes >> 8, block[bytes - 1] ^= 0;
        unsigned char *old = atomic_exchange(&places[number >> 40 & (PLACES - 1)], block);
        if (old && number & 1 << 13)
            old = realloc(old, 2 + bytes / 2);
        free(old);
    }
    return NULL;
}

static void blocks_are_handed_across(void) {
    pthread_t threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, swap, (void *)(i + 1)));
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PLACES; i++)
        free(places[i]);
}

static void *briefly(void *unused) {
    (void)unused;
    void *blocks[20];
    for (int i = 0; i < 20; i++)
        blocks[i] = malloc(16 << i % 8);
    for (int i = 0; i < 20; i++)
        free(blocks[i]);
    return malloc(100);
}

/* A thread that ends leaves nothing: the process is as large after many as after some. */
static void short_threads_leave_nothing(int many) {
    long kib[2], mappings[2];
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < many / 2; i++) {
            pthread_t thread;
            void *block;
            CHECK(!pthread_create(&thread, NULL, briefly, NULL));
            CHECK(!pthread_join(thread, &block));
            free(block);
        }
        kib[half] = status_kib("VmRSS:");
        mappings[half] = count_mappings();
    }
    CHECK(kib[1] <= kib[0] + 256);
    CHECK(mappings[1] <= mappings[0] + 4);
}

static void *exhaust(void *unused) {
    (void)unused;
    size_t sizes[] = {1 << 20, 100000, 40000, 3000, 200, 16};
    void *blocks = NULL;
    for (int s = 0; s < 6; s++)
        for (;;) {
            errno = 0;
            void **block = malloc(sizes[s]);
            if (!block) {
                CHECK(errno == ENOMEM);
                break;
            }
            *block = blocks, blocks = block;
        }
    while (blocks) {
        void *next = *(void **)blocks;
        free(blocks);
        blocks = next;
    }
    return NULL;
}

/* Memory runs out for several threads at once, and is there again when they have freed it. */
static void memory_runs_out_and_comes_back(void) {
    struct rlimit before, limit;
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)status_kib("VmSize:") * 1024 + (300 << 20);
    pthread_t threads[WORKERS];
    static void *blocks[BLOCKS];
    CHECK(!setrlimit(RLIMIT_AS, &limit));
    for (int i = 0; i < WORKERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, exhaust, NULL));
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < BLOCKS; i++)
        CHECK((blocks[i] = malloc(1000)));
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    setrlimit(RLIMIT_AS, &before);
}

int main(int count, char **arguments) {
    blocks_are_handed_across();
    short_threads_leave_nothing(count > 1 ? atoi(arguments[1]) : 20000);
    memory_runs_out_and_comes_back();
    return well();
}
