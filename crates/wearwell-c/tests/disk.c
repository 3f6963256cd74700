/* A disk on an array, from C: what was synced survives every power cut, in an arena of exactly the bytes that it needs.
 *
 *     disk [SEEDS]        all tests, with so many seeds of the one with cuts
 *     disk --canary       one on a chip that forgets programs: has to fail */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static const ww_geometry SMALL = {512, 16, 8, 16, 1, 1};
static const ww_geometry PLAIN = {2048, 64, 64, 32, 1, 1};
static const ww_geometry NO_SPARE = {2048, 0, 32, 32, 1, 1};
static const ww_geometry PAIRED = {1024, 32, 32, 16, 2, 2};
static const ww_geometry SHORT_BLOCKS = {512, 16, 8, 32, 1, 1};
static const ww_geometry GIGABIT = {2048, 64, 64, 1024, 1, 1};

static model expected;

/* Entries in the cache of a map on flash; 0: the map is in memory. */
static uint32_t cache_entries;

/* An arena of just the bytes that are needed, at an odd address, with a guard behind it. */
typedef struct arena {
    uint8_t *memory;
    size_t bytes;
} arena;

enum { GUARD = 64, SKEW = 3 };

static arena arena_make(const ww_geometry *geometry, uint32_t pages)
{
    arena made = {.bytes = cache_entries ? ww_arena_bytes_paged(geometry, pages, cache_entries)
                                         : ww_arena_bytes(geometry, pages)};
    CHECK(made.bytes > 0);
    made.memory = malloc(SKEW + made.bytes + GUARD);
    CHECK(made.memory != NULL);
    memset(made.memory, 0xA5, SKEW + made.bytes + GUARD);
    return made;
}

static void arena_free(arena *arena)
{
    for (size_t i = 0; i < GUARD; i++) CHECK(arena->memory[SKEW + arena->bytes + i] == 0xA5);
    free(arena->memory);
}

static ww_error format(chip *chip, uint32_t pages, arena *arena, ww_disk **disk)
{
    ww_driver driver = chip_driver(chip);
    uint8_t *memory = arena->memory + SKEW;
    return cache_entries ? ww_format_paged(&driver, pages, cache_entries, memory, arena->bytes, disk)
                         : ww_format(&driver, pages, memory, arena->bytes, disk);
}

static ww_error mount(chip *chip, uint32_t pages, arena *arena, ww_disk **disk, ww_mount_report *report)
{
    ww_driver driver = chip_driver(chip);
    uint8_t *memory = arena->memory + SKEW;
    return cache_entries ? ww_mount_paged(&driver, pages, cache_entries, memory, arena->bytes, disk, report)
                         : ww_mount(&driver, pages, memory, arena->bytes, disk, report);
}

/* Commands until `count` are done or the power is gone. */
static void work(chip *chip, ww_disk *disk, uint32_t count)
{
    for (uint32_t i = 0; i < count && chip->has_power; i++) {
        uint32_t page = draw(draw(2) ? expected.pages : 1 + expected.pages / 10);
        switch (draw(16)) {
        case 0: model_trim(&expected, disk, page); break;
        case 1: model_sync(&expected, disk); break;
        case 2: ww_clean(disk, 4, NULL); break;
        default: model_write(&expected, disk, page); break;
        }
    }
}

/* A life of a disk with a cut every now and then, also in mounts. */
static void storm(ww_geometry geometry, uint32_t pages, uint32_t cuts, uint32_t forgets_every)
{
    chip chip;
    ww_disk *disk;
    ww_disk_stats stats;
    chip_make(&chip, geometry);
    arena arena = arena_make(&geometry, pages);
    CHECK(format(&chip, pages, &arena, &disk) == WW_OK);
    CHECK(ww_stats(disk, &stats) == WW_OK && stats.pages == pages);
    model_make(&expected, pages, stats.page_bytes);
    chip.forgets_every = forgets_every;
    for (uint32_t cut = 0; cut < cuts; cut++) {
        chip.cut_at = chip.operations + 1 + draw(400);
        work(&chip, disk, 1000);
        CHECK(!chip.has_power);
        do {
            chip.has_power = true;
            chip.cut_at = draw(2) ? chip.operations + 1 + draw(20) : 0;
        } while (mount(&chip, pages, &arena, &disk, NULL) != WW_OK && !chip.has_power);
        chip.cut_at = 0;
        CHECK(disk != NULL);
        model_check(&expected, disk);
    }
    CHECK(ww_unmount(disk) == WW_OK);
    arena_free(&arena);
    chip_free(&chip);
}

