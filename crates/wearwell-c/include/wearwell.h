/* wearwell: a disk on raw NAND flash. MIT or Apache-2.0.
 *
 * Made by cbindgen from the crate wearwell-c. Do not edit: cargo run -p wearwell-header -- --write
 *
 * Calls must not overlap, also those on different disks. Nothing else is static: each disk lies in its own arena. */


#ifndef WEARWELL_H
#define WEARWELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* The program's own function. The library calls it if it finds a defect in itself, with the place in its source: a text
 * of `file_bytes` bytes, and a line. Reset there. If it returns, the library stays in an endless loop. */
#ifdef __cplusplus
extern "C" {
#endif
void ww_panicked(const char *file, size_t file_bytes, uint32_t line);
#ifdef __cplusplus
}
#endif


/**
 * The callback succeeded.
 */
#define WW_NAND_OK 0

/**
 * `read`, `copy`: the data is good, but should be moved before it becomes unreadable.
 */
#define WW_NAND_REFRESH 1

/**
 * `read`, `copy`: more bits are wrong than the code can correct. Nothing was programmed.
 */
#define WW_NAND_UNCORRECTABLE -1

/**
 * `program`, `copy`: the chip says that the program failed.
 */
#define WW_NAND_PROGRAM_FAILED -2

/**
 * `erase`: the chip says that the erase failed.
 */
#define WW_NAND_ERASE_FAILED -3

/**
 * The chip does not answer. The library takes any number that is not listed here for this one.
 */
#define WW_NAND_UNRESPONSIVE -4

/**
 * The result of a call. After any error, everything that could be read can still be read.
 */
typedef enum ww_error {
    /**
     * Success.
     */
    WW_OK = 0,
    /**
     * A pointer is null, or pages lie outside the disk.
     */
    WW_BAD_ARGUMENT,
    /**
     * The chip's shape is not supported: see `ww_geometry`.
     */
    WW_BAD_GEOMETRY,
    /**
     * The pages do not fit on the chip, which needs a reserve for cleaning.
     */
    WW_TOO_LARGE,
    /**
     * The arena is too small: see `ww_arena_bytes`. A chip with content that no power cut leaves may need even more.
     */
    WW_ARENA_TOO_SMALL,
    /**
     * The chip holds data that this library did not write. Nothing was changed.
     */
    WW_FOREIGN,
    /**
     * The chip was formatted for another number of pages. Nothing was changed.
     */
    WW_OTHER_CAPACITY,
    /**
     * The chip was formatted by another version. Nothing was changed.
     */
    WW_OTHER_VERSION,
    /**
     * The chip lost the page.
     */
    WW_UNREADABLE,
    /**
     * So many blocks have gone bad that the disk is read-only now.
     */
    WW_WORN_OUT,
    /**
     * The driver failed, and the call could not continue.
     */
    WW_DRIVER_FAILED,
    /**
     * The chip was formatted with its map on flash (`ww_format_paged`) and is mounted without, or the other way round.
     * Nothing was changed.
     */
    WW_OTHER_MAP,
} ww_error;

/**
 * A disk. It lies at the front of its arena.
 */
typedef struct ww_disk ww_disk;

/**
 * The shape of a NAND chip.
 */
typedef struct ww_geometry {
    /**
     * Bytes of data in a page: a power of two, from 512 to 65536.
     */
    uint32_t page_bytes;
    /**
     * Bytes of a page's spare area that the error-correcting code covers and leaves free. With fewer than 16, the disk
     * keeps its records in pages of their own; with a map on flash, or if `paired_pages` is not 1, a page of the disk
     * is 512 bytes smaller than a page of the chip.
     */
    uint32_t spare_bytes;
    /**
     * Pages in a block.
     */
    uint32_t pages_per_block;
    /**
     * Blocks of the chip.
     */
    uint32_t blocks;
    /**
     * Dies. Each has the same number of blocks, and the blocks of one follow those of another. Usually 1.
     */
    uint32_t dies;
    /**
     * Pages that share cells: 1 for SLC, 2 for MLC, 3 for TLC. If it is too low, a power cut can destroy old data.
     */
    uint32_t paired_pages;
} ww_geometry;

