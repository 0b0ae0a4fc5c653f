/* What a process used of the machine, and the report of a run: `usage.rs` and `subject.rs` in C. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

struct usage usage_of(const struct rusage *told)
{
    return (struct usage){
        .minor_faults = (uint64_t)told->ru_minflt,
        .major_faults = (uint64_t)told->ru_majflt,
        .voluntary_switches = (uint64_t)told->ru_nvcsw,
        .involuntary_switches = (uint64_t)told->ru_nivcsw,
        .user_microseconds = microseconds(told->ru_utime),
        .system_microseconds = microseconds(told->ru_stime),
    };
}

/* From /proc: the `ru_maxrss` of a process begins with what its parent had. Nothing is allocated. */
static uint64_t peak_resident_bytes(void)
{
    char status[8192];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, status, sizeof status - 1);
    if (length < 0)
        fail("read /proc/self/status");
    close(file);
    status[length] = 0;
    const char *line = strstr(status, "VmHWM:");
    if (!line)
        fail("find VmHWM in /proc/self/status");
    return strtoull(line + strlen("VmHWM:"), NULL, 10) * 1024;
}

struct usage own_usage(void)
{
    struct rusage told;
    /* First, since the reading of a file is work, too. */
    if (getrusage(RUSAGE_SELF, &told))
        fail("read the usage");
    struct usage usage = usage_of(&told);
    usage.peak_resident_bytes = peak_resident_bytes();
    return usage;
}

void report(struct measured measured, struct usage usage)
{
    const struct {
        const char *name;
        uint64_t number;
    } lines[] = {
        {"operations", measured.operations},
        {"nanoseconds", measured.nanoseconds},
        {"checksum", measured.checksum},
        {"peak_resident_bytes", usage.peak_resident_bytes},
        {"minor_faults", usage.minor_faults},
        {"major_faults", usage.major_faults},
        {"voluntary_switches", usage.voluntary_switches},
        {"involuntary_switches", usage.involuntary_switches},
        {"user_microseconds", usage.user_microseconds},
        {"system_microseconds", usage.system_microseconds},
    };
    for (size_t line = 0; line < sizeof lines / sizeof *lines; line++)
        printf("%s %" PRIu64 "\n", lines[line].name, lines[line].number);
}
