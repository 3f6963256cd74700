// What Dhara takes of a chip, to set beside wearwell on a chip of the same size.
//
//     git clone https://github.com/dlbeer/dhara
//     cc -O2 -Idhara -o dhara-peers dhara.c dhara/dhara/*.c
//     ./dhara-peers SEED [SECTORS]...
//
// Without SECTORS, 80 % and 90 % of what Dhara offers. The streams are those of wearwell's example `paged_peers`: the
// same generator, and the same draws in the same order. The chip is a plain array: 1,024 blocks of 64 pages of 2 KiB,
// no bad block. A cut forgets the map in memory, and leaves the chip as it is.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dhara/map.h"

enum { LOG2_PAGE = 11, LOG2_PAGES_PER_BLOCK = 6, BLOCKS = 1024, GC_RATIO = 4 };
enum { PAGE = 1 << LOG2_PAGE, PAGES = BLOCKS << LOG2_PAGES_PER_BLOCK };
enum { WRITES = 400000, READS = 50000, CUTS = 200, HOT_WRITES = 2000000 };

static const struct dhara_nand chip = {LOG2_PAGE, LOG2_PAGES_PER_BLOCK, BLOCKS};
static uint8_t flash[(size_t)PAGES * PAGE];
static uint8_t programmed[PAGES];
static unsigned long erased[BLOCKS];
// A driver that keeps no table has to read a page to see whether it is free. These reads are counted by themselves.
static unsigned long programs, reads, looks, erases;

int dhara_nand_is_bad(const struct dhara_nand *n, dhara_block_t b) { return 0; }
void dhara_nand_mark_bad(const struct dhara_nand *n, dhara_block_t b) {}

int dhara_nand_is_free(const struct dhara_nand *n, dhara_page_t p) {
	looks++;
	return !programmed[p];
}

