/* Several writers of blocks, each with a write stream of io_uring. Each has an equal part of the device, where
 * it writes at random. The first writes most; each of the others a quarter as often as the one before.
 * usage: streams DEVICE BLOCK-BYTES BLOCKS WRITES STREAM...    (stream 0: none) */
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

static void *map(int ring, size_t bytes, uint64_t at) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, (off_t)at);
    if (found == MAP_FAILED) { perror("mmap"); exit(1); }
    return found;
}

static uint64_t drawn(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state >> 8;
}

int main(int argc, char **argv) {
    if (argc < 6 || argc > 5 + WRITERS) { fprintf(stderr, "usage: streams DEVICE BLOCK-BYTES BLOCKS WRITES STREAM...\n"); return 2; }
    uint64_t bytes = strtoull(argv[2], NULL, 0), blocks = strtoull(argv[3], NULL, 0), writes = strtoull(argv[4], NULL, 0);
    uint64_t writers = (uint64_t)argc - 5;
    uint64_t weights = ((UINT64_C(1) << 2 * writers) - 1) / 3, random = 1;
    int device = open(argv[1], O_WRONLY | O_DIRECT);
    if (device < 0) { perror(argv[1]); return 1; }
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    int ring = (int)syscall(__NR_io_uring_setup, 1, &params);
    if (ring < 0) { perror("io_uring_setup"); return 1; }
    char *sq = map(ring, params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    char *cq = map(ring, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    struct io_uring_sqe *entry = map(ring, params.sq_entries * sizeof *entry, IORING_OFF_SQES);
    unsigned *sq_tail = (unsigned *)(sq + params.sq_off.tail), *array = (unsigned *)(sq + params.sq_off.array);
    unsigned *cq_head = (unsigned *)(cq + params.cq_off.head), mask = *(unsigned *)(cq + params.cq_off.ring_mask);
    struct io_uring_cqe *cqes = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
    void *data;
    if (posix_memalign(&data, 4096, bytes)) return 1;
    memset(data, 0xa5, bytes);
    for (uint64_t i = 0; i < writes; i++) {
        /* The weights, from the last writer: 1, 4, 16 and so on. */
        uint64_t writer = writers - 1, drawn_weight = drawn(&random) % weights;
        for (uint64_t weight = 1; drawn_weight >= weight; weight *= 4) drawn_weight -= weight, writer--;
        uint64_t part = blocks / writers, block = writer * part + drawn(&random) % part;
        memcpy(data, &i, sizeof i);
        memset(entry, 0, sizeof *entry);
        entry->opcode = IORING_OP_WRITE;
        entry->fd = device;
        entry->addr = (uint64_t)(uintptr_t)data;
        entry->len = (unsigned)bytes;
        entry->off = block * bytes;
        /* write_stream, which older headers do not name: the first byte of file_index. */
        ((uint8_t *)entry)[44] = (uint8_t)atoi(argv[5 + writer]);
        array[0] = 0;
        __atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
        if (syscall(__NR_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) { perror("enter"); return 1; }
        int result = cqes[*cq_head & mask].res;
        __atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
        if (result != (int)bytes) { fprintf(stderr, "a write returned %d\n", result); return 1; }
    }
    return 0;
}
