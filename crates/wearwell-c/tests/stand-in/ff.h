/* As much of FatFs' own types as the glue and its test need. With FatFs at hand, its own header is used. */
#ifndef STAND_IN_FF_H
#define STAND_IN_FF_H

#include <stdint.h>

typedef unsigned int UINT;
typedef unsigned char BYTE;
typedef uint16_t WORD;
typedef uint32_t DWORD;
typedef DWORD LBA_t;

#endif
