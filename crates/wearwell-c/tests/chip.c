#include "chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed, state;

void check(bool is_so, const char *text, const char *file, int line)
{
    if (is_so) return;
    fprintf(stderr, "%s:%d: not so: %s (seed %llu)\n", file, line, text, (unsigned long long)seed);
    exit(1);
}

void ww_panicked(const char *file, size_t file_bytes, uint32_t line)
{
    fprintf(stderr, "panic: %.*s:%u (seed %llu)\n", (int)file_bytes, file, (unsigned)line, (unsigned long long)seed);
    abort();
}

void draw_from(uint64_t with)
{
    seed = with;
    state = 0;
}

/* Weyl's sequence, mixed: the same numbers on every machine. */
uint32_t draw(uint32_t bound)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t mixed = (state ^ seed) * 0xD1342543DE82EF95u;
    mixed ^= mixed >> 32;
    mixed *= 0xD1342543DE82EF95u;
    return (uint32_t)((mixed >> 32) * bound >> 32);
}

static size_t pages_of(const ww_geometry *geometry)
{
    return (size_t)geometry->blocks * geometry->pages_per_block;
}

static size_t cell_bytes(const ww_geometry *geometry)
{
    return (size_t)geometry->page_bytes + geometry->spare_bytes;
}

static uint8_t *page_at(chip *chip, uint32_t page)
{
    CHECK(page < pages_of(&chip->geometry));
    return chip->cells + page * cell_bytes(&chip->geometry);
}

/* Counts a program or an erase. True if the power fails in it. */
static bool is_cut(chip *chip)
{
    chip->operations++;
    if (chip->operations != chip->cut_at) return false;
    chip->has_power = false;
    return true;
}

static int chip_read(void *context, uint32_t page, uint8_t *data, uint8_t *spare)
{
    chip *chip = context;
    const uint8_t *cells = page_at(chip, page);
    if (!chip->has_power) return WW_NAND_UNRESPONSIVE;
    if (chip->states[page] == PAGE_TORN) return WW_NAND_UNCORRECTABLE;
    if (data) memcpy(data, cells, chip->geometry.page_bytes);
    if (spare) memcpy(spare, cells + chip->geometry.page_bytes, chip->geometry.spare_bytes);
    return WW_NAND_OK;
}

static int chip_program(void *context, uint32_t page, const uint8_t *data, const uint8_t *spare, uint32_t spare_bytes)
{
    chip *chip = context;
    uint8_t *cells = page_at(chip, page);
    CHECK(spare_bytes <= chip->geometry.spare_bytes);
    if (!chip->has_power) return WW_NAND_UNRESPONSIVE;
    CHECK(chip->states[page] == PAGE_ERASED);
    bool cut = is_cut(chip);
    /* Cut, a page is programmed, torn, or still erased. */
    uint32_t left = cut ? draw(3) : 0;
    if (left == 2 || (chip->forgets_every && chip->operations % chip->forgets_every == 0)) {
        return cut ? WW_NAND_UNRESPONSIVE : WW_NAND_OK;
    }
    memcpy(cells, data, chip->geometry.page_bytes);
    memcpy(cells + chip->geometry.page_bytes, spare, spare_bytes);
    chip->states[page] = left == 1 ? PAGE_TORN : PAGE_GOOD;
    if (cut) return WW_NAND_UNRESPONSIVE;
    if (chip->on_program) chip->on_program(chip->argument);
    return WW_NAND_OK;
}

static int chip_erase(void *context, uint32_t block)
{
    chip *chip = context;
    uint32_t pages = chip->geometry.pages_per_block, first = block * pages;
    CHECK(block < chip->geometry.blocks);
    if (!chip->has_power) return WW_NAND_UNRESPONSIVE;
    bool cut = is_cut(chip);
    /* Cut, a block is erased, torn, or as it was. */
    uint32_t left = cut ? draw(3) : 0;
    for (uint32_t page = first; page < first + pages && left < 2; page++) {
        memset(page_at(chip, page), 0xFF, cell_bytes(&chip->geometry));
        chip->states[page] = left == 1 ? PAGE_TORN : PAGE_ERASED;
    }
    return cut ? WW_NAND_UNRESPONSIVE : WW_NAND_OK;
}

static int chip_is_bad(void *context, uint32_t block)
{
    (void)block;
    return ((chip *)context)->has_power ? 0 : WW_NAND_UNRESPONSIVE;
}

static int chip_mark_bad(void *context, uint32_t block)
{
    (void)block;
    return ((chip *)context)->has_power ? WW_NAND_OK : WW_NAND_UNRESPONSIVE;
}

void chip_make(chip *chip, ww_geometry geometry)
{
    size_t pages = pages_of(&geometry);
    memset(chip, 0, sizeof *chip);
    chip->geometry = geometry;
    chip->has_power = true;
    chip->cells = malloc(pages * cell_bytes(&geometry));
    chip->states = malloc(pages);
    CHECK(chip->cells && chip->states);
    memset(chip->cells, 0xFF, pages * cell_bytes(&geometry));
    memset(chip->states, PAGE_ERASED, pages);
}

void chip_free(chip *chip)
{
    free(chip->cells);
    free(chip->states);
}

ww_driver chip_driver(chip *chip)
{
    return (ww_driver){
        .context = chip,
        .geometry = chip->geometry,
        .read = chip_read,
        .program = chip_program,
        .erase = chip_erase,
        .is_bad = chip_is_bad,
        .mark_bad = chip_mark_bad,
    };
}
