/* Threads that follow each other: `threads/team.rs` in C. */
#include <pthread.h>

#include "bench.h"

/* Threads that are to be joined, in the order in which they were started. */
struct started {
    pthread_mutex_t lock;
    pthread_cond_t another;
    pthread_t *threads;
    uint64_t count;
};

struct succession {
    struct started *started;
    void *estate;
    uint64_t lives;
    uint64_t sum;
    uint64_t (*live)(void *);
    uint64_t (*dissolve)(void *);
};

static void *life(void *argument);

/* The lock is held over the start: no successor's thread is there before its own. */
static void succeed(struct succession *succession)
{
    struct started *started = succession->started;
    pthread_mutex_lock(&started->lock);
    if (pthread_create(&started->threads[started->count], NULL, life, succession))
        fail("start a thread");
    started->count++;
    pthread_cond_signal(&started->another);
    pthread_mutex_unlock(&started->lock);
}

static void *life(void *argument)
{
    struct succession *succession = argument;
    succession->sum += succession->live(succession->estate);
    if (--succession->lives == 0)
        succession->sum += succession->dissolve(succession->estate);
    else
        succeed(succession);
    return NULL;
}

static void join_all(struct started *started, uint64_t count)
{
    for (uint64_t joined = 0; joined < count; joined++) {
        pthread_mutex_lock(&started->lock);
        while (started->count == joined)
            pthread_cond_wait(&started->another, &started->lock);
        pthread_t thread = started->threads[joined];
        pthread_mutex_unlock(&started->lock);
        if (pthread_join(thread, NULL))
            fail("join a thread");
    }
}

uint64_t in_succession(uint64_t lives, uint64_t count, void *estates, size_t size,
                       uint64_t (*live)(void *), uint64_t (*dissolve)(void *))
{
    struct started started = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                              get(lives * count * sizeof(pthread_t)), 0};
    struct succession *successions = get(count * sizeof *successions);
    for (uint64_t number = 0; number < count; number++) {
        successions[number] = (struct succession){
            &started, (char *)estates + number * size, lives, 0, live, dissolve};
        succeed(&successions[number]);
    }
    join_all(&started, lives * count);
    uint64_t sum = 0;
    for (uint64_t number = 0; number < count; number++)
        sum += successions[number].sum;
    free(successions);
    free(started.threads);
    return sum;
}
