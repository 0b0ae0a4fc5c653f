/* For a test: tells the least and the most that malloc was asked for, of sizes up to 2000 bytes,
 * which no array of a kernel that a test runs is the least or the most of. */
#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t size);

static size_t least = -1, most;

static void tell(void)
{
    fprintf(stderr, "%zu %zu\n", least, most);
}

void *__wrap_malloc(size_t size)
{
    static int called;
    if (!__atomic_exchange_n(&called, 1, __ATOMIC_RELAXED))
        atexit(tell);
    if (size <= 2000) {
        for (size_t old = __atomic_load_n(&least, __ATOMIC_RELAXED); size < old;)
            __atomic_compare_exchange_n(&least, &old, size, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        for (size_t old = __atomic_load_n(&most, __ATOMIC_RELAXED); size > old;)
            __atomic_compare_exchange_n(&most, &old, size, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return __real_malloc(size);
}
