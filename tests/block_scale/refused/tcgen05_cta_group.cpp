// expect: a tcgen05 instruction works for one block or for a pair
#include "tilewright/arch/tcgen05.h"
void f() { tilewright::arch::tcgen05_alloc<3>(0, 512); }
