// Operands of an FP32 GEMM into the order its fast kernel reads: [batch][k][row], rows contiguous. Bound by
// memory: an element is read once and written once, both in whole 32-byte sectors.
#pragma once

#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/repack_tiles.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using mainloop::kRepackSharedBytes;
using mainloop::kRepackThreads;

struct SimtRepackTile : mainloop::RepackTile<kernels::SimtRepackParams::Operand> {
  /// Rows up to the padded length: the padding becomes zero.
  TILEWRIGHT_DEVICE void write(uint32_t thread) const {
    const uint32_t r = thread % 16 * 4;
    if (row + r >= o.ld) return;
    auto* to =
        reinterpret_cast<mainloop::Float4*>(o.to + (static_cast<int64_t>(batch) * o.k + k) * o.ld + row + r);
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t kk = thread / 16 + 16 * i;
      if (k + kk >= o.k) continue;
      to[static_cast<int64_t>(kk) * (o.ld / 4)] =
          mainloop::Float4{at(r, kk), at(r + 1, kk), at(r + 2, kk), at(r + 3, kk)};
    }
  }
};

/// kRepackThreads threads and kRepackSharedBytes a block; any number of blocks.
template <class = void>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(kRepackThreads)
    simt_repack(const TILEWRIGHT_GRID_CONSTANT kernels::SimtRepackParams params) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
  // The kernel before this one in the stream may still use the workspace and may have written the operands.
  arch::grid_dependency_wait();
  mainloop::repack_tiles<SimtRepackTile>(params.operand, shared);
  arch::launch_dependents();
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
