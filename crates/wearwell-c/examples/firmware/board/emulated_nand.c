#include "emulated_nand.h"

#include <string.h>

enum { ERASED, GOOD, TORN };
enum { UNCORRECTABLE = 0x20, NO_STATUS = 0xFF };

void emulated_nand_make(emulated_nand *nand, void *cells, uint32_t blocks, uint32_t (*draw)(uint32_t bound))
{
    memset(nand, 0, sizeof *nand);
    nand->cells = cells;
    nand->draw = draw;
    nand->has_power = true;
    memset(cells, 0xFF, sizeof *nand->cells * blocks * NAND_PAGES_PER_BLOCK);
}

/* Counts a program or an erase. True if the power fails in it. */
static bool is_cut(emulated_nand *nand)
{
    nand->operations++;
    nand->is_enabled = false;
    if (nand->operations != nand->cut_at) return false;
    nand->has_power = false;
    return true;
}

static void program(emulated_nand *nand, uint32_t page)
{
    if (!nand->is_enabled || nand->states[page] != ERASED) nand->was_misused = true;
    /* Cut, a page is programmed, torn, or still erased. */
    uint32_t left = is_cut(nand) ? nand->draw(3) : 0;
    if (left == 2) return;
    memcpy(nand->cells[page], nand->buffer, sizeof nand->buffer);
    nand->states[page] = left == 1 ? TORN : GOOD;
}

static void erase(emulated_nand *nand, uint32_t first)
{
    if (!nand->is_enabled) nand->was_misused = true;
    /* Cut, a block is erased, torn, or as it was. */
    uint32_t left = is_cut(nand) ? nand->draw(3) : 0;
    if (left == 2) return;
    memset(nand->cells[first], 0xFF, sizeof *nand->cells * NAND_PAGES_PER_BLOCK);
    memset(nand->states + first, left == 1 ? TORN : ERASED, NAND_PAGES_PER_BLOCK);
}

void emulated_nand_transfer(void *board, const uint8_t *send, size_t sent, const uint8_t *more, size_t more_sent,
                            uint8_t *receive, size_t received)
{
    emulated_nand *nand = board;
    if (!nand->has_power) {
        memset(receive, NO_STATUS, received);
        return;
    }
    uint32_t page = sent == 4 ? (uint32_t)(send[1] << 16 | send[2] << 8 | send[3]) : 0;
    uint32_t column = sent >= 3 ? (uint32_t)(send[1] << 8 | send[2]) : 0;
    switch (send[0]) {
    case 0x0F: *receive = nand->status; break;
    case 0x1F: break;
    case 0x06: nand->is_enabled = true; break;
    case 0x13:
        memcpy(nand->buffer, nand->cells[page], sizeof nand->buffer);
        nand->status = nand->states[page] == TORN ? UNCORRECTABLE : 0;
        break;
    case 0x03: memcpy(receive, nand->buffer + column, received); break;
    case 0x02: memset(nand->buffer, 0xFF, sizeof nand->buffer); /* fall through */
    case 0x84: memcpy(nand->buffer + column, more, more_sent); break;
    case 0x10: program(nand, page); break;
    case 0xD8: erase(nand, page); break;
    default: nand->was_misused = true; break;
    }
}
