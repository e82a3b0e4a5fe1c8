// expect: only f16 and bf16 operands may be MN-major
#include "tilewright/arch/wgmma.h"

using namespace tilewright;

void kernel(float (&d)[8]) {
  arch::wgmma<16, e4m3, e4m3, arch::WgmmaOptions{.major_b = arch::Major::mn}>(d, 0, 0, true);
}
