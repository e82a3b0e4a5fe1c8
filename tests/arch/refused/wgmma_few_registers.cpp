// expect: a thread holds N / 2 accumulator registers
#include "tilewright/arch/wgmma.h"

void kernel(float (&d)[4]) { tilewright::arch::wgmma<16, tilewright::e4m3, tilewright::e4m3>(d, 0, 0, true); }
