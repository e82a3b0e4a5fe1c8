// The compiled block-scaled kernels of a machine, as the planner and the generated tables see them.
// Mode-neutral.
#pragma once

#include "src/kernel_launch.h"
#include "tilewright/error.h"
#include "tilewright/mainloop/tcgen05_block_scaled_params.h"

namespace tilewright::kernels {

/// One row of a machine's kernel table.
struct BlockScaledKernel {
  BlockScaledKernelId id;
  Status (*launch)(const BlockScaledGemmParams&, const Launch&);
};

/// The kernels of each machine: src/block_scale_kernels.def.
struct BlockScaledKernelTable {
  const BlockScaledKernel* kernels = nullptr;
  int count = 0;

  /// The kernel of an id, or null.
  const BlockScaledKernel* find(const BlockScaledKernelId& id) const {
    for (int i = 0; i < count; ++i) {
      if (kernels[i].id == id) return &kernels[i];
    }
    return nullptr;
  }
};
BlockScaledKernelTable block_scaled_kernels_emulated();
BlockScaledKernelTable block_scaled_kernels_gpu();

}  // namespace tilewright::kernels
