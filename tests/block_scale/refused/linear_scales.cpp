// expect: kernels take packed scales: pack_scales
#include "tilewright/mainloop/dequantise_params.h"
using namespace tilewright;
void bind(kernels::DequantiseOperand& operand, LinearScales<const e8m0> scales) { operand.scales = scales; }
