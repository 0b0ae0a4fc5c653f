/* A library that watches how memory is asked for, as tracers do, and allocates for its notes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

static __thread int depth;

static void note(void) {
    if (depth++ == 0)
        for (size_t bytes = 16; bytes < 300000; bytes = bytes * 2 + 40)
            free(malloc(bytes));
    depth--;
}

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) \
        next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    note()

void *mmap(void *start, size_t bytes, int access, int kind, int file, off_t offset) {
    NEXT(mmap);
    return next(start, bytes, access, kind, file, offset);
}

int munmap(void *start, size_t bytes) {
    NEXT(munmap);
    return next(start, bytes);
}

int madvise(void *start, size_t bytes, int advice) {
    NEXT(madvise);
    return next(start, bytes, advice);
}

int mprotect(void *start, size_t bytes, int access) {
    NEXT(mprotect);
    return next(start, bytes, access);
}
