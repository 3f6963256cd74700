/* What FatFs does to a disk, by its glue: sectors in runs, sync, trim, and a start after a power cut. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "ff.h"
#include "wearwell_diskio.h"

#include "diskio.h"

enum { SECTOR = 1024, SECTORS = 200, RUN = 5 };

static const ww_geometry GEOMETRY = {SECTOR, 32, 16, 24, 1, 1};

int main(void)
{
    static BYTE data[RUN * SECTOR], found[RUN * SECTOR];
    chip chip;
    LBA_t sectors, range[] = {8, 9};
    WORD bytes;
    DWORD block;
    chip_make(&chip, GEOMETRY);
    ww_driver driver = chip_driver(&chip);
    size_t arena_bytes = ww_arena_bytes(&GEOMETRY, SECTORS);
    void *arena = malloc(arena_bytes);
    CHECK(arena != NULL && disk_initialize(1) == (STA_NOINIT | STA_NODISK));
    wearwell_diskio_use(&driver, SECTORS, arena, arena_bytes);
    CHECK(disk_status(0) == STA_NOINIT && disk_ioctl(0, CTRL_SYNC, NULL) == RES_NOTRDY);
    CHECK(disk_initialize(0) == 0 && disk_status(0) == 0);
    CHECK(disk_ioctl(0, GET_SECTOR_COUNT, &sectors) == RES_OK && sectors == SECTORS);
    CHECK(disk_ioctl(0, GET_SECTOR_SIZE, &bytes) == RES_OK && bytes == SECTOR);
    CHECK(disk_ioctl(0, GET_BLOCK_SIZE, &block) == RES_OK && block == 1);
    CHECK(disk_ioctl(0, 99, NULL) == RES_PARERR);
    for (UINT at = 0; at < sizeof data; at++) data[at] = (BYTE)draw(255);
    CHECK(disk_write(0, data, 6, RUN) == RES_OK && disk_ioctl(0, CTRL_TRIM, range) == RES_OK);
    CHECK(disk_ioctl(0, CTRL_SYNC, NULL) == RES_OK);
    CHECK(disk_write(0, data, SECTORS - RUN + 1, RUN) == RES_PARERR);
    CHECK(disk_read(0, found, SECTORS + 1, UINT32_MAX) == RES_PARERR);
    range[1] = SECTORS;
    CHECK(disk_ioctl(0, CTRL_TRIM, range) == RES_PARERR);

    /* The power fails, and the drive is used again. */
    chip.cut_at = chip.operations + 1;
    CHECK(disk_write(0, data, 100, 1) == RES_ERROR);
    chip.has_power = true;
    chip.cut_at = 0;
    wearwell_diskio_use(&driver, SECTORS, arena, arena_bytes);
    CHECK(disk_initialize(0) == 0 && disk_read(0, found, 6, RUN) == RES_OK);
    memset(data + 2 * SECTOR, 0, 2 * SECTOR);
    CHECK(memcmp(data, found, sizeof data) == 0);
    CHECK(wearwell_diskio_end() == WW_OK && disk_status(0) == STA_NOINIT);
    printf("FatFs' glue: sectors, sync, trim, and a power cut\n");
    chip_free(&chip);
    free(arena);
    return 0;
}
