/* Calls all that the library has, so that the linker keeps it: what is linked is the library's size. With ONLY_IN_MEMORY
 * or ONLY_PAGED it opens disks with their map there, and no others. */
#include "wearwell.h"

void ww_panicked(const char *file, size_t file_bytes, uint32_t line)
{
    (void)file;
    (void)file_bytes;
    (void)line;
}

int main(void)
{
    ww_driver driver = {0};
    ww_disk *disk = 0;
    ww_disk_stats stats;
    uint8_t *memory = (uint8_t *)0x20000000;
    int done = 0;
#ifndef ONLY_PAGED
    done += ww_arena_bytes(&driver.geometry, 0) > 0;
    done += ww_format(&driver, 0, memory, 0, &disk) + ww_mount(&driver, 0, memory, 0, &disk, NULL);
#endif
#ifndef ONLY_IN_MEMORY
    done += ww_arena_bytes_paged(&driver.geometry, 0, 0) > 0;
    done += ww_format_paged(&driver, 0, 0, memory, 0, &disk) + ww_mount_paged(&driver, 0, 0, memory, 0, &disk, NULL);
#endif
    done += ww_read(disk, 0, memory) + ww_write(disk, 0, memory) + ww_trim(disk, 0, 1) + ww_sync(disk);
    done += ww_clean(disk, 1, NULL) + ww_stats(disk, &stats) + ww_unmount(disk);
    return ww_error_text(done)[0];
}
