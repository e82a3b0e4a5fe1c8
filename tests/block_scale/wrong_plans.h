// Kernels whose plan of tensor memory is wrong in one respect. A translation unit of kernel code defines
// them.
#pragma once

#include "src/block_scale_kernel_table.h"

namespace tilewright::wrong_plans {

/// What is wrong: each gives a kernel for nvfp4 x nvfp4, f16 out, overlapping.
enum class Fault : uint8_t {
  none,
  release_too_early,       // after subtile 0: 16 of the 48 shared columns are not drained
  drained_in_wrong_order,  // windows exchanged: the shared columns come last
  windows_too_close,       // 112 shared columns, released after 64
  scales_in_the_window,    // the first scale columns are the last of the right accumulator
  scales_overlap,          // B scales begin among the A scales
};

/// The kernel with a wrong plan.
const kernels::BlockScaledKernel& kernel(Fault fault);

}  // namespace tilewright::wrong_plans