/* The power fails at each operation in turn. */
static void every_cut(ww_geometry geometry)
{
    uint32_t cut_at = 0;
    bool was_cut;
    do {
        chip chip;
        ww_disk *disk;
        draw_from(++cut_at);
        chip_make(&chip, geometry);
        arena arena = arena_make(&geometry, 40);
        CHECK(format(&chip, 40, &arena, &disk) == WW_OK);
        model_make(&expected, 40, 512);
        chip.cut_at = chip.operations + cut_at;
        work(&chip, disk, 150);
        was_cut = !chip.has_power;
        chip.has_power = true;
        chip.cut_at = 0;
        CHECK(mount(&chip, 40, &arena, &disk, NULL) == WW_OK);
        model_check(&expected, disk);
        arena_free(&arena);
        chip_free(&chip);
    } while (was_cut);
    printf("a cut at each of %u operations: what was synced is there\n", (unsigned)cut_at - 1);
}

static void print_memory(const ww_geometry *geometry, uint32_t pages, size_t arena_bytes, const ww_disk_stats *mounted,
                         const ww_disk_stats *stats)
{
    printf("%u + %u x %u x %u, %u pages: arena %zu, mounted in %zu, then at most %zu\n",
           (unsigned)geometry->page_bytes, (unsigned)geometry->spare_bytes, (unsigned)geometry->pages_per_block,
           (unsigned)geometry->blocks, (unsigned)pages, arena_bytes, mounted->arena_peak_bytes,
           stats->arena_peak_bytes);
}

/* Long enough for all tables to be as large as they get. */
static void long_run(ww_geometry geometry, uint32_t pages, uint32_t writes)
{
    chip chip;
    ww_disk *disk;
    ww_disk_stats mounted, stats;
    ww_mount_report report;
    chip_make(&chip, geometry);
    arena arena = arena_make(&geometry, pages);
    CHECK(format(&chip, pages, &arena, &disk) == WW_OK);
    CHECK(ww_stats(disk, &stats) == WW_OK);
    model_make(&expected, pages, stats.page_bytes);
    work(&chip, disk, writes);
    model_check(&expected, disk);
    CHECK(ww_unmount(disk) == WW_OK);
    CHECK(mount(&chip, pages, &arena, &disk, &report) == WW_OK && report.clean);
    CHECK(ww_stats(disk, &mounted) == WW_OK);
    work(&chip, disk, writes);
    CHECK(ww_stats(disk, &stats) == WW_OK);
    CHECK(stats.arena_peak_bytes <= arena.bytes && stats.erases > 0);
    print_memory(&geometry, pages, arena.bytes, &mounted, &stats);
    arena_free(&arena);
    chip_free(&chip);
}

/* A chip of 1 Gbit, 80 % of it filled and then written at random, in 16 KiB; then a cut, and a mount in as much. */
static void gigabit_in_16_kib(void)
{
    enum { PAGES = 52428, KIB_16 = 16384 };
    static uint32_t page[512];
    chip chip;
    ww_disk *disk;
    ww_disk_stats stats, mounted;
    cache_entries = 2;
    while (ww_arena_bytes_paged(&GIGABIT, PAGES, cache_entries + 1) <= KIB_16) cache_entries++;
    chip_make(&chip, GIGABIT);
    arena arena = arena_make(&GIGABIT, PAGES);
    CHECK(format(&chip, PAGES, &arena, &disk) == WW_OK);
    for (uint32_t i = 0; i < 2 * PAGES; i++) {
        page[0] = i < PAGES ? i : draw(PAGES);
        CHECK(ww_write(disk, page[0], page) == WW_OK);
    }
    CHECK(ww_sync(disk) == WW_OK && ww_stats(disk, &stats) == WW_OK);
    chip.cut_at = chip.operations + 1 + draw(100);
    while (ww_write(disk, page[0] = draw(PAGES), page) == WW_OK) continue;
    chip.has_power = true;
    chip.cut_at = 0;
    CHECK(mount(&chip, PAGES, &arena, &disk, NULL) == WW_OK && ww_stats(disk, &mounted) == WW_OK);
    for (uint32_t i = 0; i < PAGES; i++) CHECK(ww_read(disk, i, page) == WW_OK && page[0] == i);
    printf("map on flash, %u entries: ", (unsigned)cache_entries);
    print_memory(&GIGABIT, PAGES, arena.bytes, &mounted, &stats);
    cache_entries = 0;
    arena_free(&arena);
    chip_free(&chip);
}

