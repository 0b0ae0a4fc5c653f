/* Keys of the thread library: its own memory for them, and destructors that allocate and free. */
#include "check.h"
#include <limits.h>
#include <pthread.h>

#define BLOCKS 200

static pthread_key_t late;
static void *blocks[BLOCKS];

/* Comes again until the last round, and frees there. */
static void frees_in_the_last_round(void *round) {
    if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(late, (void *)((uintptr_t)round + 1));
        return;
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    free(malloc(70));
}

static void *only_frees(void *allocates_first) {
    if (allocates_first)
        free(malloc(10));
    pthread_setspecific(late, (void *)1);
    return NULL;
}

static void run_one(void *(*main)(void *), void *argument) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, main, argument));
    CHECK(!pthread_join(thread, NULL));
}

static void last_rounds_leave_nothing(int threads, void *allocates_first) {
    long kib[2];
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < threads / 2; i++) {
            for (int b = 0; b < BLOCKS; b++)
                blocks[b] = malloc(200);
            run_one(only_frees, allocates_first);
        }
        kib[half] = status_kib("VmRSS:");
    }
    CHECK(kib[1] <= kib[0] + 512);
}

static void *sets_all(void *keys) {
    for (int i = 0; i < 40; i++)
        CHECK(!pthread_setspecific(((pthread_key_t *)keys)[i], &late));
    void *block = malloc(100);
    CHECK(block);
    free(block);
    return NULL;
}

/* The first block of a thread is the thread library's own, for the keys beyond its first 32. */
static void many_keys(void) {
    pthread_key_t keys[40];
    for (int i = 0; i < 40; i++)
        CHECK(!pthread_key_create(&keys[i], NULL));
    for (int i = 0; i < 200; i++)
        run_one(sets_all, keys);
}

static void *works(void *unused) {
    void *kept[100];
    for (int i = 0; i < 100; i++)
        CHECK((kept[i] = malloc(i * 50)));
    for (int i = 0; i < 100; i++)
        free(kept[i]);
    return unused;
}

int main(int count, char **arguments) {
    pthread_key_t key;
    if (count > 1 && !strcmp(arguments[1], "exhaust")) {
        /* As early as may be: whoever comes later gets none. */
        while (!pthread_key_create(&key, NULL)) {
        }
        for (int i = 0; i < 1000; i++)
            run_one(works, NULL);
        return well();
    }
    many_keys();
    CHECK(!pthread_key_create(&late, frees_in_the_last_round));
    last_rounds_leave_nothing(4000, (void *)1);
    last_rounds_leave_nothing(4000, NULL);
    return well();
}
