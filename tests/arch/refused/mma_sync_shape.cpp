// expect: mma_sync shapes: f16 and bf16 m16n8k8, m16n8k16
#include "tilewright/arch/mma_sync.h"

using namespace tilewright;

void kernel(float (&d)[4], const uint32_t (&a)[8], const uint32_t (&b)[4]) {
  arch::mma_sync<arch::m16n8k32, bf16, bf16>(d, a, b, d);
}
