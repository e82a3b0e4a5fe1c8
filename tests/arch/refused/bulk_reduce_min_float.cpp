// expect: bulk_reduce: add of float, double, f16, bf16
#include "tilewright/arch/reduce_async.h"

void kernel(float* to, uint32_t from) {
  tilewright::arch::bulk_reduce<tilewright::arch::ReduceOp::min>(to, from, 16);
}