/**
 * A driver: the chip's shape, and the functions that the library calls. Every callback gets `context` as its first
 * argument, and returns `WW_NAND_OK` or another of the numbers above. Its effect is durable when it returns. The
 * number of a page is `block * pages_per_block + page in block`.
 *
 * A page is programmed once between two erases of its block, in ascending order. A page that was not programmed since
 * the erase reads as all ones. The struct is copied; `context` is not.
 */
typedef struct ww_driver {
    /**
     * The driver's own data. May be null.
     */
    void *context;
    /**
     * The chip's shape.
     */
    struct ww_geometry geometry;
    /**
     * Reads a page: `page_bytes` into `data`, and `spare_bytes` into `spare`. Either is null if it is not needed.
     */
    int (*read)(void *context, uint32_t page, uint8_t *data, uint8_t *spare);
    /**
     * Programs a page with `page_bytes` of `data`, and with `spare_bytes` of `spare`. The rest of the spare stays
     * ones.
     */
    int (*program)(void *context, uint32_t page, const uint8_t *data, const uint8_t *spare, uint32_t spare_bytes);
    /**
     * Programs page `to` with the data and spare of page `from`, inside the chip. Reads the spare into `spare`, which
     * may be null. If this callback is null, pages are copied by `read` and `program`.
     */
    int (*copy)(void *context, uint32_t from, uint32_t to, uint8_t *spare);
    /**
     * Erases a block.
     */
    int (*erase)(void *context, uint32_t block);
    /**
     * 1 if the block was bad from the factory or has been marked bad; 0 if not.
     */
    int (*is_bad)(void *context, uint32_t block);
    /**
     * Marks a block bad, durably.
     */
    int (*mark_bad)(void *context, uint32_t block);
} ww_driver;

/**
 * What a mount found.
 */
typedef struct ww_mount_report {
    /**
     * The disk was unmounted before; there was no power cut.
     */
    bool clean;
    /**
     * The chip reads as erased throughout. It is mounted as an empty disk.
     */
    bool never_formatted;
    /**
     * The chip is worn out: the disk can only be read.
     */
    bool read_only;
    /**
     * Pages that were copied because a power cut may have hit them.
     */
    uint32_t rescued_pages;
} ww_mount_report;

/**
 * Properties of a disk, and its counters since it was formatted or mounted.
 */
typedef struct ww_disk_stats {
    /**
     * Bytes in a page of the disk.
     */
    uint32_t page_bytes;
    /**
     * Pages of the disk.
     */
    uint32_t pages;
    /**
     * Pages that were written.
     */
    uint64_t written_pages;
    /**
     * All pages that were programmed, for any reason. Divided by `written_pages`, it is the write amplification.
     */
    uint64_t programmed_pages;
    /**
     * Pages that were read.
     */
    uint64_t read_pages;
    /**
     * Blocks that were erased.
     */
    uint64_t erases;
    /**
     * Blocks that went bad.
     */
    uint64_t retired_blocks;
    /**
     * Pages whose content was lost on the chip.
     */
    uint64_t lost_pages;
    /**
     * The most bytes of the arena in use at any time, during the mount and since.
     */
    size_t arena_peak_bytes;
} ww_disk_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The meaning of a `ww_error` in words. Never null.
 */
const char *ww_error_text(int error);

/**
 * Bytes that an arena needs for a disk of `logical_pages` pages on a chip of this shape, at any address. 0 if the
 * shape is not supported, or if the pages do not fit.
 *
 * The caller must ensure:
 * `geometry` is null or valid.
 */
size_t ww_arena_bytes(const struct ww_geometry *geometry, uint32_t logical_pages);

/**
 * As `ww_arena_bytes`, for `ww_format_paged` and `ww_mount_paged`.
 *
 * The caller must ensure:
 * `geometry` is null or valid.
 */
size_t ww_arena_bytes_paged(const struct ww_geometry *geometry, uint32_t logical_pages, uint32_t cache_entries);

/**
 * Formats a chip as an empty disk of `logical_pages` pages. Everything on the chip is erased. Only the erase counts of
 * the blocks are kept, if an earlier disk recorded them.
 *
 * `arena` belongs to the disk until it is unmounted or no longer used. On success `*disk` is the disk.
 *
 * The caller must ensure:
 * `driver` and `disk` are null or valid. The callbacks meet the contract of `ww_driver`. `arena` is null or
 * `arena_bytes` bytes that nobody else uses. No other call is running, except one whose callback calls this function.
 */
