/* Forks from a program whose threads allocate: each child allocates, frees, and starts a thread. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define WORKERS 4

static atomic_int is_over;

static void *works(void *seed) {
    uint64_t random = (uintptr_t)seed * 77777 + 1;
    void *kept[64] = {0};
    while (!is_over) {
        uint64_t number = next_random(&random);
        size_t bytes = number % 32 == 0 ? (number >> 30) % 3000000 : (number >> 30) % 3000;
        free(kept[number % 64]);
        kept[number % 64] = malloc(bytes);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static void *briefly(void *unused) {
    free(malloc(100));
    return unused;
}

static int child(void) {
    pthread_t thread;
    void *blocks[100];
    alarm(20);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 100; i++)
            CHECK((blocks[i] = malloc(i == 99 ? 2000000 : 16 + i * i * 7)));
        for (int i = 0; i < 100; i++)
            free(blocks[i]);
    }
    if (pthread_create(&thread, NULL, briefly, NULL) || pthread_join(thread, NULL))
        return 1;
    return 0;
}

int main(int count, char **arguments) {
    int forks = count > 1 ? atoi(arguments[1]) : 500;
    pthread_t threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, works, (void *)(i + 1)));
    for (int i = 0; i < forks; i++) {
        pid_t process = fork();
        CHECK(process >= 0);
        if (process == 0)
            _exit(child());
        int status;
        CHECK(waitpid(process, &status, 0) == process);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    is_over = 1;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return well();
}
