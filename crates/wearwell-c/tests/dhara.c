/* A driver in Dhara's shape under a disk, with power cuts. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dhara/nand.h"
#include "model.h"
#include "wearwell_dhara.h"

enum { LOG2_PAGE = 11, LOG2_PAGES_PER_BLOCK = 4, BLOCKS = 32, PAGES = 220, CUTS = 100 };

static const struct dhara_nand NAND = {LOG2_PAGE, LOG2_PAGES_PER_BLOCK, BLOCKS};

/* The driver: the array chip in other words. It reads parts of pages, and calls erased pages uncorrectable. */
static chip array;
static ww_driver below;
static uint8_t bytes[1 << LOG2_PAGE];

static int told(int result, dhara_error_t on_refusal, dhara_error_t *error)
{
    if (result == WW_NAND_OK) return 0;
    *error = result == WW_NAND_UNCORRECTABLE ? DHARA_E_ECC : result == WW_NAND_UNRESPONSIVE ? DHARA_E_NONE : on_refusal;
    return -1;
}

int dhara_nand_is_bad(const struct dhara_nand *nand, dhara_block_t block)
{
    (void)nand;
    return below.is_bad(&array, block) == 1;
}

void dhara_nand_mark_bad(const struct dhara_nand *nand, dhara_block_t block)
{
    (void)nand;
    below.mark_bad(&array, block);
}

int dhara_nand_erase(const struct dhara_nand *nand, dhara_block_t block, dhara_error_t *error)
{
    (void)nand;
    return told(below.erase(&array, block), DHARA_E_BAD_BLOCK, error);
}

int dhara_nand_prog(const struct dhara_nand *nand, dhara_page_t page, const uint8_t *data, dhara_error_t *error)
{
    (void)nand;
    return told(below.program(&array, page, data, NULL, 0), DHARA_E_BAD_BLOCK, error);
}

int dhara_nand_is_free(const struct dhara_nand *nand, dhara_page_t page)
{
    (void)nand;
    return array.states[page] == PAGE_ERASED;
}

int dhara_nand_read(const struct dhara_nand *nand, dhara_page_t page, size_t offset, size_t length, uint8_t *data,
                    dhara_error_t *error)
{
    CHECK(offset + length <= sizeof bytes);
    int result = dhara_nand_is_free(nand, page) ? WW_NAND_UNCORRECTABLE : below.read(&array, page, bytes, NULL);
    memcpy(data, bytes + offset, length);
    return told(result, DHARA_E_ECC, error);
}

int dhara_nand_copy(const struct dhara_nand *nand, dhara_page_t from, dhara_page_t to, dhara_error_t *error)
{
    int read = dhara_nand_read(nand, from, 0, sizeof bytes, bytes, error);
    return read ? read : dhara_nand_prog(nand, to, bytes, error);
}

/* A life of a disk with cuts. `cache_entries`: of a map on flash, or 0 for a map in memory. */
static void life(uint32_t cache_entries)
{
    static model expected;
    ww_disk *disk;
    ww_disk_stats stats;
    ww_driver driver = ww_dhara_driver(&NAND);
    size_t arena_bytes = cache_entries ? ww_arena_bytes_paged(&driver.geometry, PAGES, cache_entries)
                                       : ww_arena_bytes(&driver.geometry, PAGES);
    void *arena = malloc(arena_bytes);
    CHECK(arena != NULL);
    chip_make(&array, driver.geometry);
    below = chip_driver(&array);
    CHECK((cache_entries ? ww_format_paged(&driver, PAGES, cache_entries, arena, arena_bytes, &disk)
                         : ww_format(&driver, PAGES, arena, arena_bytes, &disk)) == WW_OK);
    uint32_t page_bytes = driver.geometry.page_bytes - (cache_entries ? 512 : 0);
    CHECK(ww_stats(disk, &stats) == WW_OK && stats.page_bytes == page_bytes);
    model_make(&expected, PAGES, stats.page_bytes);
    for (int cut = 0; cut < CUTS; cut++) {
        array.cut_at = array.operations + 1 + draw(500);
        while (array.has_power) {
            for (uint32_t count = draw(8); count > 0; count--) model_write(&expected, disk, draw(PAGES));
            model_sync(&expected, disk);
        }
        array.has_power = true;
        array.cut_at = 0;
        CHECK((cache_entries ? ww_mount_paged(&driver, PAGES, cache_entries, arena, arena_bytes, &disk, NULL)
                             : ww_mount(&driver, PAGES, arena, arena_bytes, &disk, NULL)) == WW_OK);
        model_check(&expected, disk);
    }
    CHECK(ww_unmount(disk) == WW_OK);
    chip_free(&array);
    free(arena);
}

int main(void)
{
    life(0);
    life(16);
    printf("%d cuts over a driver for Dhara, with either map: what was synced is there\n", CUTS);
    return 0;
}
