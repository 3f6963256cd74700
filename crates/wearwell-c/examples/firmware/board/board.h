/* What the example needs of a board. This one is Arm's MPS2 with a Cortex-M4, as QEMU emulates it. */
#ifndef BOARD_H
#define BOARD_H

#include "wearwell.h"

/* Memory for the cells of the emulated chip. */
extern uint8_t board_cells[];

void board_say(const char *text);
void board_say_number(uint32_t number);

/* A clock: each tick is BOARD_INSTRUCTIONS_PER_TICK instructions if QEMU runs with -icount shift=0. */
enum { BOARD_INSTRUCTIONS_PER_TICK = 40 };
uint32_t board_ticks(void);

/* Bytes of the stack that were in use at most, since the start or since the last time that this was asked. */
uint32_t board_stack_bytes(void);

_Noreturn void board_exit(int code);

#endif
