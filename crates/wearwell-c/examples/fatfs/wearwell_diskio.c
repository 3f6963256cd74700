#include "wearwell_diskio.h"

#include "ff.h"

#include "diskio.h"

static struct {
    ww_driver driver;
    uint32_t pages;
    void *arena;
    size_t arena_bytes;
    ww_disk *disk;      /* null until it is mounted */
    ww_disk_stats shape;
    bool is_read_only;
} drive;

void wearwell_diskio_use(const ww_driver *driver, uint32_t pages, void *arena, size_t arena_bytes)
{
    drive.driver = *driver;
    drive.pages = pages;
    drive.arena = arena;
    drive.arena_bytes = arena_bytes;
    drive.disk = NULL;
}

ww_error wearwell_diskio_end(void)
{
    ww_error ended = ww_unmount(drive.disk);
    drive.disk = NULL;
    return ended;
}

DSTATUS disk_status(BYTE number)
{
    if (number != 0) return STA_NOINIT | STA_NODISK;
    if (!drive.disk) return STA_NOINIT;
    return drive.is_read_only ? STA_PROTECT : 0;
}

DSTATUS disk_initialize(BYTE number)
{
    ww_mount_report report;
    if (number == 0 && !drive.disk &&
        ww_mount(&drive.driver, drive.pages, drive.arena, drive.arena_bytes, &drive.disk, &report) == WW_OK) {
        drive.is_read_only = report.read_only;
        ww_stats(drive.disk, &drive.shape);
    }
    return disk_status(number);
}

static DRESULT told(ww_error error)
{
    switch (error) {
    case WW_OK: return RES_OK;
    case WW_BAD_ARGUMENT: return RES_PARERR;
    case WW_WORN_OUT: drive.is_read_only = true; return RES_WRPRT;
    default: return RES_ERROR;
    }
}

/* True if the drive is there and has all these sectors. */
static bool has(BYTE number, LBA_t sector, UINT count)
{
    return !(disk_status(number) & STA_NOINIT) && sector <= drive.pages && count <= drive.pages - sector;
}

DRESULT disk_read(BYTE number, BYTE *data, LBA_t sector, UINT count)
{
    if (!has(number, sector, count)) return RES_PARERR;
    ww_error error = WW_OK;
    for (UINT done = 0; done < count && error == WW_OK; done++) {
        error = ww_read(drive.disk, (uint32_t)sector + done, data + (size_t)done * drive.shape.page_bytes);
    }
    return told(error);
}

DRESULT disk_write(BYTE number, const BYTE *data, LBA_t sector, UINT count)
{
    if (!has(number, sector, count)) return RES_PARERR;
    ww_error error = WW_OK;
    for (UINT done = 0; done < count && error == WW_OK; done++) {
        error = ww_write(drive.disk, (uint32_t)sector + done, data + (size_t)done * drive.shape.page_bytes);
    }
    return told(error);
}

/* `range` is the first and the last sector. */
static DRESULT trim(BYTE number, const LBA_t *range)
{
    if (range[1] < range[0] || !has(number, range[1], 1)) return RES_PARERR;
    return told(ww_trim(drive.disk, (uint32_t)range[0], (uint32_t)(range[1] - range[0] + 1)));
}

DRESULT disk_ioctl(BYTE number, BYTE command, void *about)
{
    if (!has(number, 0, 0)) return RES_NOTRDY;
    switch (command) {
    case CTRL_SYNC: return told(ww_sync(drive.disk));
    case CTRL_TRIM: return trim(number, about);
    case GET_SECTOR_COUNT: *(LBA_t *)about = drive.pages; return RES_OK;
    case GET_SECTOR_SIZE: *(WORD *)about = (WORD)drive.shape.page_bytes; return RES_OK;
    /* The file system need not align anything. */
    case GET_BLOCK_SIZE: *(DWORD *)about = 1; return RES_OK;
    default: return RES_PARERR;
    }
}
