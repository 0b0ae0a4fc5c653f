/* Another preloaded library: it stands before the C library's `syscall`, and refuses some of what is
   asked for about memory once the program says so: `mmap`, `mprotect`, `madvise` and `munmap`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Set by the program; one call in so many is refused. */
int refuse_one_in;
long refused;

static int is_refused(long number) {
    static unsigned calls;
    if (number != SYS_mmap && number != SYS_mprotect && number != SYS_madvise &&
        number != SYS_munmap)
        return 0;
    if (!refuse_one_in || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % refuse_one_in)
        return 0;
    __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return 1;
}

long syscall(long number, ...) {
    static long (*next)(long, ...);
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_list list;
    long arguments[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (is_refused(number))
        return -1;
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}
