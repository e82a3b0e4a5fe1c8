// How one block computes one FP32 tile on the ordinary cores, with how many registers and how much shared
// memory. Mode-neutral: rules, hosts and kernels read the same numbers.
#pragma once

#include <cstdint>

#include "tilewright/mainloop/simt_gemm_params.h"
#include "tilewright/mainloop/wgmma_tile_layout.h"

namespace tilewright::tiles {

/// What the plan depends on.
struct SimtTileShape {
  int m = 0, n = 0, k = 0;              // elements; of K, lines of floats: two for a complex number
  int threads = 0;                      // that compute
  bool bulk_a = false, bulk_b = false;  // brought by TMA; else element by element
  bool is_complex = false;
};

/// The threads' shares, pitches and stage of the whole-grid kernels' plan, for any K tile.
struct SimtTilePlan : kernels::SimtPlan {
  int live_registers = 0;         // accumulators of a thread
  int register_limit = 0;         // for them and for what an epilogue keeps beside them
  int shared_register_limit = 0;  // for them where registers are not reallocated between the roles
  int max_depth = 0;              // stages that fit, barriers included; at most kMaxTileDepth
};

constexpr bool is_simt_tile_m(int m, bool is_complex) {
  return m == 32 || m == 64 || (m == 128 && !is_complex);
}
constexpr bool is_simt_tile_k(int k) { return k % 8 == 0 && k <= 32; }

/// depth: stages of the ring; 0 before it is chosen.
constexpr SimtTilePlan simt_tile_plan(const SimtTileShape& s, int depth) {
  const auto load = [](bool bulk) { return bulk ? kernels::SimtLoad::tma : kernels::SimtLoad::gather; };
  SimtTilePlan p;
  static_cast<kernels::SimtPlan&>(p) =
      kernels::simt_plan({s.m, s.n, kernels::SimtPipeline::producer, load(s.bulk_a), load(s.bulk_b), false});
  p.tile_k = s.k;
  p.stage_bytes = 4 * static_cast<uint32_t>(s.k) * (p.pitch_a + p.pitch_b);
  p.stages = depth;
  p.ctas_per_sm = 1;
  p.shared_bytes = static_cast<uint32_t>(depth) * (p.stage_bytes + kStageBarrierBytes);
  p.live_registers = p.thread_m * p.thread_n * (s.is_complex ? 2 : 1);
  p.register_limit = p.live_registers;  // no multiplications run by themselves while an epilogue stores
  p.shared_register_limit = wgmma_register_limit(s.threads, false);
  const uint32_t fit = kTileSharedLimit / (p.stage_bytes + kStageBarrierBytes);
  p.max_depth = fit < kMaxTileDepth ? static_cast<int>(fit) : kMaxTileDepth;
  return p;
}

/// An operand's part of a stage: [k][row], rows `pitch` floats apart, filled by one box where it is bulk.
constexpr OperandLayout simt_layout(int rows, int k, uint32_t pitch) {
  OperandLayout l;
  l.mn_major = true;
  l.element_bytes = 4;
  l.width = 4 * static_cast<uint32_t>(rows);
  l.rows = l.box_rows = static_cast<uint32_t>(k);
  l.bytes = 4 * static_cast<uint32_t>(k) * pitch;
  return l;
}

}  // namespace tilewright::tiles
