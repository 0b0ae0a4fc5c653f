/* Some threads allocate only, others free only: `threads/xmalloc.rs` in C. */
#include <pthread.h>

#include "bench.h"

#define LEAST 16
#define MOST 1024
#define BATCH 4096
/* Batches that wait for a consumer. */
#define QUEUED 4
#define THREADS_MAX 64

/* Of one consumer: it frees the batches and the blocks in them. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block *batches[QUEUED];
    unsigned first, count;
    /* Producers that still send. */
    uint64_t senders;
    /* What the consumer freed. */
    uint64_t sum;
};

struct producer {
    struct queue *queues;
    uint64_t consumers, batches, number, seed;
};

static void send(struct queue *queue, struct block *batch)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUED)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->batches[(queue->first + queue->count++) % QUEUED] = batch;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void leave(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->senders--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* NULL when there are no batches and no senders any more. */
static struct block *receive(struct queue *queue)
{
    struct block *batch = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && queue->senders > 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->count > 0) {
        batch = queue->batches[queue->first];
        queue->first = (queue->first + 1) % QUEUED;
        queue->count--;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

static void *produce(void *argument)
{
    const struct producer *producer = argument;
    struct random random = random_of(producer->seed + producer->number);
    for (uint64_t turn = 0; turn < producer->batches; turn++) {
        struct block *batch = get(BATCH * sizeof *batch);
        for (unsigned number = 0; number < BATCH; number++)
            batch[number] = block_of(scaled(&random, LEAST, MOST), (unsigned char)number);
        /* Producers begin with different consumers. */
        send(&producer->queues[(producer->number + turn) % producer->consumers], batch);
    }
    for (uint64_t number = 0; number < producer->consumers; number++)
        leave(&producer->queues[number]);
    return NULL;
}

static void *consume(void *argument)
{
    struct queue *queue = argument;
    uint64_t sum = 0;
    for (struct block *batch; (batch = receive(queue));) {
        for (unsigned number = 0; number < BATCH; number++)
            sum += free_block(batch[number]);
        free(batch);
    }
    queue->sum = sum;
    return NULL;
}

static uint64_t work(uint64_t batches, uint64_t producers, uint64_t consumers, uint64_t seed)
{
    struct queue queues[THREADS_MAX];
    struct producer told[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    int failed = 0;
    for (uint64_t number = 0; number < consumers; number++)
        queues[number] = (struct queue){.lock = PTHREAD_MUTEX_INITIALIZER,
                                        .changed = PTHREAD_COND_INITIALIZER,
                                        .senders = producers};
    for (uint64_t number = 0; number < producers; number++) {
        told[number] = (struct producer){queues, consumers, batches, number, seed};
        failed |= pthread_create(&threads[number], NULL, produce, &told[number]);
    }
    for (uint64_t number = 0; number < consumers; number++)
        failed |= pthread_create(&threads[producers + number], NULL, consume, &queues[number]);
    if (failed)
        fail("start a thread");
    uint64_t sum = 0;
    for (uint64_t number = 0; number < producers + consumers; number++)
        if (pthread_join(threads[number], NULL))
            fail("join a thread");
    for (uint64_t number = 0; number < consumers; number++)
        sum += queues[number].sum;
    return sum;
}

static struct measured run(const uint64_t *numbers)
{
    uint64_t batches = numbers[0], threads = numbers[1], seed = numbers[2];
    uint64_t producers = threads >> 1;
    uint64_t start = now();
    uint64_t sum = work(batches, producers, threads - producers, seed);
    return (struct measured){producers * batches * BATCH, now() - start, sum};
}

const struct kernel xmalloc = {
    .name = "xmalloc",
    .group = "threads",
    .operation = "allocate and free",
    .parameters = {{"batches", 250, 1, 1ULL << 32},
                   {"threads", 4, 2, THREADS_MAX},
                   {"seed", 42, 0, UINT64_MAX}},
    .about = "2 threads allocate blocks of 16 bytes to 1 KiB (each doubling as likely as the next, "
             "seed 42) and hand them over in batches of 4096 to 2 threads that free them",
    .run = run,
};
