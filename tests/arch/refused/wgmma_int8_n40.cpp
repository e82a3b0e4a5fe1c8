// expect: for s8 and u8 8, 16, 24, 32, 48, ... 256
#include "tilewright/arch/wgmma.h"

void kernel(int32_t (&d)[20]) { tilewright::arch::wgmma<40, int8_t, int8_t>(d, 0, 0, true); }
