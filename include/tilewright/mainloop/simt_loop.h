// The K loop of an FP32 tile over a ring of stages.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/simt_f32.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// The consumers' half. Config: Tile, and kPlan with stages, stage_bytes, tile_k (a multiple of 8), pitch_a
/// and pitch_b.
template <class Config>
struct SimtLoop {
  using Tile = typename Config::Tile;

  /// All consuming threads: acc += A B over k_tiles > 0 K tiles. a0, b0: shared addresses of this thread's
  /// row of A and column of B in stage 0. Leaves every stage released.
  ///
  /// Operands of the next k are loaded while those of this one are multiplied, also from one stage to the
  /// next; a stage is released after the multiplications that use its last operands.
  TILEWRIGHT_DEVICE static void multiply(typename Tile::Accumulators& acc, const Ring& ring, RingPosition& at,
                                         uint32_t a0, uint32_t b0, uint32_t k_tiles) {
    typename Tile::Fragment f[2];
    ring.wait(at);
    uint32_t a = a0 + at.stage * kStageBytes, b = b0 + at.stage * kStageBytes;
    Tile::load(f[0], a, b, 0);
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      TILEWRIGHT_NO_UNROLL
      for (uint32_t block = 0; block < kBlocks; ++block) {
        TILEWRIGHT_UNROLL
        for (uint32_t k = 0; k + 1 < kBlockK; ++k) {
          Tile::load(f[(k + 1) % 2], a, b, k + 1);
          Tile::multiply(acc, f[k % 2]);
        }
        a += 4 * kBlockLines * Config::kPlan.pitch_a;
        b += 4 * kBlockLines * Config::kPlan.pitch_b;
        const bool stage_ends = block + 1 == kBlocks;
        const RingPosition previous = at;
        if (stage_ends) {
          // The only stage is not filled again before it is released.
          if constexpr (kStages == 1) release(ring, previous);
          at.advance(kStages);
          if (kt + 1 < k_tiles) {
            ring.wait(at);
            a = a0 + at.stage * kStageBytes;
            b = b0 + at.stage * kStageBytes;
          }
        }
        if (!stage_ends || kt + 1 < k_tiles) Tile::load(f[0], a, b, 0);
        Tile::multiply(acc, f[1]);
        if constexpr (kStages > 1) {
          if (stage_ends) release(ring, previous);
        }
      }
    }
  }

 private:
  static constexpr uint32_t kStages = static_cast<uint32_t>(Config::kPlan.stages);
  static constexpr uint32_t kStageBytes = Config::kPlan.stage_bytes;
  static constexpr uint32_t kBlockLines = 8, kBlockK = kBlockLines / Tile::kLines;  // unrolled
  static constexpr uint32_t kBlocks = static_cast<uint32_t>(Config::kPlan.tile_k) / kBlockLines;
  static_assert(static_cast<uint32_t>(Config::kPlan.tile_k) % kBlockLines == 0, "K tiles are whole blocks");

  /// All lanes of the warp, once what was loaded of the stage has arrived in registers.
  TILEWRIGHT_DEVICE static void release(const Ring& ring, RingPosition at) {
    arch::sync_warp();
    if (arch::lane_index() == 0) arch::mbarrier_arrive(ring.empty + 8 * at.stage);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
