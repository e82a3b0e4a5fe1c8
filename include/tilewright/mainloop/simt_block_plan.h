// How a block computes an FP32 product of matrices in shared memory on the ordinary cores. Mode-neutral.
#pragma once

#include "tilewright/config.h"

namespace tilewright::tiles {

/// What the plan depends on: a product of any extents, and threads, whole warps.
struct SimtBlockShape {
  int m = 0, n = 0, k = 0, threads = 0;
  bool is_complex = false;
};

/// Warps stand in a grid over the product; a warp has 4 x 8 threads of thread_m x thread_n accumulators.
struct SimtBlockPlan {
  int m = 0, n = 0;                // extents that whole warps cover
  int thread_m = 0, thread_n = 0;  // multiples of 4
  int live_registers = 0;          // accumulators of a thread, and operands of one k
  int thread_registers = 0;        // what a block of so many threads leaves for them
};

/// The grid that covers least beside the product; of equals the one whose threads load least.
constexpr SimtBlockPlan simt_block_plan(const SimtBlockShape& s) {
  constexpr int kBlockRegisters = 65536, kMost = 255, kOthers = 40;
  const auto round_up = [](int extent, int unit) { return (extent + unit - 1) / unit * unit; };
  const int warps = s.threads / 32;
  SimtBlockPlan p;
  if (warps == 0) return p;
  for (int along_m = 1; along_m <= warps; ++along_m) {
    if (warps % along_m != 0) continue;
    const int along_n = warps / along_m, m = round_up(s.m, 16 * along_m), n = round_up(s.n, 32 * along_n);
    const int thread_m = m / along_m / 4, thread_n = n / along_n / 8;
    const bool covers_less = m * n < p.m * p.n;
    const bool loads_less = m * n == p.m * p.n && thread_m + thread_n < p.thread_m + p.thread_n;
    if (p.m == 0 || covers_less || loads_less) p = {m, n, thread_m, thread_n, 0, 0};
  }
  const int of_thread = kBlockRegisters / s.threads / 8 * 8;
  p.thread_registers = (of_thread < kMost ? of_thread : kMost) - kOthers;
  p.live_registers = (p.thread_m * p.thread_n + p.thread_m + p.thread_n) * (s.is_complex ? 2 : 1);
  return p;
}

}  // namespace tilewright::tiles
