/* Several writers of blocks, each with a write stream of io_uring and an equal part of the device. They fill their
 * parts, 16 blocks at a time. Then they write again, at random or in turn: the first writes most, each of the others a
 * quarter as often as the one before.
 * usage: streams DEVICE random|in-turn BLOCK-BYTES BLOCKS WRITES STREAM...    (stream 0: none) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WRITERS 8
#define FILLED 16

static int device, ring;
static char *data;
static struct io_uring_sqe *entry;
static struct io_uring_cqe *completions;
static unsigned *array, *sent, *taken, mask;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *map(size_t bytes, uint64_t at) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, (off_t)at);
    if (found == MAP_FAILED) fail("mmap");
    return found;
}

/* Makes a ring of one entry. */
static void begin(void) {
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    ring = (int)syscall(__NR_io_uring_setup, 1, &params);
    if (ring < 0) fail("io_uring_setup");
    char *sq = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    char *cq = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    entry = map(params.sq_entries * sizeof *entry, IORING_OFF_SQES);
    array = (unsigned *)(sq + params.sq_off.array), sent = (unsigned *)(sq + params.sq_off.tail);
    taken = (unsigned *)(cq + params.cq_off.head), mask = *(unsigned *)(cq + params.cq_off.ring_mask);
    completions = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
}

/* Writes, and waits until it is done. */
static void put(uint64_t at, unsigned bytes, const char *stream) {
    memcpy(data, &at, sizeof at);
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_WRITE, entry->fd = device;
    entry->addr = (uint64_t)(uintptr_t)data, entry->len = bytes, entry->off = at;
    /* write_stream, which older headers do not name: the first byte of file_index. */
    ((uint8_t *)entry)[44] = (uint8_t)atoi(stream);
    array[0] = 0;
    __atomic_store_n(sent, *sent + 1, __ATOMIC_RELEASE);
    if (syscall(__NR_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) fail("io_uring_enter");
    int result = completions[*taken & mask].res;
    __atomic_store_n(taken, *taken + 1, __ATOMIC_RELEASE);
    if (result != (int)bytes) {
        fprintf(stderr, "a write returned %d\n", result);
        exit(1);
    }
}

static uint64_t drawn(void) {
    static uint64_t state = 1;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state >> 8;
}

int main(int argc, char **argv) {
    if (argc < 7 || argc > 6 + WRITERS) {
        fprintf(stderr, "usage: streams DEVICE random|in-turn BLOCK-BYTES BLOCKS WRITES STREAM...\n");
        return 2;
    }
    unsigned bytes = (unsigned)atoi(argv[3]), writers = (unsigned)argc - 6;
    int is_random = !strcmp(argv[2], "random");
    uint64_t part = strtoull(argv[4], NULL, 0) / writers, writes = strtoull(argv[5], NULL, 0);
    uint64_t turns[WRITERS] = {0};
    uint64_t weights = ((UINT64_C(1) << 2 * writers) - 1) / 3;
    device = open(argv[1], O_WRONLY | O_DIRECT);
    if (device < 0) fail(argv[1]);
    if (posix_memalign((void **)&data, 4096, (size_t)bytes * FILLED)) return 1;
    memset(data, 0xa5, (size_t)bytes * FILLED);
    begin();
    for (unsigned writer = 0; writer < writers; writer++) {
        for (uint64_t done = 0; done < part; done += FILLED) {
            uint64_t count = part - done < FILLED ? part - done : FILLED;
            put((writer * part + done) * bytes, (unsigned)count * bytes, argv[6 + writer]);
        }
    }
    for (uint64_t i = 0; i < writes; i++) {
        /* The weights, from the last writer: 1, 4, 16 and so on. */
        uint64_t writer = writers - 1, left = drawn() % weights;
        for (uint64_t weight = 1; left >= weight; weight *= 4) left -= weight, writer--;
        uint64_t block = is_random ? drawn() % part : turns[writer]++ % part;
        put((writer * part + block) * bytes, bytes, argv[6 + writer]);
    }
    return 0;
}
