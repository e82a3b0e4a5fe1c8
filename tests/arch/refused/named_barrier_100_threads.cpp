// expect: Threads must be a multiple of 32
#include "tilewright/arch/named_barrier.h"

void kernel() { tilewright::arch::NamedBarrier<1, 100>::arrive(); }
