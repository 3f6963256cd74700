/* A NAND chip in an array, whose power can be cut at any operation. */
#ifndef CHIP_H
#define CHIP_H

#include "wearwell.h"

/* Fails the test: says where, and with which seed. */
#define CHECK(is_so) check((is_so), #is_so, __FILE__, __LINE__)
void check(bool is_so, const char *text, const char *file, int line);

/* The test's one generator of random numbers: begins with a seed; gives the next number below `bound`. */
void draw_from(uint64_t seed);
uint32_t draw(uint32_t bound);

typedef struct chip {
    ww_geometry geometry;
    uint8_t *cells;          /* pages with their spare */
    uint8_t *states;         /* a `page_state` for each page */
    uint32_t operations;     /* programs and erases so far */
    uint32_t cut_at;         /* the operation in which the power fails; 0: none */
    bool has_power;
    uint32_t forgets_every;  /* breaks promises: each so many programs are not done; 0: none */
    void (*on_program)(void *argument);
    void *argument;
} chip;

typedef enum page_state { PAGE_ERASED, PAGE_GOOD, PAGE_TORN } page_state;

void chip_make(chip *chip, ww_geometry geometry);
void chip_free(chip *chip);
ww_driver chip_driver(chip *chip);

#endif
