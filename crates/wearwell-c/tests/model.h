/* What a disk has to hold: each page in versions, of which a cut may leave any from the last one that was synced on. */
#ifndef MODEL_H
#define MODEL_H

#include "chip.h"

enum { MODEL_PAGES = 8192, MODEL_PAGE_BYTES = 4096 };

typedef struct model {
    uint32_t pages;
    uint32_t page_bytes;
    uint32_t synced[MODEL_PAGES];   /* the version that is durable */
    uint32_t written[MODEL_PAGES];  /* the version that was last written without an error, or that a cut has left */
    uint32_t given[MODEL_PAGES];    /* the newest version, also if writing it failed; none comes twice */
    uint32_t trimmed[MODEL_PAGES];  /* the newest version that is zeros; version 0 is */
} model;

void model_make(model *model, uint32_t pages, uint32_t page_bytes);
void model_write(model *model, ww_disk *disk, uint32_t page);
void model_trim(model *model, ww_disk *disk, uint32_t page);
void model_sync(model *model, ww_disk *disk);

/* Reads all pages after a cut, and takes what is there for what was written. */
void model_check(model *model, ww_disk *disk);

#endif
