// expect: mma_sync: the registers of A and B hold m k and n k elements
#include "tilewright/arch/mma_sync.h"

using namespace tilewright;

void kernel(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  arch::mma_sync<arch::m16n8k16, int8_t, int8_t>(d, a, b, d);
}
