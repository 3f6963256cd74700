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
 * A callback did what it should.
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
 * The chip does not answer. Any other number that is not listed here means the same to the library as this one.
 */
#define WW_NAND_UNRESPONSIVE -4

/**
 * How a call ended. After any error all that could be read can still be read.
 */
typedef enum ww_error {
    /**
     * It did what it should.
     */
    WW_OK = 0,
    /**
     * A pointer is null, or pages lie outside the disk.
     */
    WW_BAD_ARGUMENT,
    /**
     * The chip's shape does not suit: see `ww_geometry`.
     */
    WW_BAD_GEOMETRY,
    /**
     * So many pages do not fit on the chip. There has to be a reserve for cleaning.
     */
    WW_TOO_LARGE,
    /**
     * The arena is too small: see `ww_arena_bytes`. To mount a chip whose content no power cut left may take even more.
     */
    WW_ARENA_TOO_SMALL,
    /**
     * The chip holds something, and nothing of this library's. Nothing was changed.
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
     * The driver failed, and the call could not go on without.
     */
    WW_DRIVER_FAILED,
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
     * Bytes beside a page's data that the error-correcting code covers and leaves free. With fewer than 16, a page of
     * the disk is 512 bytes smaller than one of the chip.
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
     * Dies, which have equally many blocks, one after the other. Mostly 1.
     */
    uint32_t dies;
    /**
     * Pages that share cells: 1 for SLC, 2 for MLC, 3 for TLC. If it is too low, a power cut can destroy old data.
     */
    uint32_t paired_pages;
} ww_geometry;

/**
 * A driver: the chip's shape, and what the library calls. All callbacks get `context` first, and return `WW_NAND_OK` or
 * another of the numbers above. What one has done is durable when it returns. A page is numbered
 * `block * pages_per_block + page in block`.
 *
 * A page is programmed once between two erases of its block, in ascending order. One that was not programmed since the
 * erase reads as all ones. The struct is copied; `context` is not.
 */
typedef struct ww_driver {
    /**
     * Yours. May be null.
     */
    void *context;
    /**
     * The chip's shape.
     */
    struct ww_geometry geometry;
    /**
     * Reads a page: `page_bytes` into `data`, and `spare_bytes` into `spare`. Either is null if it is not wanted.
     */
    int (*read)(void *context, uint32_t page, uint8_t *data, uint8_t *spare);
    /**
     * Programs a page with `page_bytes` of `data`, and with `spare_bytes` of `spare`. The rest of the spare stays ones.
     */
    int (*program)(void *context, uint32_t page, const uint8_t *data, const uint8_t *spare, uint32_t spare_bytes);
    /**
     * Programs page `to` with data and spare of page `from`, within the chip, and reads the spare into `spare`, which may
     * be null. If this callback is null, pages are copied by `read` and `program`.
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
     * The disk had been unmounted; nothing was cut.
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
     * Pages that a power cut may have hit, and that were copied.
     */
    uint32_t rescued_pages;
} ww_mount_report;

/**
 * What a disk is, and what it did since it was formatted or mounted.
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
     * Pages that were programmed in all, for whatever reason: over `written_pages`, the write amplification.
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
     * Bytes of the arena that were in use at most, during the mount and since.
     */
    size_t arena_peak_bytes;
} ww_disk_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Says in words what a `ww_error` means. Never null.
 */
const char *ww_error_text(int error);

/**
 * Bytes that an arena needs for a disk of `logical_pages` pages on a chip of this shape, wherever the arena begins.
 * 0 if the shape does not suit, or if so many pages do not fit.
 *
 * The caller sees to this:
 * `geometry` is null or valid.
 */
size_t ww_arena_bytes(const struct ww_geometry *geometry, uint32_t logical_pages);

/**
 * Makes an empty disk of `logical_pages` pages of a chip. Everything on the chip is erased, but for how often its
 * blocks were erased, if an earlier disk knew that.
 *
 * `arena` belongs to the disk until it is unmounted or not used any more. On success `*disk` is the disk.
 *
 * The caller sees to this:
 * `driver` and `disk` are null or valid; the callbacks are as `ww_driver` says; `arena` is null or `arena_bytes` bytes
 * that nobody else uses. No other call is under way, but the one whose callback calls this.
 */
enum ww_error ww_format(const struct ww_driver *driver,
                        uint32_t logical_pages,
                        void *arena,
                        size_t arena_bytes,
                        struct ww_disk **disk);

/**
 * Mounts a disk that was formatted with the same number of pages, whatever happened to it since. `report` may be null.
 * All else is as for `ww_format`.
 *
 * The caller sees to this:
 * As for `ww_format`; `report` is null or valid.
 */
enum ww_error ww_mount(const struct ww_driver *driver,
                       uint32_t logical_pages,
                       void *arena,
                       size_t arena_bytes,
                       struct ww_disk **disk,
                       struct ww_mount_report *report);

/**
 * Reads page `page` into `data`, a page of the disk long. One that was never written, or was trimmed, is zeros.
 *
 * The caller sees to this:
 * `disk` is null or mounted; `data` is null or as long as a page. No other call is under way, but the one whose
 * callback calls this.
 */
enum ww_error ww_read(struct ww_disk *disk, uint32_t page, void *data);

/**
 * Writes page `page` from `data`, a page of the disk long. It is durable from the next `ww_sync` on.
 *
 * The caller sees to this:
 * As for `ww_read`.
 */
enum ww_error ww_write(struct ww_disk *disk, uint32_t page, const void *data);

/**
 * Says that the content of `count` pages from `first` on is no longer needed. They read as zeros. Durable from the next
 * `ww_sync` on.
 *
 * The caller sees to this:
 * `disk` is null or mounted. No other call is under way, but the one whose callback calls this.
 */
enum ww_error ww_trim(struct ww_disk *disk, uint32_t first, uint32_t count);

/**
 * Makes all that was written or trimmed durable.
 *
 * The caller sees to this:
 * As for `ww_trim`.
 */
enum ww_error ww_sync(struct ww_disk *disk);

/**
 * Cleans while there is nothing else to do, so that later writes are shorter. Moves at most `budget_pages` pages.
 * `*more` says whether there is more to do; it may be null.
 *
 * The caller sees to this:
 * As for `ww_trim`; `more` is null or valid.
 */
enum ww_error ww_clean(struct ww_disk *disk, uint32_t budget_pages, bool *more);

/**
 * Syncs, and leaves a mark so that the next mount knows that nothing was cut. Whether it succeeds or not, the disk is
 * no more, and its arena is free for other use.
 *
 * The caller sees to this:
 * As for `ww_trim`. The disk is not used again.
 */
enum ww_error ww_unmount(struct ww_disk *disk);

/**
 * Says what a disk is and what it did, in `*stats`.
 *
 * The caller sees to this:
 * `disk` is null or mounted; `stats` is null or valid.
 */
enum ww_error ww_stats(const struct ww_disk *disk, struct ww_disk_stats *stats);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WEARWELL_H */
