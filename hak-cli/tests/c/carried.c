/* A program with an allocator of its own, which lacks `reallocarray`: that of the library that is
   loaded hands the program's blocks back to it, from several threads at a time. A block that is
   freed is the next one's that asks, whichever thread it is. */
#include "check.h"
#include <pthread.h>

#define BLOCK_BYTES 4096

static char pool[64 << 20];
static size_t used;
static void *freed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t bytes) {
    pthread_mutex_lock(&lock);
    void *block = freed;
    if (bytes <= BLOCK_BYTES && block) {
        memcpy(&freed, block, sizeof freed);
    } else {
        block = pool + used;
        used += (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        CHECK(used <= sizeof pool);
    }
    pthread_mutex_unlock(&lock);
    return block;
}

void free(void *block) {
    if (!block)
        return;
    CHECK((char *)block >= pool && (char *)block < pool + sizeof pool);
    pthread_mutex_lock(&lock);
    memcpy(block, &freed, sizeof freed);
    freed = block;
    pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t bytes) {
    void *block = malloc(count * bytes);
    memset(block, 0, count * bytes);
    return block;
}

void *realloc(void *block, size_t bytes) {
    void *moved = malloc(bytes);
    if (block) {
        CHECK((char *)block >= pool && (char *)block < pool + sizeof pool);
        memcpy(moved, block, bytes < 100 ? bytes : 100);
        free(block);
    }
    return moved;
}

static void *works(void *unused) {
    for (int i = 0; i < 100000; i++) {
        char *block = malloc(100);
        memset(block, i, 100);
        CHECK((block = reallocarray(block, 20, 10)));
        CHECK(block[99] == (char)i);
        free(block);
    }
    return unused;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, works, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return well();
}
