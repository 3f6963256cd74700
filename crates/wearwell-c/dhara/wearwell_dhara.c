#include "wearwell_dhara.h"

#include "dhara/nand.h"

/* What a call of the driver that failed means. `on_bad_block` is what it means if the chip refused. */
static int code(int result, dhara_error_t error, int on_bad_block)
{
    if (result >= 0) return WW_NAND_OK;
    if (error == DHARA_E_ECC) return WW_NAND_UNCORRECTABLE;
    return error == DHARA_E_BAD_BLOCK ? on_bad_block : WW_NAND_UNRESPONSIVE;
}

static int read_page(void *context, uint32_t page, uint8_t *data, uint8_t *spare)
{
    const struct dhara_nand *nand = context;
    const size_t bytes = (size_t)1 << nand->log2_page_size;
    dhara_error_t error = DHARA_E_NONE;
    (void)spare;
    if (!data) return WW_NAND_OK;
    int result = dhara_nand_read(nand, page, 0, bytes, data, &error);
    result = code(result, error, WW_NAND_UNRESPONSIVE);
    /* Dhara asks whether a page is free before it reads it, so a driver may call an erased page uncorrectable. */
    if (result == WW_NAND_UNCORRECTABLE && dhara_nand_is_free(nand, page)) {
        for (size_t i = 0; i < bytes; i++) data[i] = 0xFF;
        return WW_NAND_OK;
    }
    return result;
}

static int program_page(void *context, uint32_t page, const uint8_t *data, const uint8_t *spare, uint32_t spare_bytes)
{
    dhara_error_t error = DHARA_E_NONE;
    (void)spare;
    (void)spare_bytes;
    int result = dhara_nand_prog(context, page, data, &error);
    return code(result, error, WW_NAND_PROGRAM_FAILED);
}

static int copy_page(void *context, uint32_t from, uint32_t to, uint8_t *spare)
{
    dhara_error_t error = DHARA_E_NONE;
    (void)spare;
    int result = dhara_nand_copy(context, from, to, &error);
    return code(result, error, WW_NAND_PROGRAM_FAILED);
}

static int erase_block(void *context, uint32_t block)
{
    dhara_error_t error = DHARA_E_NONE;
    int result = dhara_nand_erase(context, block, &error);
    return code(result, error, WW_NAND_ERASE_FAILED);
}

static int is_bad(void *context, uint32_t block)
{
    return dhara_nand_is_bad(context, block) ? 1 : 0;
}

static int mark_bad(void *context, uint32_t block)
{
    dhara_nand_mark_bad(context, block);
    return WW_NAND_OK;
}

ww_driver ww_dhara_driver(const struct dhara_nand *nand)
{
    ww_driver driver = {
        .context = (void *)nand,
        .geometry = {
            .page_bytes = (uint32_t)1 << nand->log2_page_size,
            .spare_bytes = 0,
            .pages_per_block = (uint32_t)1 << nand->log2_ppb,
            .blocks = nand->num_blocks,
            .dies = 1,
            .paired_pages = 1,
        },
        .read = read_page,
        .program = program_page,
        .copy = copy_page,
        .erase = erase_block,
        .is_bad = is_bad,
        .mark_bad = mark_bad,
    };
    return driver;
}
