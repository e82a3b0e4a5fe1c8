// expect: setmaxnreg takes 24 to 256 registers, a multiple of 8
#include "tilewright/arch/registers.h"

void kernel() { tilewright::arch::setmaxnreg_dec<28>(); }
