#include "model.h"

#include <string.h>

static uint8_t data[MODEL_PAGE_BYTES];

void model_make(model *model, uint32_t pages, uint32_t page_bytes)
{
    CHECK(pages <= MODEL_PAGES && page_bytes <= MODEL_PAGE_BYTES);
    memset(model, 0, sizeof *model);
    model->pages = pages;
    model->page_bytes = page_bytes;
}

static void fill(const model *model, uint32_t page, uint32_t version)
{
    memset(data, (int)(page * 31 + version), model->page_bytes);
    memcpy(data, &page, sizeof page);
    memcpy(data + sizeof page, &version, sizeof version);
}

/* The version that is in `data`; 0 for zeros. */
static uint32_t version_in(const model *model, uint32_t page)
{
    static uint8_t found[MODEL_PAGE_BYTES];
    uint32_t version;
    memcpy(found, data, model->page_bytes);
    memcpy(&version, data + sizeof page, sizeof version);
    if (version) {
        fill(model, page, version);
    } else {
        memset(data, 0, model->page_bytes);
    }
    CHECK(memcmp(found, data, model->page_bytes) == 0);
    return version;
}

void model_write(model *model, ww_disk *disk, uint32_t page)
{
    fill(model, page, ++model->given[page]);
    if (ww_write(disk, page, data) == WW_OK) model->written[page] = model->given[page];
}

void model_trim(model *model, ww_disk *disk, uint32_t page)
{
    model->trimmed[page] = ++model->given[page];
    if (ww_trim(disk, page, 1) == WW_OK) model->written[page] = model->given[page];
}

void model_sync(model *model, ww_disk *disk)
{
    if (ww_sync(disk) != WW_OK) return;
    memcpy(model->synced, model->written, sizeof model->synced);
}

void model_check(model *model, ww_disk *disk)
{
    for (uint32_t page = 0; page < model->pages; page++) {
        CHECK(ww_read(disk, page, data) == WW_OK);
        uint32_t version = version_in(model, page), synced = model->synced[page];
        bool may_be_zeros = model->trimmed[page] >= synced;
        CHECK(version ? synced <= version && version <= model->given[page] : may_be_zeros);
        /* What was read lasts. */
        model->synced[page] = model->written[page] = version ? version : model->trimmed[page];
    }
    CHECK(ww_sync(disk) == WW_OK);
}
