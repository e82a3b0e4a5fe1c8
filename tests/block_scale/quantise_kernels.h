// The quantising kernels of all formats and sources.
#pragma once

#include "tilewright/error.h"
#include "tilewright/layout/scale_quantise.h"

namespace tilewright::quantise_kernels {

/// Runs the kernel on `blocks` blocks. `source`: f32 or bf16. `stream`: as in arch::LaunchConfig.
Status run(const QuantiseKernelParams& params, BlockFormat format, DType source, uint32_t blocks,
           void* stream);

}  // namespace tilewright::quantise_kernels
