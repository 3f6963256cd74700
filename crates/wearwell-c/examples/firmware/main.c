/* Disks on SPI NAND in firmware, one with its map in memory and one with its map on flash, and how they fare: each
 * writes pages, is cut off from power again and again, and finds what it had synced. Prints what a write and a mount
 * cost.
 *
 * `cargo xtask firmware` builds it for a Cortex-M4 and runs it in QEMU. On a board of your own the emulated chip goes,
 * and `transfer` is your SPI. */
#include "board/board.h"
#include "board/emulated_nand.h"
#include "model.h"
#include "spi_nand.h"

/* Entries in the cache of a map on flash. */
enum { ENTRIES = 279 };
enum { WRITES = 5000, SYNC_EVERY = 8, CUTS = 50, MOST_STACK = 4096 };

/* A disk, and the chip that it is on. */
typedef struct kind {
    const char *name;
    uint32_t blocks;
    uint32_t pages;
    uint32_t entries;  /* in the cache of a map on flash; 0: the map is in memory */
    uint8_t *arena;
    size_t arena_bytes;
} kind;

static uint8_t large_arena[132 * 1024], small_arena[16 * 1024];

/* The second chip is as large as the board has room for. Its disk takes the same share of the chip as the first disk
 * does, and has the cache that 16 KiB leave room for on a chip of 1 Gbit. */
static const kind KINDS[] = {
    {"a map in memory", 64, 2600, 0, large_arena, sizeof large_arena},
    {"a map on flash", NAND_MOST_BLOCKS, 5037, ENTRIES, small_arena, sizeof small_arena},
};

static emulated_nand emulated;
static spi_nand nand = {
    .transfer = emulated_nand_transfer,
    .board = &emulated,
    .geometry = {NAND_PAGE, 32, NAND_PAGES_PER_BLOCK, 0, 1, 1},
    .spare_at = NAND_PAGE + 4,
    .patience = 1000,
};
static model expected;

void check(bool is_so, const char *text, const char *file, int line)
{
    if (is_so) return;
    board_say(file);
    board_say(":");
    board_say_number((uint32_t)line);
    board_say(": not so: ");
    board_say(text);
    board_say("\n");
    board_exit(1);
}

void ww_panicked(const char *file, size_t file_bytes, uint32_t line)
{
    (void)file;
    (void)file_bytes;
    board_say("a panic of the library in line ");
    board_say_number(line);
    board_say("\n");
    board_exit(1);
}

uint32_t draw(uint32_t bound)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 32) * bound >> 32);
}

static void say(const char *what, uint32_t number, const char *unit)
{
    board_say(what);
    board_say(": ");
    board_say_number(number);
    board_say(unit);
}

/* Ticks that the driver took, so that the library's own can be told apart. */
static ww_driver driver;
static uint32_t driver_ticks;

#define TIMED(call)                          \
    uint32_t before = board_ticks();         \
    int result = (call);                     \
    driver_ticks += board_ticks() - before;  \
    return result

static int timed_read(void *context, uint32_t page, uint8_t *data, uint8_t *spare)
{
    TIMED(driver.read(context, page, data, spare));
}

static int timed_program(void *context, uint32_t page, const uint8_t *data, const uint8_t *spare, uint32_t spare_bytes)
{
    TIMED(driver.program(context, page, data, spare, spare_bytes));
}

static int timed_copy(void *context, uint32_t from, uint32_t to, uint8_t *spare)
{
    TIMED(driver.copy(context, from, to, spare));
}

static int timed_erase(void *context, uint32_t block)
{
    TIMED(driver.erase(context, block));
}

static int timed_is_bad(void *context, uint32_t block)
{
    TIMED(driver.is_bad(context, block));
}

static ww_driver timed_driver(void)
{
    ww_driver timed = driver;
    timed.read = timed_read;
    timed.program = timed_program;
    timed.copy = timed_copy;
    timed.erase = timed_erase;
    timed.is_bad = timed_is_bad;
    return timed;
}

/* Reads that a mount asked the driver for. These functions take no stack of their own, so that what is measured in
 * mounts is the library's. */
static uint32_t driver_reads;

static int counted_read(void *context, uint32_t page, uint8_t *data, uint8_t *spare)
{
    driver_reads++;
    return driver.read(context, page, data, spare);
}

static int counted_copy(void *context, uint32_t from, uint32_t to, uint8_t *spare)
{
    driver_reads++;
    return driver.copy(context, from, to, spare);
}

static ww_driver counted_driver(void)
{
    ww_driver counted = driver;
    counted.read = counted_read;
    counted.copy = counted_copy;
    return counted;
}

static size_t arena_bytes(const kind *kind)
{
    return kind->entries ? ww_arena_bytes_paged(&driver.geometry, kind->pages, kind->entries)
                         : ww_arena_bytes(&driver.geometry, kind->pages);
}

static ww_error format(const kind *kind, const ww_driver *driver, ww_disk **disk)
{
    return kind->entries ? ww_format_paged(driver, kind->pages, kind->entries, kind->arena, kind->arena_bytes, disk)
                         : ww_format(driver, kind->pages, kind->arena, kind->arena_bytes, disk);
}

/* Mounts a disk, and returns how many pages were read for that. */
static uint32_t mount(const kind *kind, const ww_driver *driver, ww_disk **disk)
{
    driver_reads = 0;
    ww_error error =
        kind->entries ? ww_mount_paged(driver, kind->pages, kind->entries, kind->arena, kind->arena_bytes, disk, NULL)
                      : ww_mount(driver, kind->pages, kind->arena, kind->arena_bytes, disk, NULL);
    CHECK(error == WW_OK);
    return driver_reads;
}

