#include "spi_nand.h"

enum {
    GET_FEATURE = 0x0F,
    SET_FEATURE = 0x1F,
    WRITE_ENABLE = 0x06,
    PAGE_READ = 0x13,       /* from the array to the chip's buffer */
    READ_BUFFER = 0x03,
    LOAD = 0x02,            /* into the buffer, the rest of which becomes ones */
    LOAD_MORE = 0x84,       /* into the buffer, the rest of which stays */
    PROGRAM = 0x10,         /* from the buffer to the array */
    BLOCK_ERASE = 0xD8,
};

enum { PROTECTION = 0xA0, CONFIGURATION = 0xB0, STATUS = 0xC0 };
enum { CODE_ON = 0x10 };
enum { BUSY = 0x01, ERASE_FAILED = 0x04, PROGRAM_FAILED = 0x08, CODE = 0x30 };
enum { CODE_UNCORRECTABLE = 0x20, CODE_AT_ITS_LIMIT = 0x30 };

enum { DEAD = 0xFF };

static void send(spi_nand *nand, const uint8_t *command, size_t bytes)
{
    nand->transfer(nand->board, command, bytes, NULL, 0, NULL, 0);
}

static void set_feature(spi_nand *nand, uint8_t address, uint8_t value)
{
    const uint8_t command[] = {SET_FEATURE, address, value};
    send(nand, command, sizeof command);
}

/* Waits until the chip is ready, and returns its status. DEAD if it never is. */
static uint8_t finished(spi_nand *nand)
{
    const uint8_t command[] = {GET_FEATURE, STATUS};
    for (uint32_t asked = 0; asked < nand->patience; asked++) {
        uint8_t status = DEAD;
        nand->transfer(nand->board, command, sizeof command, NULL, 0, &status, 1);
        if (!(status & BUSY)) return status;
    }
    return DEAD;
}

/* Sends a command that works on a page, or on the block that it is in. */
static uint8_t on_page(spi_nand *nand, uint8_t command, uint32_t page)
{
    const uint8_t bytes[] = {command, (uint8_t)(page >> 16), (uint8_t)(page >> 8), (uint8_t)page};
    send(nand, bytes, sizeof bytes);
    return finished(nand);
}

static void enable_write(spi_nand *nand)
{
    const uint8_t command = WRITE_ENABLE;
    send(nand, &command, 1);
}

/* Fills the chip's buffer from a page. */
static int to_buffer(spi_nand *nand, uint32_t page)
{
    uint8_t status = on_page(nand, PAGE_READ, page);
    if (status == DEAD) return WW_NAND_UNRESPONSIVE;
    switch (status & CODE) {
    case CODE_UNCORRECTABLE: return WW_NAND_UNCORRECTABLE;
    case CODE_AT_ITS_LIMIT: return WW_NAND_REFRESH;
    default: return WW_NAND_OK;
    }
}

static void from_buffer(spi_nand *nand, uint32_t column, uint8_t *data, size_t bytes)
{
    const uint8_t command[] = {READ_BUFFER, (uint8_t)(column >> 8), (uint8_t)column, 0};
    nand->transfer(nand->board, command, sizeof command, NULL, 0, data, bytes);
}

static void load(spi_nand *nand, uint8_t with, uint32_t column, const uint8_t *data, size_t bytes)
{
    const uint8_t command[] = {with, (uint8_t)(column >> 8), (uint8_t)column};
    nand->transfer(nand->board, command, sizeof command, data, bytes, NULL, 0);
}

/* Programs a page from the chip's buffer. */
static int program_buffer(spi_nand *nand, uint32_t page)
{
    enable_write(nand);
    uint8_t status = on_page(nand, PROGRAM, page);
    if (status == DEAD) return WW_NAND_UNRESPONSIVE;
    return status & PROGRAM_FAILED ? WW_NAND_PROGRAM_FAILED : WW_NAND_OK;
}

static int read(void *context, uint32_t page, uint8_t *data, uint8_t *spare)
{
    spi_nand *nand = context;
    int result = to_buffer(nand, page);
    if (result < 0) return result;
    if (data) from_buffer(nand, 0, data, nand->geometry.page_bytes);
    if (spare) from_buffer(nand, nand->spare_at, spare, nand->geometry.spare_bytes);
    return result;
}

static int program(void *context, uint32_t page, const uint8_t *data, const uint8_t *spare, uint32_t spare_bytes)
{
    spi_nand *nand = context;
    load(nand, LOAD, 0, data, nand->geometry.page_bytes);
    if (spare_bytes > 0) load(nand, LOAD_MORE, nand->spare_at, spare, spare_bytes);
    return program_buffer(nand, page);
}

/* The page need not leave the chip: its code corrects what is in the buffer. */
static int copy(void *context, uint32_t from, uint32_t to, uint8_t *spare)
{
    spi_nand *nand = context;
    int read = to_buffer(nand, from);
    if (read < 0) return read;
    if (spare) from_buffer(nand, nand->spare_at, spare, nand->geometry.spare_bytes);
    int programmed = program_buffer(nand, to);
    return programmed < 0 ? programmed : read;
}

static int erase(void *context, uint32_t block)
{
    spi_nand *nand = context;
    enable_write(nand);
    uint8_t status = on_page(nand, BLOCK_ERASE, block * nand->geometry.pages_per_block);
    if (status == DEAD) return WW_NAND_UNRESPONSIVE;
    return status & ERASE_FAILED ? WW_NAND_ERASE_FAILED : WW_NAND_OK;
}

/* The mark is the first spare byte of the block's first page. */
static int is_bad(void *context, uint32_t block)
{
    spi_nand *nand = context;
    uint8_t mark = 0xFF;
    if (to_buffer(nand, block * nand->geometry.pages_per_block) == WW_NAND_UNRESPONSIVE) return WW_NAND_UNRESPONSIVE;
    from_buffer(nand, nand->geometry.page_bytes, &mark, 1);
    return mark == 0xFF ? 0 : 1;
}

static int mark_bad(void *context, uint32_t block)
{
    spi_nand *nand = context;
    const uint8_t mark = 0;
    load(nand, LOAD, nand->geometry.page_bytes, &mark, 1);
    return program_buffer(nand, block * nand->geometry.pages_per_block) == WW_NAND_UNRESPONSIVE ? WW_NAND_UNRESPONSIVE
                                                                                            : WW_NAND_OK;
}

bool spi_nand_start(spi_nand *nand)
{
    if (finished(nand) == DEAD) return false;
    set_feature(nand, PROTECTION, 0);
    set_feature(nand, CONFIGURATION, CODE_ON);
    return true;
}

ww_driver spi_nand_driver(spi_nand *nand)
{
    ww_driver driver = {
        .context = nand,
        .geometry = nand->geometry,
        .read = read,
        .program = program,
        .copy = copy,
        .erase = erase,
        .is_bad = is_bad,
        .mark_bad = mark_bad,
    };
    return driver;
}
