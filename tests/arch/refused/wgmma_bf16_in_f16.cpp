// expect: wgmma accumulates in float
#include "tilewright/arch/wgmma.h"

void kernel(uint32_t (&d)[4]) {
  tilewright::arch::wgmma<16, tilewright::bf16, tilewright::bf16>(d, 0, 0, true);
}
