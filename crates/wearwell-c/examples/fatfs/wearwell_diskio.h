/* FatFs on a disk of wearwell. MIT or Apache-2.0.
 *
 * Compile wearwell_diskio.c along with FatFs, in place of its diskio.c. A sector is a page of the disk: in ffconf.h,
 * FF_MAX_SS has to be at least that, and FF_USE_TRIM should be 1. Drive 0 is the disk. */
#ifndef WEARWELL_DISKIO_H
#define WEARWELL_DISKIO_H

#include "wearwell.h"

/* Says what disk_initialize mounts, before f_mount or f_mkfs. The arena stays in use. */
void wearwell_diskio_use(const ww_driver *driver, uint32_t pages, void *arena, size_t arena_bytes);

/* Unmounts it, behind f_unmount. */
ww_error wearwell_diskio_end(void);

#endif
