/* A disk on SPI NAND in firmware, and how it fares: writes pages, is cut off from power again and again, and finds what
 * it had synced. Prints what a write costs.
 *
 * `cargo xtask firmware` builds it for a Cortex-M4 and runs it in QEMU. On a board of your own the emulated chip goes,
 * and `transfer` is your SPI. */
#include "board/board.h"
#include "board/emulated_nand.h"
#include "model.h"
#include "spi_nand.h"

enum { PAGES = 2600, ARENA_BYTES = 132 * 1024, WRITES = 5000, SYNC_EVERY = 8, CUTS = 50 };

static emulated_nand emulated;
static spi_nand nand = {
    .transfer = emulated_nand_transfer,
    .board = &emulated,
    .geometry = {NAND_PAGE, 32, NAND_PAGES_PER_BLOCK, NAND_BLOCKS, 1, 1},
    .spare_at = NAND_PAGE + 4,
    .patience = 1000,
};
static uint8_t arena[ARENA_BYTES];
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

/* Fills a disk and writes pages at random. */
static void what_a_write_costs(ww_disk *disk)
{
    ww_disk_stats before, after;
    for (uint32_t page = 0; page < PAGES; page++) model_write(&expected, disk, page);
    for (uint32_t write = 0; write < WRITES / 2; write++) model_write(&expected, disk, draw(PAGES));
    CHECK(ww_stats(disk, &before) == WW_OK);
    static uint8_t page[NAND_PAGE];
    uint32_t spent = 0, longest = 0;
    driver_ticks = 0;
    for (uint32_t write = 0; write < WRITES; write++) {
        uint32_t at = draw(PAGES), from = board_ticks(), of_driver = driver_ticks;
        CHECK(ww_write(disk, at, page) == WW_OK);
        if (write % SYNC_EVERY == 0) CHECK(ww_sync(disk) == WW_OK);
        uint32_t ticks = board_ticks() - from - (driver_ticks - of_driver);
        spent += ticks;
        longest = ticks > longest ? ticks : longest;
    }
    CHECK(ww_stats(disk, &after) == WW_OK);
    uint32_t programs = (uint32_t)(after.programmed_pages - before.programmed_pages);
    say("instructions a write, without the driver", spent * BOARD_INSTRUCTIONS_PER_TICK / WRITES, "\n");
    say("instructions in the longest write", longest * BOARD_INSTRUCTIONS_PER_TICK, "\n");
    say("programs for 100 writes", programs * 100 / WRITES, "\n");
    say("stack in writes, the example's and the driver's among it", board_stack_bytes(), " bytes\n");
    /* The model knows nothing of these writes: it begins again. */
    for (uint32_t at = 0; at < PAGES; at++) model_write(&expected, disk, at);
    model_sync(&expected, disk);
}

int main(void)
{
    ww_disk *disk;
    ww_disk_stats stats;
    emulated_nand_make(&emulated, board_cells, draw);
    CHECK(spi_nand_start(&nand));
    driver = spi_nand_driver(&nand);
    ww_driver timed = timed_driver();
    CHECK(ww_arena_bytes(&driver.geometry, PAGES) <= sizeof arena);
    CHECK(ww_format(&timed, PAGES, arena, sizeof arena, &disk) == WW_OK);
    CHECK(ww_stats(disk, &stats) == WW_OK && stats.page_bytes == NAND_PAGE);
    model_make(&expected, PAGES, stats.page_bytes);
    say("stack in a format, the example's and the driver's among it", board_stack_bytes(), " bytes\n");
    what_a_write_costs(disk);
    for (uint32_t cut = 0; cut < CUTS; cut++) {
        emulated.cut_at = emulated.operations + 1 + draw(500);
        while (emulated.has_power) {
            for (uint32_t count = draw(2 * SYNC_EVERY); count > 0; count--) model_write(&expected, disk, draw(PAGES));
            model_sync(&expected, disk);
        }
        emulated.has_power = true;
        emulated.cut_at = 0;
        CHECK(spi_nand_start(&nand));
        CHECK(ww_mount(&driver, PAGES, arena, sizeof arena, &disk, NULL) == WW_OK);
        model_check(&expected, disk);
    }
    CHECK(ww_stats(disk, &stats) == WW_OK);
    CHECK(ww_unmount(disk) == WW_OK && !emulated.was_misused);
    say("power cuts, after which all that was synced was there", CUTS, "\n");
    say("stack, with mounts", board_stack_bytes(), " bytes\n");
    say("arena, as ww_arena_bytes says", (uint32_t)ww_arena_bytes(&driver.geometry, PAGES), " bytes\n");
    say("arena that was used", (uint32_t)stats.arena_peak_bytes, " bytes\n");
    return 0;
}
