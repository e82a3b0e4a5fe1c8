// expect: this kind needs scales: tcgen05_mma_block_scaled
#include "tilewright/arch/tcgen05.h"
void f() { tilewright::arch::tcgen05_mma<tilewright::arch::Tcgen05Kind::mxf4, 1>(0, 0, 0, 0, true); }
