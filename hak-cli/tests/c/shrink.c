/* Without memory for another block, a block that is to be shorter stays. */
#include "check.h"
#include <sys/resource.h>

#define BLOCKS_MAX 200000

static char *blocks[BLOCKS_MAX];

int main(void) {
    struct rlimit limit = {100UL << 20, 100UL << 20};
    CHECK(!setrlimit(RLIMIT_DATA, &limit));
    int count = 0;
    while (count < BLOCKS_MAX && (blocks[count] = malloc(3000)))
        blocks[count++][19] = 7;
    CHECK(count > 100 && count < BLOCKS_MAX);
    for (int i = 0; i < count; i++) {
        CHECK((blocks[i] = realloc(blocks[i], 20)));
        CHECK(blocks[i][19] == 7);
    }
    for (int i = 0; i < count; i++)
        free(blocks[i]);
    return well();
}
