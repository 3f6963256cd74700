/* A driver for SPI NAND with the command set that nearly all such chips share, and an error-correcting code of their own.
 * Copy it, fill in the numbers of your chip's data sheet, and supply `transfer`. */
#ifndef SPI_NAND_H
#define SPI_NAND_H

#include "wearwell.h"

typedef struct spi_nand {
    /* Selects the chip, sends `sent` bytes, receives `received` bytes, and lets go of it. */
    void (*transfer)(void *board, const uint8_t *send, size_t sent, const uint8_t *more, size_t more_sent,
                     uint8_t *receive, size_t received);
    void *board;
    /* The chip. `spare_bytes` is how many bytes from column `spare_at` on the chip's code covers and leaves free. */
    ww_geometry geometry;
    uint16_t spare_at;
    /* Status is asked for so often before the chip counts as dead. */
    uint32_t patience;
} spi_nand;

/* Unlocks all blocks and turns the error-correcting code on. False if the chip does not answer. */
bool spi_nand_start(spi_nand *nand);

/* A driver for ww_format and ww_mount. */
ww_driver spi_nand_driver(spi_nand *nand);

#endif
