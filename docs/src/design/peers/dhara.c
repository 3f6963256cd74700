// How much flash Dhara programs and reads for random writes, to set beside wearwell on a chip of the same size.
//
//     git clone https://github.com/dlbeer/dhara
//     cc -O2 -Idhara -o dhara-random dhara.c dhara/dhara/*.c
//     ./dhara-random SECTORS WRITES EVERY [GC_RATIO]
//
// SECTORS of 2 KiB are written in sequence, then WRITES at random, with a sync after each EVERY of them (0: none).
// The chip is a plain array: 1,024 blocks of 64 pages of 2 KiB, no bad block.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dhara/map.h"

enum { LOG2_PAGE = 11, LOG2_PAGES_PER_BLOCK = 6, BLOCKS = 1024 };
enum { PAGE = 1 << LOG2_PAGE, PAGES = BLOCKS << LOG2_PAGES_PER_BLOCK };

static uint8_t flash[(size_t)PAGES * PAGE];
static uint8_t programmed[PAGES];
static unsigned long programs, reads, erases;

int dhara_nand_is_bad(const struct dhara_nand *n, dhara_block_t b) { return 0; }
void dhara_nand_mark_bad(const struct dhara_nand *n, dhara_block_t b) {}
int dhara_nand_is_free(const struct dhara_nand *n, dhara_page_t p) { return !programmed[p]; }

int dhara_nand_erase(const struct dhara_nand *n, dhara_block_t b, dhara_error_t *err) {
	erases++;
	memset(flash + ((size_t)b << LOG2_PAGES_PER_BLOCK) * PAGE, 0xff, (size_t)PAGE << LOG2_PAGES_PER_BLOCK);
	memset(programmed + (b << LOG2_PAGES_PER_BLOCK), 0, 1 << LOG2_PAGES_PER_BLOCK);
	return 0;
}

int dhara_nand_prog(const struct dhara_nand *n, dhara_page_t p, const uint8_t *data, dhara_error_t *err) {
	if (programmed[p]) abort();
	programs++;
	programmed[p] = 1;
	memcpy(flash + (size_t)p * PAGE, data, PAGE);
	return 0;
}

int dhara_nand_read(const struct dhara_nand *n, dhara_page_t p, size_t at, size_t length, uint8_t *data,
		    dhara_error_t *err) {
	reads++;
	memcpy(data, flash + (size_t)p * PAGE + at, length);
	return 0;
}

int dhara_nand_copy(const struct dhara_nand *n, dhara_page_t from, dhara_page_t to, dhara_error_t *err) {
	return dhara_nand_prog(n, to, flash + (size_t)from * PAGE, err);
}

// SplitMix64: the same writes on every machine.
static uint64_t state = 1;
static uint64_t draw(void) {
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void check(int result, const char *what, unsigned long at, dhara_error_t error) {
	if (result == 0) return;
	fprintf(stderr, "%s %lu: %s\n", what, at, dhara_strerror(error));
	exit(1);
}

int main(int argc, char **argv) {
	if (argc < 4) {
		fprintf(stderr, "usage: dhara-random SECTORS WRITES EVERY [GC_RATIO]\n");
		return 2;
	}
	unsigned long sectors = strtoul(argv[1], 0, 10), writes = strtoul(argv[2], 0, 10), every = strtoul(argv[3], 0, 10);
	int gc_ratio = argc > 4 ? atoi(argv[4]) : 4;
	const struct dhara_nand chip = {LOG2_PAGE, LOG2_PAGES_PER_BLOCK, BLOCKS};
	static uint8_t meta[PAGE], data[PAGE];
	struct dhara_map map;
	dhara_error_t error = DHARA_E_NONE;

	dhara_map_init(&map, &chip, meta, gc_ratio);
	dhara_map_resume(&map, &error);
	printf("capacity %lu of %d pages\n", (unsigned long)dhara_map_capacity(&map), PAGES);
	for (unsigned long at = 0; at < sectors; at++) check(dhara_map_write(&map, at, data, &error), "fill", at, error);

	// Two writes for each sector first, so that what is counted is the steady state.
	for (unsigned long i = 0; i < 2 * sectors; i++)
		check(dhara_map_write(&map, draw() % sectors, data, &error), "age", i, error);
	programs = reads = erases = 0;
	for (unsigned long i = 0; i < writes; i++) {
		check(dhara_map_write(&map, draw() % sectors, data, &error), "write", i, error);
		if (every && (i + 1) % every == 0) check(dhara_map_sync(&map, &error), "sync", i, error);
	}
	printf("a write: %.3f programs, %.3f reads, %.5f erases\n", (double)programs / writes, (double)reads / writes,
	       (double)erases / writes);

	reads = 0;
	for (unsigned long i = 0; i < sectors; i++)
		check(dhara_map_read(&map, draw() % sectors, data, &error), "read", i, error);
	printf("a read: %.3f reads\n", (double)reads / sectors);
	reads = 0;
	dhara_map_init(&map, &chip, meta, gc_ratio);
	check(dhara_map_resume(&map, &error), "resume", 0, error);
	printf("a mount: %lu reads\n", reads);
	return 0;
}