enum ww_error ww_format(const struct ww_driver *driver,
                        uint32_t logical_pages,
                        void *arena,
                        size_t arena_bytes,
                        struct ww_disk **disk);

/**
 * As `ww_format`, but keeps the map on flash, and only `cache_entries` entries of it in memory, at least 2. Such a
 * disk needs a chip whose `paired_pages` is 1, and much less memory. It is mounted with `ww_mount_paged`. Everything
 * else is as with any disk.
 *
 * The caller must ensure:
 * As for `ww_format`.
 */
enum ww_error ww_format_paged(const struct ww_driver *driver,
                              uint32_t logical_pages,
                              uint32_t cache_entries,
                              void *arena,
                              size_t arena_bytes,
                              struct ww_disk **disk);

/**
 * Mounts a disk that was formatted with the same number of pages, also after power cuts. `report` may be null.
 * Everything else is as for `ww_format`.
 *
 * The caller must ensure:
 * As for `ww_format`; `report` is null or valid.
 */
enum ww_error ww_mount(const struct ww_driver *driver,
                       uint32_t logical_pages,
                       void *arena,
                       size_t arena_bytes,
                       struct ww_disk **disk,
                       struct ww_mount_report *report);

/**
 * Mounts a disk that `ww_format_paged` made with the same number of pages, also after power cuts. After a cut the
 * cache must have as many entries as before, or more. `clean` of the report is true only behind an unmount that left a
 * checkpoint: the first thousand do. Everything else is as for `ww_mount`.
 *
 * The caller must ensure:
 * As for `ww_mount`.
 */
enum ww_error ww_mount_paged(const struct ww_driver *driver,
                             uint32_t logical_pages,
                             uint32_t cache_entries,
                             void *arena,
                             size_t arena_bytes,
                             struct ww_disk **disk,
                             struct ww_mount_report *report);

/**
 * Reads page `page` into `data`, which is as long as a page of the disk. A page that was never written, or was
 * trimmed, is zeros.
 *
 * The caller must ensure:
 * `disk` is null or mounted; `data` is null or as long as a page. No other call is running, except one whose callback
 * calls this function.
 */
enum ww_error ww_read(struct ww_disk *disk, uint32_t page, void *data);

/**
 * Writes page `page` from `data`, which is as long as a page of the disk. The page is durable from the next `ww_sync`
 * on.
 *
 * The caller must ensure:
 * As for `ww_read`.
 */
enum ww_error ww_write(struct ww_disk *disk, uint32_t page, const void *data);

/**
 * Discards `count` pages from `first` on. They read as zeros. This is durable from the next `ww_sync` on.
 *
 * The caller must ensure:
 * `disk` is null or mounted. No other call is running, except one whose callback calls this function.
 */
enum ww_error ww_trim(struct ww_disk *disk, uint32_t first, uint32_t count);

/**
 * Makes everything durable that was written or trimmed.
 *
 * The caller must ensure:
 * As for `ww_trim`.
 */
enum ww_error ww_sync(struct ww_disk *disk);

/**
 * Cleans in idle time, so that later writes take less time. Moves at most `budget_pages` pages. `*more` says whether
 * there is more to do; it may be null.
 *
 * The caller must ensure:
 * As for `ww_trim`; `more` is null or valid.
 */
enum ww_error ww_clean(struct ww_disk *disk, uint32_t budget_pages, bool *more);

/**
 * Syncs, and writes a mark by which the next mount knows that there was no power cut. Whether it succeeds or not, the
 * disk ends, and its arena is free for other use.
 *
 * The caller must ensure:
 * As for `ww_trim`. The disk is not used again.
 */
enum ww_error ww_unmount(struct ww_disk *disk);

/**
 * Writes the properties and counters of a disk to `*stats`.
 *
 * The caller must ensure:
 * `disk` is null or mounted; `stats` is null or valid.
 */
enum ww_error ww_stats(const struct ww_disk *disk, struct ww_disk_stats *stats);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WEARWELL_H */
