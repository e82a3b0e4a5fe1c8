// The kernels that make block-scaled operands on a machine, as src/quantise.cpp sees them. Mode-neutral.
#pragma once

#include "src/kernel_launch.h"
#include "tilewright/error.h"
#include "tilewright/layout/scale_quantise.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright::kernels {

/// Launches, with any number of blocks; null where a machine is not built in. Errors: those of the launch.
struct QuantiseKernels {
  int block_threads = 0;
  /// Elements, and scales in packed layout. `source`: f32, f16 or bf16.
  Status (*quantise)(const QuantiseKernelParams&, BlockFormat, DType source, const Launch&) = nullptr;
  /// Scales from linear to packed layout, padding filled.
  Status (*pack)(const ScalePackingParams&, const Launch&) = nullptr;
  /// Scales from packed to linear layout.
  Status (*unpack)(const ScalePackingParams&, const Launch&) = nullptr;
};
/// Those of the emulated machine.
QuantiseKernels quantise_kernels_emulated();
/// Those of the GPU, of every chip that the build has.
QuantiseKernels quantise_kernels_gpu();

}  // namespace tilewright::kernels
