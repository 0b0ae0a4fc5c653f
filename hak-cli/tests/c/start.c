/* The start and the end of a process: handlers that are registered before the first allocation, and
   what is allocated and freed after `main`. */
#include "check.h"

static void *from_constructor, *from_main;

static void at_the_end(void) {
    void *block = calloc(3, 500);
    CHECK(block);
    free(block);
}

/* Many: the C library allocates for those beyond the first. */
__attribute__((constructor)) static void before_main(void) {
    for (int i = 0; i < 100; i++)
        CHECK(!atexit(at_the_end));
    from_constructor = calloc(1, 70);
}

__attribute__((destructor)) static void after_main(void) {
    free(from_constructor);
    free(from_main);
    for (int i = 0; i < 100; i++)
        free(malloc(i * 100));
}

int main(void) {
    from_main = realloc(malloc(10), 100000);
    return well();
}
