/* What the test programs share: a check that says where it failed, and numbers that repeat. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1); \
        } \
    } while (0)

/* Ends a program that has come through. */
static inline int well(void) {
    puts("ok");
    return 0;
}

static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A figure of /proc/self/status, in KiB. */
static inline long status_kib(const char *name) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            kib = atol(line + strlen(name) + 1);
    fclose(file);
    return kib;
}

static inline long count_mappings(void) {
    int c;
    long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file);
    while ((c = fgetc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

/* In C++: whether what is called throws for want of memory. */
#ifdef __cplusplus
#include <new>

template <typename Call> static bool throws_bad_alloc(Call call) {
    try {
        call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}
#endif

#endif
