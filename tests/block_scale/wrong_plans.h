// Kernels whose plan of tensor memory is wrong in one respect. A translation unit of kernel code defines
// them.
#pragma once

#include "src/block_scale_kernel_table.h"

namespace tilewright::wrong_plans {

/// What is wrong: each gives a kernel with f16 out, overlapping.
enum class Fault : uint8_t {
  none,
  release_too_early,       // nvfp4: after subtile 0, with 16 of the 48 shared columns not drained
  drained_in_wrong_order,  // windows exchanged: the shared columns come last
  windows_too_close,       // 112 shared columns, released after 64 (nvfp4) or 32
  scales_in_the_window,    // the first scale columns are the last of the right accumulator
  scales_overlap,          // B scales begin among the A scales
};

/// The kernel with a wrong plan, for two operands of `format`: nvfp4, or mxfp4 or mxfp8, which share columns
/// of one subtile only and have neither a release that comes too early nor scales that overlap.
const kernels::BlockScaledKernel& kernel(Fault fault, BlockFormat format);

}  // namespace tilewright::wrong_plans
