// expect: this kind of tcgen05.mma does not take these operand types
#include "tilewright/arch/tcgen05.h"
using namespace tilewright;
constexpr uint32_t bits = arch::make_instruction_descriptor<arch::Tcgen05Kind::mxf4, e4m3, e2m1>(1, 64);
