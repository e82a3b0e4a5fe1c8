// expect: wgmma multiplies f16 f16, bf16 bf16
#include "tilewright/arch/wgmma.h"

void kernel(float (&d)[8]) { tilewright::arch::wgmma<16, tilewright::f16, tilewright::bf16>(d, 0, 0, true); }