int dhara_nand_erase(const struct dhara_nand *n, dhara_block_t b, dhara_error_t *err) {
	erases++;
	erased[b]++;
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

// The disk: there is one at a time.
static struct dhara_map map;
static uint8_t meta[PAGE], data[PAGE];
static uint32_t sectors;
static int is_hot;
static uint64_t state;

// SplitMix64: the same writes on every machine.
static uint32_t below(uint32_t bound) {
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (z >> 32) * bound >> 32;
}

static uint32_t draw_sector(void) { return below(is_hot && below(10) > 0 ? sectors / 10 : sectors); }

static void check(int result, const char *what, dhara_error_t error) {
	if (result == 0) return;
	fprintf(stderr, "%s: %s\n", what, dhara_strerror(error));
	exit(1);
}

static void write_sector(uint32_t sector) {
	dhara_error_t error = DHARA_E_NONE;
	check(dhara_map_write(&map, sector, data, &error), "write", error);
}

static void sync_disk(void) {
	dhara_error_t error = DHARA_E_NONE;
	check(dhara_map_sync(&map, &error), "sync", error);
}

static void read_sector(uint32_t sector) {
	dhara_error_t error = DHARA_E_NONE;
	check(dhara_map_read(&map, sector, data, &error), "read", error);
}

static void mount_disk(void) {
	dhara_error_t error = DHARA_E_NONE;
	dhara_map_init(&map, &chip, meta, GC_RATIO);
	check(dhara_map_resume(&map, &error), "mount", error);
}

// An empty chip, with each sector written once.
static void new_disk(uint32_t count, int hot, uint64_t seed) {
	dhara_error_t ignored;
	memset(flash, 0xff, sizeof flash);
	memset(programmed, 0, sizeof programmed);
	memset(erased, 0, sizeof erased);
	sectors = count, is_hot = hot, state = seed;
	dhara_map_init(&map, &chip, meta, GC_RATIO);
	// There is nothing to resume, which is an error and leaves an empty map.
	dhara_map_resume(&map, &ignored);
	for (uint32_t sector = 0; sector < count; sector++) write_sector(sector);
}

// Returns the most operations of one write, with the sync behind it if there is one.
static unsigned long write_many(unsigned long writes, int syncs) {
	unsigned long most = 0;
	for (unsigned long i = 0; i < writes; i++) {
		unsigned long before = programs + reads + erases;
		write_sector(draw_sector());
		if (syncs) sync_disk();
		unsigned long of_this = programs + reads + erases - before;
		if (of_this > most) most = of_this;
	}
	return most;
}

static void print_writes(const char *stream, unsigned long writes, int syncs) {
	programs = reads = erases = 0;
	unsigned long most = write_many(writes, syncs);
	printf("| programs, reads and erases a write, %s | %.2f, %.2f, %.4f; at most %lu operations |\n", stream,
	       (double)programs / writes, (double)reads / writes, (double)erases / writes, most);
}

// Two writes for each sector first, so that what is counted is nearer to the steady state.
static void print_cost(const char *stream, int syncs) {
	write_many(2 * (unsigned long)sectors, syncs);
	print_writes(stream, WRITES, syncs);
}

static void print_reads(void) {
	reads = 0;
	for (uint32_t i = 0; i < READS; i++) read_sector(below(sectors));
	unsigned long at_random = reads;
	reads = 0;
	for (uint32_t i = 0; i < READS; i++) read_sector(i % sectors);
	printf("| reads a read, random and in order | %.2f, %.2f |\n", (double)at_random / READS, (double)reads / READS);
}

static void print_mounts(void) {
	unsigned long worst = 0, worst_with_looks = 0;
	for (int cut = 0; cut < CUTS; cut++) {
		write_many(below(500), 0);
		reads = looks = 0;
		mount_disk();
		if (reads > worst) worst = reads;
		if (reads + looks > worst_with_looks) worst_with_looks = reads + looks;
	}
	sync_disk();
	reads = looks = 0;
	mount_disk();
	printf("| reads of a mount: clean; the worst of %d behind cuts | %lu; %lu |\n", CUTS, reads, worst);
	printf("| the same, with looks whether a page is free | %lu; %lu |\n", reads + looks, worst_with_looks);
}

static void print_sessions(void) {
	programs = erases = 0;
	for (int cut = 0; cut < CUTS; cut++) {
		write_many(1, 1);
		mount_disk();
	}
	printf("| programs and erases of a session of one page | %.1f, %.2f |\n", (double)programs / CUTS,
	       (double)erases / CUTS);
}

static void print_spread(void) {
	unsigned long least = -1ul, most = 0;
	for (int block = 0; block < BLOCKS; block++) {
		if (erased[block] < least) least = erased[block];
		if (erased[block] > most) most = erased[block];
	}
	printf("| erases differ by then | %lu |\n", most - least);
}

// With nothing live at the tail of the journal, a sync looks for a page to copy until it has found enough.
static void print_in_order(void) {
	for (uint32_t sector = 0; sector < sectors; sector++) write_sector(sector);
	programs = reads = erases = 0;
	sync_disk();
	printf("| operations of a flush behind a second write of each page, in order | %lu |\n",
	       programs + reads + erases);
}

static void measure(uint32_t count, uint64_t seed) {
	new_disk(count, 0, seed);
	printf("\n%lu pages of %lu, seed %lu\n\n| | |\n| --- | --- |\n", (unsigned long)sectors,
	       (unsigned long)dhara_map_capacity(&map), (unsigned long)seed);
	print_cost("random", 0);
	print_reads();
	print_mounts();
	print_sessions();
	new_disk(count, 0, seed);
	print_in_order();
	new_disk(count, 0, seed);
	print_cost("synced after each", 1);
	new_disk(count, 1, seed);
	print_cost("nine tenths to a tenth", 0);
	print_writes("2 million more of them", HOT_WRITES, 0);
	print_spread();
}

int main(int argc, char **argv) {
	if (argc < 2) {
		fprintf(stderr, "usage: dhara-peers SEED [SECTORS]...\n");
		return 2;
	}
	uint64_t seed = strtoull(argv[1], 0, 10);
	if (argc == 2) {
		measure(38259, seed);
		measure(43041, seed);
	}
	for (int i = 2; i < argc; i++) measure(strtoul(argv[i], 0, 10), seed);
	return 0;
}
