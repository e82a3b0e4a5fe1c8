// expect: red.async: add of 32- and 64-bit integers
#include "tilewright/arch/reduce_async.h"

void kernel(uint32_t address) {
  tilewright::arch::reduce_async<tilewright::arch::ReduceOp::add>(address, 1.0f, address);
}