/* A chip is mounted with the map that it was formatted with, and with no other. */
static void other_maps(void)
{
    chip chip;
    ww_disk *disk;
    chip_make(&chip, SHORT_BLOCKS);
    arena arena = arena_make(&SHORT_BLOCKS, 40);
    ww_driver driver = chip_driver(&chip);
    CHECK(format(&chip, 40, &arena, &disk) == WW_OK && ww_unmount(disk) == WW_OK);
    CHECK(ww_mount_paged(&driver, 40, 8, arena.memory, arena.bytes, &disk, NULL) == WW_OTHER_MAP && disk == NULL);
    CHECK(ww_format_paged(&driver, 40, 8, arena.memory, arena.bytes, &disk) == WW_OK && ww_unmount(disk) == WW_OK);
    CHECK(mount(&chip, 40, &arena, &disk, NULL) == WW_OTHER_MAP);
    CHECK(ww_format_paged(&driver, 40, 1, arena.memory, arena.bytes, &disk) == WW_BAD_ARGUMENT);
    CHECK(ww_format_paged(&driver, 40, 8, arena.memory, 1000, &disk) == WW_ARENA_TOO_SMALL);
    driver.geometry.paired_pages = 2;
    CHECK(ww_format_paged(&driver, 40, 8, arena.memory, arena.bytes, &disk) == WW_BAD_GEOMETRY);
    arena_free(&arena);
    chip_free(&chip);
}

static void refusals(void)
{
    chip chip;
    ww_disk *disk;
    ww_mount_report report;
    static uint8_t page[512];
    chip_make(&chip, SMALL);
    arena arena = arena_make(&SMALL, 40), short_one = {arena.memory, arena.bytes - 1};
    ww_driver driver = chip_driver(&chip), broken = driver;
    broken.erase = NULL;
    CHECK(ww_format(&broken, 40, arena.memory, arena.bytes, &disk) == WW_BAD_ARGUMENT && disk == NULL);
    broken.geometry.page_bytes = 1000;
    CHECK(ww_format(&broken, 40, arena.memory, arena.bytes, &disk) == WW_BAD_GEOMETRY);
    CHECK(ww_arena_bytes(&broken.geometry, 40) == 0 && ww_arena_bytes(NULL, 40) == 0);
    CHECK(ww_format(&driver, 40, NULL, 0, &disk) == WW_BAD_ARGUMENT);
    CHECK(ww_format(&driver, 0, arena.memory, arena.bytes, &disk) == WW_BAD_ARGUMENT);
    CHECK(ww_format(&driver, 4000, arena.memory, arena.bytes, &disk) == WW_TOO_LARGE);
    CHECK(format(&chip, 40, &short_one, &disk) == WW_ARENA_TOO_SMALL && disk == NULL);
    CHECK(mount(&chip, 40, &short_one, &disk, NULL) == WW_ARENA_TOO_SMALL);
    CHECK(mount(&chip, 40, &arena, &disk, &report) == WW_OK && report.never_formatted);
    CHECK(ww_read(disk, 40, page) == WW_BAD_ARGUMENT && ww_write(disk, 40, page) == WW_BAD_ARGUMENT);
    CHECK(ww_trim(disk, 39, 2) == WW_BAD_ARGUMENT && ww_trim(disk, 1, UINT32_MAX) == WW_BAD_ARGUMENT);
    CHECK(ww_write(disk, 3, NULL) == WW_BAD_ARGUMENT && ww_sync(NULL) == WW_BAD_ARGUMENT);
    CHECK(ww_write(disk, 3, page) == WW_OK && ww_unmount(disk) == WW_OK);
    CHECK(ww_write(disk, 3, page) == WW_BAD_ARGUMENT && ww_unmount(disk) == WW_BAD_ARGUMENT);
    CHECK(mount(&chip, 39, &arena, &disk, NULL) == WW_OTHER_CAPACITY);
    CHECK(strcmp(ww_error_text(WW_OK), "done") == 0);
    for (int error = WW_OK; error <= WW_OTHER_MAP + 1; error++) CHECK(strlen(ww_error_text(error)) > 0);
    memset(chip.cells, 0x5A, (size_t)8 * 16 * 528);
    memset(chip.states, PAGE_GOOD, 8 * 16);
    CHECK(mount(&chip, 40, &arena, &disk, NULL) == WW_FOREIGN);
    arena_free(&arena);
    chip_free(&chip);
}

