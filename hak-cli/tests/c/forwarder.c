/* A library that stands before ours, and hands all that it gets to the next one, as tracers do. It
   also has blocks of its own, which none behind it knows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

long forwarded;

void free(void *block) {
    static void (*next)(void *);
    if (!next)
        next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    forwarded++;
    next(block);
}
