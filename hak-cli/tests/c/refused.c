/* Works while the system refuses one call in three: what is served is whole, what is not is null. */
#include "check.h"
#include <dlfcn.h>

#define PLACES 300

int main(void) {
    static unsigned char *blocks[PLACES];
    static size_t sizes[PLACES];
    uint64_t random = 42;
    long failures = 0;
    int *refuse = dlsym(RTLD_DEFAULT, "refuse_one_in");
    long *refused = dlsym(RTLD_DEFAULT, "refused");
    CHECK(refuse && refused);
    *refuse = 3;
    for (int step = 0; step < 60000; step++) {
        uint64_t number = next_random(&random);
        int place = number % PLACES;
        if (blocks[place]) {
            size_t bytes = sizes[place];
            CHECK(blocks[place][0] == (unsigned char)place);
            CHECK(blocks[place][bytes - 1] == (unsigned char)place);
            errno = 1789;
            free(blocks[place]);
            CHECK(errno == 1789);
        }
        sizes[place] = 1 + (number >> 20) % (number >> 10 & 7 ? 4000 : 3000000);
        blocks[place] = malloc(sizes[place]);
        if (!blocks[place]) {
            failures++;
            continue;
        }
        blocks[place][0] = place;
        blocks[place][sizes[place] - 1] = place;
    }
    CHECK(*refused > 100);
    CHECK(failures < 30000);
    return well();
}
