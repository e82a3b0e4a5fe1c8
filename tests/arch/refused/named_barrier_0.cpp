// expect: barrier 0 belongs to sync_threads()
#include "tilewright/arch/named_barrier.h"

void kernel() { tilewright::arch::NamedBarrier<0, 128>::sync(); }
