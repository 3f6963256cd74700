/* Start, console, clock and end on an emulated MPS2 board (QEMU's mps2-an386). Text and end go to the debugger, which is
 * QEMU (Arm's semihosting). */
#include "board.h"

extern uint32_t board_data_from[], board_data[], board_data_end[], board_bss[], board_bss_end[];
extern uint32_t board_stack[], board_stack_end[];

int main(void);

enum { SAY = 0x04, EXIT = 0x20, EXITED = 0x20026 };
enum { UNUSED = 0x57A3C57A };

static volatile uint32_t *const TIMER = (volatile uint32_t *)0x40000000;
enum { TIMER_CONTROL, TIMER_VALUE, TIMER_RELOAD };

static int ask(int what, const void *about)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = about;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_say(const char *text)
{
    ask(SAY, text);
}

void board_say_number(uint32_t number)
{
    char digits[11];
    char *at = digits + sizeof digits - 1;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    board_say(at);
}

_Noreturn void board_exit(int code)
{
    const uint32_t reason[] = {EXITED, (uint32_t)code};
    ask(EXIT, reason);
    for (;;) {}
}

uint32_t board_ticks(void)
{
    return UINT32_MAX - TIMER[TIMER_VALUE];
}

/* Marks what is below the frame of whoever calls this, and a little more. */
static void mark_unused_stack(void)
{
    const uint32_t *frame = __builtin_frame_address(0);
    for (volatile uint32_t *to = board_stack; to < frame - 32; to++) *to = UNUSED;
}

uint32_t board_stack_bytes(void)
{
    const uint32_t *at = board_stack;
    while (at < board_stack_end && *at == UNUSED) at++;
    mark_unused_stack();
    return (uint32_t)((const uint8_t *)board_stack_end - (const uint8_t *)at);
}

void board_start(void)
{
    const uint32_t *from = board_data_from;
    for (uint32_t *to = board_data; to < board_data_end; to++) *to = *from++;
    for (uint32_t *to = board_bss; to < board_bss_end; to++) *to = 0;
    mark_unused_stack();
    TIMER[TIMER_RELOAD] = UINT32_MAX;
    TIMER[TIMER_VALUE] = UINT32_MAX;
    TIMER[TIMER_CONTROL] = 1;
    board_exit(main());
}

static void fault(void)
{
    board_say("a fault\n");
    board_exit(1);
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const union {
    const void *stack;
    vector code;
} VECTORS[] = {
    {.stack = board_stack_end}, {.code = board_start}, {.code = fault}, {.code = fault},
    {.code = fault},            {.code = fault},       {.code = fault},
};
