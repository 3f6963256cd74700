/* What FatFs calls of its glue. With FatFs at hand, its own header is used. */
#ifndef STAND_IN_DISKIO_H
#define STAND_IN_DISKIO_H

typedef BYTE DSTATUS;
typedef enum { RES_OK, RES_ERROR, RES_WRPRT, RES_NOTRDY, RES_PARERR } DRESULT;

enum { STA_NOINIT = 1, STA_NODISK = 2, STA_PROTECT = 4 };
enum { CTRL_SYNC, GET_SECTOR_COUNT, GET_SECTOR_SIZE, GET_BLOCK_SIZE, CTRL_TRIM };

DSTATUS disk_initialize(BYTE number);
DSTATUS disk_status(BYTE number);
DRESULT disk_read(BYTE number, BYTE *data, LBA_t sector, UINT count);
DRESULT disk_write(BYTE number, const BYTE *data, LBA_t sector, UINT count);
DRESULT disk_ioctl(BYTE number, BYTE command, void *about);

#endif
