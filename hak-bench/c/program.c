/* A run of a real program, from its start to its end. Nothing is allocated here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* FNV-1a of all that was written, as the checksum of a run. */
static uint64_t hash_of(int file)
{
    static unsigned char part[1 << 16];
    uint64_t hash = 0xcbf29ce484222325;
    if (lseek(file, 0, SEEK_SET))
        fail("read what the program printed");
    for (ssize_t length; (length = read(file, part, sizeof part)) != 0;) {
        if (length < 0)
            fail("read what the program printed");
        for (ssize_t at = 0; at < length; at++)
            hash = (hash ^ part[at]) * 0x100000001b3;
    }
    return hash;
}

static pid_t start(char **command, int output)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child)
        return child;
    /* Whoever ends this process at the end of its time ends the program, too. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int input = open("/dev/null", O_RDONLY);
    if (getppid() == parent && input >= 0 && dup2(input, 0) == 0 && dup2(output, 1) == 1)
        execv(command[0], command);
    fprintf(stderr, "error: could not start %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* The peak is the largest of the program's processes, the other figures are the sums of all. */
int run_program(uint64_t operations, char **command)
{
    int output = memfd_create("output", MFD_CLOEXEC);
    if (output < 0)
        fail("make a place for what the program prints");
    uint64_t began = now();
    pid_t child = start(command, output);
    int status;
    struct rusage told;
    if (child < 0 || wait4(child, &status, 0, &told) != child)
        fail("start a process");
    uint64_t nanoseconds = now() - began;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        if (WIFEXITED(status))
            fprintf(stderr, "error: %s ended with %d\n", command[0], WEXITSTATUS(status));
        else
            fprintf(stderr, "error: %s was ended by signal %d\n", command[0], WTERMSIG(status));
        return 1;
    }
    struct usage usage = usage_of(&told);
    usage.peak_resident_bytes = (uint64_t)told.ru_maxrss * 1024;
    report((struct measured){operations, nanoseconds, hash_of(output)}, usage);
    return 0;
}
