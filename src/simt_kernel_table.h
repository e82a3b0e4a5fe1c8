// The compiled FP32 kernels of a machine, as the planner and the generated tables see them. Mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/error.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright::kernels {

/// How a kernel is launched: the same on both machines.
struct SimtLaunch {
  uint32_t grid_ctas;
  bool dependent_launch;
  void* stream;  // cudaStream_t, or the emulator::Machine*
};

/// One row of a machine's kernel table. Threads and shared memory of a CTA: simt_plan(id).
struct SimtKernel {
  SimtKernelId id;
  Status (*launch)(const SimtGemmParams&, const SimtLaunch&);
  /// Completes the tiles that several CTAs computed; grid_ctas of them at once.
  Status (*fixup)(const SimtGemmParams&, const SimtLaunch&);
};

/// The kernels of each machine; a machine that is not built in has none.
struct SimtKernelTable {
  const SimtKernel* kernels = nullptr;
  int count = 0;
  Status (*repack)(const SimtRepackParams&, const SimtLaunch&) = nullptr;
};
SimtKernelTable simt_kernels_gpu();
SimtKernelTable simt_kernels_emulated();

}  // namespace tilewright::kernels