/* Every page of a chip is a copy of one. No cut leaves that, and the lists of a mount get as long as they can. */
static void chip_full_of_copies(void)
{
    chip chip;
    ww_disk *disk;
    static uint8_t page[512];
    chip_make(&chip, SMALL);
    arena exact = arena_make(&SMALL, 40), large = {malloc(SKEW + 20 * exact.bytes + GUARD), 20 * exact.bytes};
    CHECK(large.memory != NULL);
    memset(large.memory, 0xA5, SKEW + large.bytes + GUARD);
    CHECK(format(&chip, 40, &exact, &disk) == WW_OK);
    memset(page, 0x42, sizeof page);
    CHECK(ww_write(disk, 7, page) == WW_OK);
    uint32_t cell = SMALL.page_bytes + SMALL.spare_bytes, pages = SMALL.blocks * SMALL.pages_per_block, from = 0;
    while (chip.cells[from * cell] != 0x42) from++;
    for (uint32_t to = 0; to < pages; to++) {
        if (to % SMALL.pages_per_block == 0) continue;
        memmove(chip.cells + to * cell, chip.cells + from * cell, cell);
        chip.states[to] = PAGE_GOOD;
    }
    CHECK(mount(&chip, 40, &exact, &disk, NULL) == WW_ARENA_TOO_SMALL);
    CHECK(mount(&chip, 40, &large, &disk, NULL) == WW_OK);
    CHECK(ww_read(disk, 7, page) == WW_OK && page[0] == 0x42);
    arena_free(&exact);
    arena_free(&large);
    chip_free(&chip);
}

static void write_beside(void *argument)
{
    static uint8_t page[512];
    page[0]++;
    CHECK(ww_write(argument, draw(40), page) == WW_OK);
}

/* Each program on one chip writes to a second disk, from within the callback. */
static void disk_within_disk(void)
{
    chip outer, inner;
    ww_disk *outer_disk, *inner_disk;
    chip_make(&outer, SMALL);
    chip_make(&inner, SMALL);
    arena outer_arena = arena_make(&SMALL, 40), inner_arena = arena_make(&SMALL, 40);
    CHECK(format(&inner, 40, &inner_arena, &inner_disk) == WW_OK);
    CHECK(format(&outer, 40, &outer_arena, &outer_disk) == WW_OK);
    outer.on_program = write_beside;
    outer.argument = inner_disk;
    model_make(&expected, 40, 512);
    work(&outer, outer_disk, 5000);
    outer.on_program = NULL;
    model_check(&expected, outer_disk);
    CHECK(ww_unmount(inner_disk) == WW_OK && ww_unmount(outer_disk) == WW_OK);
    arena_free(&outer_arena);
    arena_free(&inner_arena);
    chip_free(&outer);
    chip_free(&inner);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--canary") == 0) {
        draw_from(1);
        storm(SMALL, 40, 100, 61);
        return 0;
    }
    uint32_t seeds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    refusals();
    other_maps();
    every_cut(SMALL);
    cache_entries = 8;
    every_cut(SHORT_BLOCKS);
    cache_entries = 0;
    chip_full_of_copies();
    disk_within_disk();
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        draw_from(seed);
        storm(SMALL, 40, 60, 0);
        storm(PAIRED, 200, 20, 0);
        storm(NO_SPARE, 500, 20, 0);
        cache_entries = 2 + seed % 20;
        storm(SHORT_BLOCKS, 80, 60, 0);
        storm(NO_SPARE, 500, 20, 0);
        cache_entries = 0;
    }
    printf("%u seeds, with cuts: what was synced is there\n", (unsigned)seeds);
    draw_from(1);
    long_run(SMALL, 40, 50000);
    long_run(PAIRED, 200, 20000);
    long_run(NO_SPARE, 600, 20000);
    long_run(PLAIN, 1500, 50000);
    cache_entries = 32;
    long_run(SHORT_BLOCKS, 80, 20000);
    long_run(NO_SPARE, 510, 20000);
    gigabit_in_16_kib();
    return 0;
}
