// The K loop of a tile with mma.sync over a ring of stages.
//
// Floors of a 128 x 128 x 64 stage of bf16 on one SM: 128 * 128 * 64 / 1024 per clock (what mma.sync reaches
// of the tensor cores of an H200, about half) = 1024 clocks; operands of 8 warps of 64 x 32, 24 KiB each at
// 128 bytes a clock, 384 clocks of shared memory besides 256 of copies into it. Registers of a thread: 64
// accumulators, 48 of operands for two steps of K, 168 there are.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/mma_sync_operands.h"
#include "tilewright/mainloop/mma_sync_product.h"
#include "tilewright/mainloop/mma_sync_tile.h"
#include "tilewright/mainloop/ring.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// The computing warps' half.
template <class Config>
class MmaSyncLoop {
  using OperandA = MmaSyncOperand<Config, true>;
  using OperandB = MmaSyncOperand<Config, false>;
  using Product = MmaSyncProduct<Config>;
  using Operands = typename Product::Operands;
  using Accumulators = typename Config::Accumulators;
  static constexpr auto kStages = Config::kStages;
  static constexpr auto kSteps = static_cast<uint32_t>(Config::kPlan.steps);
  static constexpr bool kTwoBuffers = Config::kPlan.buffers == 2;
  // The first step of a stage is loaded during the last one of the stage before, where its registers are
  // free.
  static constexpr bool kAhead = kTwoBuffers && kSteps % 2 == 0;

 public:
  /// stages: shared address of the first one. All computing threads.
  TILEWRIGHT_DEVICE MmaSyncLoop(uint32_t stages, uint32_t warp)
      : stages_(stages), a_(Config::warp_row(warp)), b_(Config::warp_column(warp)) {}

  TILEWRIGHT_DEVICE static void clear(Accumulators& acc) { Product::clear(acc); }

  /// acc += A B over k_tiles > 0 K tiles. Leaves every stage released.
  TILEWRIGHT_DEVICE void multiply(Accumulators& acc, const Ring& ring, RingPosition& at,
                                  uint32_t k_tiles) const {
    Operands operands[kTwoBuffers ? 2 : 1];
    ring.wait(at);
    load(operands[0], at, 0);
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      const bool more = kt + 1 < k_tiles;
      RingPosition previous = at;
      if constexpr (kTwoBuffers) {
        TILEWRIGHT_UNROLL
        for (uint32_t step = 0; step < kSteps; ++step) {
          if (step + 1 < kSteps) {
            load(operands[(step + 1) % 2], at, step + 1);
          } else {
            next(ring, at, previous, more);
            if (kAhead && more) load(operands[0], at, 0);
          }
          Product::multiply(acc, operands[step % 2]);
        }
      } else {
        // Rolled: ptxas would move the operands of several steps together.
        TILEWRIGHT_NO_UNROLL
        for (uint32_t step = 1; step < kSteps; ++step) {
          Product::multiply(acc, operands[0]);
          load(operands[0], at, step);
        }
        next(ring, at, previous, more);
        Product::multiply(acc, operands[0]);
      }
      if (kStages > 1) release(ring, previous);
      if (!kAhead && more) load(operands[0], at, 0);
    }
  }

 private:
  TILEWRIGHT_DEVICE void load(Operands& to, RingPosition at, uint32_t step) const {
    const uint32_t stage = stages_ + at.stage * Config::kPlan.stage_bytes;
    a_.load(to.a, stage, step);
    b_.load(to.b, stage + Config::kLayoutA.bytes, step);
  }

  /// With the last operands of a stage in registers: on to the next stage, if the tile has one. The only
  /// stage of a ring is not filled again before it is released.
  TILEWRIGHT_DEVICE static void next(const Ring& ring, RingPosition& at, RingPosition& previous, bool more) {
    previous = at;
    if (kStages == 1) release(ring, previous);
    at.advance(kStages);
    if (more) ring.wait(at);
  }

  /// All lanes of the warp, once what was loaded of the stage has arrived in registers.
  TILEWRIGHT_DEVICE static void release(const Ring& ring, RingPosition at) {
    arch::sync_warp();
    if (arch::lane_index() == 0) arch::mbarrier_arrive(ring.empty + 8 * at.stage);
  }

  uint32_t stages_;
  OperandA a_;
  OperandB b_;
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
