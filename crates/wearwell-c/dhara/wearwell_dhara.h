/* wearwell over a driver that was written for Dhara. MIT or Apache-2.0.
 *
 * Compile wearwell_dhara.c along with your driver, with Dhara's headers on the include path. Nothing else of Dhara is
 * needed. The driver need not be changed.
 *
 * Such a driver has no spare bytes to offer. A disk with its map in memory keeps its records in pages of their own. With
 * its map on flash, a page of the disk is 512 bytes smaller than one of the chip. */
#ifndef WEARWELL_DHARA_H
#define WEARWELL_DHARA_H

#include "wearwell.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dhara_nand;

/* A driver for ww_format and ww_mount. `nand` has to outlive the disk. */
ww_driver ww_dhara_driver(const struct dhara_nand *nand);

#ifdef __cplusplus
}
#endif

#endif