/* The most bytes of the arena that a disk has used, as it counts them since it was formatted or mounted. */
static uint32_t peak_bytes(const ww_disk *disk)
{
    ww_disk_stats stats;
    CHECK(ww_stats(disk, &stats) == WW_OK);
    return (uint32_t)stats.arena_peak_bytes;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void say_stack(const char *when)
{
    uint32_t bytes = board_stack_bytes();
    board_say("stack in ");
    say(when, bytes, " bytes\n");
    CHECK(bytes <= MOST_STACK);
}

/* Fills a disk and writes pages at random. */
static void what_a_write_costs(ww_disk *disk, uint32_t pages)
{
    ww_disk_stats before, after;
    for (uint32_t page = 0; page < pages; page++) model_write(&expected, disk, page);
    for (uint32_t write = 0; write < WRITES / 2; write++) model_write(&expected, disk, draw(pages));
    CHECK(ww_stats(disk, &before) == WW_OK);
    static uint8_t page[NAND_PAGE];
    uint32_t spent = 0, longest = 0;
    driver_ticks = 0;
    for (uint32_t write = 0; write < WRITES; write++) {
        uint32_t at = draw(pages), from = board_ticks(), of_driver = driver_ticks;
        CHECK(ww_write(disk, at, page) == WW_OK);
        if (write % SYNC_EVERY == 0) CHECK(ww_sync(disk) == WW_OK);
        uint32_t ticks = board_ticks() - from - (driver_ticks - of_driver);
        spent += ticks;
        longest = larger(longest, ticks);
    }
    CHECK(ww_stats(disk, &after) == WW_OK);
    uint32_t programs = (uint32_t)(after.programmed_pages - before.programmed_pages);
    say("instructions a write, without the driver", spent * BOARD_INSTRUCTIONS_PER_TICK / WRITES, "\n");
    say("instructions in the longest write", longest * BOARD_INSTRUCTIONS_PER_TICK, "\n");
    say("programs for 100 writes", programs * 100 / WRITES, "\n");
    say_stack("writes, the example's and the driver's among it");
    /* The model knows nothing of these writes: it begins again. */
    for (uint32_t at = 0; at < pages; at++) model_write(&expected, disk, at);
    model_sync(&expected, disk);
}

/* Writes until the power fails, and gives it back. */
static void lose_power(ww_disk *disk, uint32_t pages)
{
    emulated.cut_at = emulated.operations + 1 + draw(500);
    while (emulated.has_power) {
        for (uint32_t count = draw(2 * SYNC_EVERY); count > 0; count--) model_write(&expected, disk, draw(pages));
        model_sync(&expected, disk);
    }
    emulated.has_power = true;
    emulated.cut_at = 0;
    CHECK(spi_nand_start(&nand));
}

/* The power fails again and again, and at the end the disk is shut down. Returns the most bytes of the arena in use. */
static uint32_t storm(const kind *kind, ww_disk *disk)
{
    static ww_driver counted;
    uint32_t reads = 0, most_reads = 0, peak = peak_bytes(disk);
    counted = counted_driver();
    for (uint32_t cut = 0; cut < CUTS; cut++) {
        lose_power(disk, kind->pages);
        uint32_t of_mount = mount(kind, &counted, &disk);
        reads += of_mount;
        most_reads = larger(most_reads, of_mount);
        model_check(&expected, disk);
        peak = larger(peak, peak_bytes(disk));
    }
    CHECK(ww_unmount(disk) == WW_OK);
    uint32_t behind_shutdown = mount(kind, &counted, &disk);
    model_check(&expected, disk);
    CHECK(ww_unmount(disk) == WW_OK && !emulated.was_misused);
    say("power cuts, after which all that was synced was there", CUTS, "\n");
    say("reads of a mount behind a cut", reads / CUTS, "\n");
    say("reads of the longest mount behind a cut", most_reads, "\n");
    say("reads of a mount behind a shutdown", behind_shutdown, "\n");
    return peak;
}

static void fare(const kind *kind)
{
    static ww_driver timed;
    ww_disk *disk;
    ww_disk_stats stats;
    board_say("a disk with ");
    board_say(kind->name);
    say("", kind->pages, " pages on ");
    board_say_number(kind->blocks);
    board_say(" blocks\n");
    nand.geometry.blocks = kind->blocks;
    emulated_nand_make(&emulated, board_cells, kind->blocks, draw);
    CHECK(spi_nand_start(&nand));
    driver = spi_nand_driver(&nand);
    timed = timed_driver();
    say("arena, as the library asks for it", (uint32_t)arena_bytes(kind), " bytes\n");
    CHECK(arena_bytes(kind) <= kind->arena_bytes);
    CHECK(format(kind, &timed, &disk) == WW_OK);
    CHECK(ww_stats(disk, &stats) == WW_OK && stats.page_bytes == NAND_PAGE);
    model_make(&expected, kind->pages, stats.page_bytes);
    say_stack("a format, the example's and the driver's among it");
    what_a_write_costs(disk, kind->pages);
    uint32_t peak = storm(kind, disk);
    say_stack("mounts and between cuts");
    say("arena that was used", peak, " bytes\n");
}

/* The board has no room for such a chip, but the library says here, too, what its disk takes. */
static void what_a_gigabit_takes(void)
{
    const ww_geometry gigabit = {NAND_PAGE, 32, NAND_PAGES_PER_BLOCK, 1024, 1, 1};
    size_t bytes = ww_arena_bytes_paged(&gigabit, 52428, ENTRIES);
    CHECK(bytes > 0 && bytes <= sizeof small_arena);
    say("arena of a map on flash on 1,024 blocks, as the library asks for it", (uint32_t)bytes, " bytes\n");
}

int main(void)
{
    what_a_gigabit_takes();
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) fare(&KINDS[i]);
    board_say("both disks kept all that was synced\n");
    return 0;
}
