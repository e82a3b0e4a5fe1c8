// The compiled FP32 kernels of a machine, as the planner and the generated tables see them. Mode-neutral.
#pragma once

#include <cstdint>

#include "src/kernel_launch.h"
#include "tilewright/error.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright::kernels {

/// One row of a machine's kernel table. Threads and shared memory of a CTA: simt_plan(id).
struct SimtKernel {
  SimtKernelId id;
  Status (*launch)(const SimtGemmParams&, const Launch&);
  /// Completes the tiles that several CTAs computed; grid_ctas of them at once.
  Status (*fixup)(const SimtGemmParams&, const Launch&);
};

/// The kernels of each machine; a machine that is not built in has none.
struct SimtKernelTable {
  const SimtKernel* kernels = nullptr;
  int count = 0;
  Status (*repack)(const SimtRepackParams&, const Launch&) = nullptr;
};
SimtKernelTable simt_kernels_gpu();
SimtKernelTable simt_kernels_emulated();

}  // namespace tilewright::kernels
