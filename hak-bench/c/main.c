/* Kernels in C, on whatever allocator is preloaded.
 *
 *     kernels                          lists the kernels, as a subject in Rust does
 *     kernels NAME [NUMBER…]           runs one of them once, and reports
 *     kernels --allocator              tells the file whose malloc this process has
 *     kernels --program N FILE WORD…   runs a program, which does N operations, and reports
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

static const struct kernel *const KERNELS[] = {&random_mixed, &larson, &xmalloc, &churn};
#define COUNT (sizeof KERNELS / sizeof *KERNELS)

_Noreturn void fail(const char *what)
{
    fprintf(stderr, "error: could not %s: %s\n", what, strerror(errno));
    exit(1);
}

static int list(void)
{
    for (size_t at = 0; at < COUNT; at++) {
        const struct kernel *kernel = KERNELS[at];
        printf("%s\t%s\t%s\t", kernel->name, kernel->group, kernel->operation);
        const struct parameter *told = kernel->parameters;
        for (int number = 0; number < PARAMETERS_MAX && told[number].name; number++)
            printf("%s%s=%" PRIu64 ":%" PRIu64 ":%" PRIu64, number ? " " : "", told[number].name,
                   told[number].value, told[number].least, told[number].most);
        printf("\t%s\n", kernel->about);
    }
    return 0;
}

static int allocator(void)
{
    Dl_info found;
    if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &found))
        fail("find malloc");
    puts(found.dli_fname);
    return 0;
}

/* A number and nothing else. */
static int number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        fprintf(stderr, "error: `%s` is not a number\n", text);
        return 0;
    }
    return 1;
}

/* What is told comes first; defaults fill up. */
static int run(const struct kernel *kernel, char **told)
{
    uint64_t numbers[PARAMETERS_MAX] = {0};
    const struct parameter *parameters = kernel->parameters;
    for (int at = 0; at < PARAMETERS_MAX && parameters[at].name; at++) {
        numbers[at] = parameters[at].value;
        if (*told && !number(*told++, &numbers[at]))
            return 2;
        if (numbers[at] < parameters[at].least || numbers[at] > parameters[at].most) {
            fprintf(stderr,
                    "error: `%s` of `%s` is from %" PRIu64 " to %" PRIu64 ", not %" PRIu64 "\n",
                    parameters[at].name, kernel->name, parameters[at].least, parameters[at].most,
                    numbers[at]);
            return 2;
        }
    }
    if (*told) {
        fprintf(stderr, "error: `%s` takes no number `%s`\n", kernel->name, *told);
        return 2;
    }
    struct measured measured = kernel->run(numbers);
    report(measured, own_usage());
    return 0;
}

int main(int count, char **words)
{
    uint64_t operations;
    if (count < 2)
        return list();
    if (!strcmp(words[1], "--allocator"))
        return allocator();
    if (!strcmp(words[1], "--program") && count > 3)
        return number(words[2], &operations) ? run_program(operations, words + 3) : 2;
    for (size_t at = 0; at < COUNT; at++)
        if (!strcmp(words[1], KERNELS[at]->name))
            return run(KERNELS[at], words + 2);
    fprintf(stderr, "error: no kernel is named `%s` in C\n", words[1]);
    return 2;
}
