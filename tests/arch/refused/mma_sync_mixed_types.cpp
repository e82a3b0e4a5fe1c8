// expect: mma_sync multiplies f16 f16, bf16 bf16
#include "tilewright/arch/mma_sync.h"

using namespace tilewright;

void kernel(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  arch::mma_sync<arch::m16n8k16, f16, bf16>(d, a, b, d);
}
