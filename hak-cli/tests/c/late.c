/* The library is loaded late, by dlopen, after libraries that have taken room for thread-local
   variables; it is used by pointers to its functions, closed, and used again. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

static void *(*hak_malloc)(size_t);
static void (*hak_free)(void *);
static void *(*hak_realloc)(void *, size_t);
static size_t (*hak_usable_size)(void *);

static void *works(void *unused) {
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        CHECK((blocks[i] = hak_malloc(i * 30)));
    for (int i = 0; i < 100; i++)
        hak_free(blocks[i]);
    return unused;
}

/* What the C library made goes to the C library. */
static void foreign_blocks_go_home(void) {
    for (size_t bytes = 1; bytes < 3 << 20; bytes = bytes * 3 + 1) {
        char *block = malloc(bytes);
        memset(block, 5, bytes);
        CHECK(hak_usable_size(block) >= bytes);
        block = hak_realloc(block, bytes * 2);
        CHECK(block);
        for (size_t at = 0; at < bytes; at++)
            CHECK(block[at] == 5);
        hak_free(block);
    }
    for (int i = 0; i < 10000; i++)
        hak_free(malloc(40));
}

int main(int count, char **arguments) {
    for (int i = 2; i < count; i++) {
        void *other = dlopen(arguments[i], RTLD_NOW | RTLD_GLOBAL);
        if (!other)
            fprintf(stderr, "%s\n", dlerror());
        CHECK(other);
        int (*touch)(void) = (int (*)(void))dlsym(other, "touch");
        CHECK(touch && touch() == 1);
    }
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    hak_malloc = (void *(*)(size_t))dlsym(library, "malloc");
    hak_free = (void (*)(void *))dlsym(library, "free");
    hak_realloc = (void *(*)(void *, size_t))dlsym(library, "realloc");
    hak_usable_size = (size_t (*)(void *))dlsym(library, "malloc_usable_size");
    works(NULL);
    foreign_blocks_go_home();
    char *kept = hak_malloc(1000);
    CHECK(!dlclose(library));
    memset(kept, 1, 1000);
    pthread_t thread;
    for (int i = 0; i < 50; i++)
        CHECK(!pthread_create(&thread, NULL, works, NULL) && !pthread_join(thread, NULL));
    hak_free(kept);
    return well();
}
