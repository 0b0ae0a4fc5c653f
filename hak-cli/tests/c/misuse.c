/* One misuse, named by the argument: a library with checks ends the process. */
#include "check.h"
#include <malloc.h>

static volatile size_t small = 100, large = 200000;

int main(int count, char **arguments) {
    CHECK(count == 2);
    const char *misuse = arguments[1];
    char *block = malloc(strstr(misuse, "large") ? large : small);
    if (!strncmp(misuse, "double", 6)) {
        free(block);
        free(block);
    } else if (!strncmp(misuse, "past", 4)) {
        block[malloc_usable_size(block)] ^= 1;
        free(block);
    } else if (!strncmp(misuse, "inside", 6)) {
        free(block + 16);
    } else if (!strcmp(misuse, "foreign")) {
        static char not_a_block[100];
        free(not_a_block);
    } else if (!strcmp(misuse, "after")) {
        free(block);
        block[3] = 1;
        for (int i = 0; i < 100000; i++)
            free(malloc(small));
    }
    return well();
}
