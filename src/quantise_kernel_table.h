// The kernels that make block-scaled operands on a machine, as src/quantise.cpp sees them. Mode-neutral.
#pragma once

#include "src/kernel_launch.h"
#include "tilewright/error.h"
#include "tilewright/layout/scale_quantise.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright::kernels {

/// Null where a machine is not built in. Each takes any number of blocks.
struct QuantiseKernels {
  int block_threads = 0;
  /// `source`: f32, f16 or bf16.
  Status (*quantise)(const QuantiseKernelParams&, BlockFormat, DType source, const Launch&) = nullptr;
  Status (*pack)(const ScalePackingParams&, const Launch&) = nullptr;
  Status (*unpack)(const ScalePackingParams&, const Launch&) = nullptr;
};
QuantiseKernels quantise_kernels_emulated();
QuantiseKernels quantise_kernels_gpu();

}  // namespace tilewright::kernels
