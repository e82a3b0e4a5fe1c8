// expect: a block has named barriers 0 to 15
#include "tilewright/arch/named_barrier.h"

void kernel() { tilewright::arch::NamedBarrier<16, 128>::sync(); }
