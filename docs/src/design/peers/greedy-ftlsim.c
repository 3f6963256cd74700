// How many pages a second ftlsim programs for uniform writes with greedy cleaning, to set beside wearwell.
//
//     git clone https://github.com/pjd-nu/sssl-ftlsim ftlsim
//     cc -O2 -w -Iftlsim $(python3-config --includes) -o greedy-ftlsim greedy-ftlsim.c $(python3-config --embed --ldflags)
//     ./greedy-ftlsim LOG2_PAGES WRITES
//
// Segments have 512 pages, one ninth of the device is spare, and cleaning keeps four segments free. WRITES follow the
// fill and a warm-up of four times the device. The simulator has no build without Python, so its file is included.

#include "ftlsim.c"

#include <stdint.h>
#include <time.h>

enum { PAGES_PER_SEGMENT = 512, FREE_SEGMENTS = 4 };

static struct pool *the_pool;
static uint32_t logical_pages;
static uint64_t drawn = 88172645463325252ull;

static struct pool *only_pool(struct ftl *ftl) { (void)ftl; return the_pool; }
static struct pool *only_pool_for(struct ftl *ftl, int lba) { (void)lba; return only_pool(ftl); }

static int in_order(void *self)
{
    struct getaddr *addresses = self;
    uintptr_t next = (uintptr_t)addresses->private_data;
    addresses->private_data = (void *)(next + 1);
    return (int)next;
}

// xorshift64. The upper half times the range is a draw without a division.
static int uniform(void *self)
{
    (void)self;
    drawn ^= drawn << 13, drawn ^= drawn >> 7, drawn ^= drawn << 17;
    return (int)(((drawn >> 32) * logical_pages) >> 32);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    if (count != 3)
        return fprintf(stderr, "usage: %s LOG2_PAGES WRITES\n", words[0]), 2;
    logical_pages = 1u << atoi(words[1]);
    int writes = atoi(words[2]);
    int segments = logical_pages / PAGES_PER_SEGMENT * 9 / 8;

    struct ftl *ftl = ftl_new(segments, PAGES_PER_SEGMENT);
    for (int i = 0; i < segments; i++)
        do_put_blk(ftl, segment_new(PAGES_PER_SEGMENT));
    the_pool = greedy_pool_new(ftl, PAGES_PER_SEGMENT);
    the_pool->next_pool = the_pool;
    the_pool->addseg(the_pool, do_get_blk(ftl));
    ftl->get_input_pool = only_pool_for;
    ftl->get_pool_to_clean = only_pool;
    ftl->minfree = ftl->maxfree = FREE_SEGMENTS;

    struct getaddr fill = {.getaddr = in_order}, random = {.getaddr = uniform};
    do_ftl_run(ftl, &fill, logical_pages);
    do_ftl_run(ftl, &random, 4 * logical_pages);
    ftl->int_writes = ftl->ext_writes = 0;
    double begun = seconds();
    do_ftl_run(ftl, &random, writes);
    double taken = seconds() - begun;
    printf("%.1f M programmed pages a second, write amplification %.3f\n", ftl->int_writes / taken / 1e6,
           (double)ftl->int_writes / ftl->ext_writes);
    return 0;
}
