/* Another preloaded library: it stands before the C library's `mmap`, and refuses some of what is
   asked for once the program says so; also `mprotect`, `madvise` and `munmap`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Set by the program; one call in so many is refused. */
int refuse_one_in;
long refused;

static int is_refused(void) {
    static unsigned calls;
    if (!refuse_one_in || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % refuse_one_in)
        return 0;
    __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return 1;
}

void *mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset) {
    if (is_refused())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, access, flags, file, offset);
}

int munmap(void *at, size_t bytes) {
    return is_refused() ? -1 : (int)syscall(SYS_munmap, at, bytes);
}

int mprotect(void *at, size_t bytes, int access) {
    return is_refused() ? -1 : (int)syscall(SYS_mprotect, at, bytes, access);
}

int madvise(void *at, size_t bytes, int advice) {
    return is_refused() ? -1 : (int)syscall(SYS_madvise, at, bytes, advice);
}
