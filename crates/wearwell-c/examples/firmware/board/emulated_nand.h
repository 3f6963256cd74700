/* An SPI NAND in memory, as the driver sees it on the bus: bytes in, bytes out. Its power can be cut. */
#ifndef EMULATED_NAND_H
#define EMULATED_NAND_H

#include "wearwell.h"

enum { NAND_PAGE = 2048, NAND_SPARE = 64, NAND_PAGES_PER_BLOCK = 64, NAND_MOST_BLOCKS = 124 };

typedef struct emulated_nand {
    uint8_t (*cells)[NAND_PAGE + NAND_SPARE];
    uint8_t states[NAND_MOST_BLOCKS * NAND_PAGES_PER_BLOCK];
    uint8_t buffer[NAND_PAGE + NAND_SPARE];
    uint8_t status;
    bool is_enabled;
    bool has_power;
    uint32_t operations;  /* programs and erases so far */
    uint32_t cut_at;      /* the operation in which the power fails; 0: none */
    uint32_t (*draw)(uint32_t bound);
    bool was_misused;     /* a page was programmed twice, or a command was not understood */
} emulated_nand;

/* An erased chip of so many blocks over memory for its cells. */
void emulated_nand_make(emulated_nand *nand, void *cells, uint32_t blocks, uint32_t (*draw)(uint32_t bound));

/* What is on the bus while the chip is selected. */
void emulated_nand_transfer(void *board, const uint8_t *send, size_t sent, const uint8_t *more, size_t more_sent,
                            uint8_t *receive, size_t received);

#endif
