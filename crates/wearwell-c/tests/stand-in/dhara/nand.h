/* As much of Dhara's driver interface as the adapter and its test need. With Dhara at hand, its own header is used. */
#ifndef STAND_IN_DHARA_NAND_H
#define STAND_IN_DHARA_NAND_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t dhara_page_t;
typedef uint32_t dhara_block_t;
typedef enum { DHARA_E_NONE, DHARA_E_BAD_BLOCK, DHARA_E_ECC } dhara_error_t;

struct dhara_nand {
    uint8_t log2_page_size;
    uint8_t log2_ppb;
    unsigned int num_blocks;
};

int dhara_nand_is_bad(const struct dhara_nand *nand, dhara_block_t block);
void dhara_nand_mark_bad(const struct dhara_nand *nand, dhara_block_t block);
int dhara_nand_erase(const struct dhara_nand *nand, dhara_block_t block, dhara_error_t *error);
int dhara_nand_prog(const struct dhara_nand *nand, dhara_page_t page, const uint8_t *data, dhara_error_t *error);
int dhara_nand_is_free(const struct dhara_nand *nand, dhara_page_t page);
int dhara_nand_read(const struct dhara_nand *nand, dhara_page_t page, size_t offset, size_t length, uint8_t *data,
                    dhara_error_t *error);
int dhara_nand_copy(const struct dhara_nand *nand, dhara_page_t from, dhara_page_t to, dhara_error_t *error);

#endif
