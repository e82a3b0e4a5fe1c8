// The K loop of a tile with mma.sync over a ring of stages.
//
// Floors of a 128 x 128 x 64 stage of bf16 on one SM: 128 * 128 * 64 / 1024 per clock (what mma.sync reaches
// of the tensor cores of an H200, about half) = 1024 clocks; operands of 8 warps of 64 x 32, 24 KiB each at
// 128 bytes a clock, 384 clocks of shared memory besides 256 of copies into it. Registers of a thread: 64
// accumulators, 48 of operands for two steps of K, 168 there are.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/mma_sync.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/mma_sync_operands.h"
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
  using Word = typename OperandA::Word;
  using Register = typename Config::Register;
  using Accumulators = typename Config::Accumulators;
  using Tile = Register[Config::kRegisters];
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

  TILEWRIGHT_DEVICE static void clear(Accumulators& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Config::kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int m = 0; m < Config::kTilesM; ++m) {
        TILEWRIGHT_UNROLL
        for (int n = 0; n < Config::kTilesN; ++n) {
          TILEWRIGHT_UNROLL
          for (int i = 0; i < Config::kRegisters; ++i) acc[part][m][n][i] = 0;
        }
      }
    }
  }

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
          multiply(acc, operands[step % 2]);
        }
      } else {
        // Rolled: ptxas would move the operands of several steps together.
        TILEWRIGHT_NO_UNROLL
        for (uint32_t step = 1; step < kSteps; ++step) {
          multiply(acc, operands[0]);
          load(operands[0], at, step);
        }
        next(ring, at, previous, more);
        multiply(acc, operands[0]);
      }
      if (kStages > 1) release(ring, previous);
      if (!kAhead && more) load(operands[0], at, 0);
    }
  }

 private:
  struct Operands {
    typename OperandA::Words a;
    typename OperandB::Words b;
  };

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

  TILEWRIGHT_DEVICE static void multiply(Accumulators& acc, const Operands& with) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Config::kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int n = 0; n < Config::kTilesN; ++n) {
        Word b[2];
        factor(b, with.b[n], part);
        TILEWRIGHT_UNROLL
        for (int m = 0; m < Config::kTilesM; ++m) multiply(acc[part][m][n], with.a[m], b);
      }
    }
  }

  /// What A's parts (real, imaginary) are multiplied with so that their sum is the real part of the product
  /// (B's real part, minus its imaginary one) or its imaginary part (B's imaginary part, its real one).
  TILEWRIGHT_DEVICE static void factor(Word (&to)[2], const Word (&b)[2], int part) {
    if constexpr (!Config::kShape.is_complex) {
      to[0] = b[0];
      to[1] = b[1];
    } else if constexpr (Config::kShape.number_bytes == 2) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 2; ++i)
        to[i] = part == 0 ? b[i] ^ 0x80000000u : arch::permute_bytes(b[i], 0, 0x1032);
    } else {
      to[0] = part == 0 ? b[0] : b[1];
      if constexpr (std::is_same_v<Word, double>) {
        to[1] = part == 0 ? -b[1] : b[0];
      } else {
        to[1] = part == 0 ? b[1] ^ 0x80000000u : b[0];
      }
    }
  }

  /// One MMA of 16 x 8 and a step of K.
  TILEWRIGHT_DEVICE static void multiply(Tile& acc, const Word (&a)[4], const Word (&b)[2]) {
    using A = typename Config::A;
    using B = typename Config::B;
    if constexpr (std::is_same_v<Word, double>) {
      multiply_doubles(acc, a, b);
    } else {
      constexpr arch::MmaShape kShape = sizeof(A) == 4   ? arch::m16n8k8
                                        : sizeof(A) == 2 ? arch::m16n8k16
                                                         : arch::m16n8k32;
      if constexpr (Config::kShape.promote) {
        Tile sum = {};
        arch::mma_sync<kShape, A, B>(sum, a, b, sum);
        TILEWRIGHT_UNROLL
        for (int i = 0; i < Config::kRegisters; ++i) acc[i] = arch::add_rn(acc[i], sum[i]);
      } else {
        arch::mma_sync<kShape, A, B>(acc, a, b, acc);
      }
    }
  }

  /// Before sm_90 the only shape of doubles is 8 x 8 x 4; the chain of multiply-adds is the same.
  TILEWRIGHT_DEVICE static void multiply_doubles(double (&acc)[4], const double (&a)[4],
                                                 const double (&b)[2]) {
    if constexpr (Config::kShape.sm >= 900) {
      arch::mma_sync<arch::m16n8k8, double, double>(acc, a, b, acc);
    } else {
      TILEWRIGHT_UNROLL
      for (int half = 0; half < 2; ++half) {
        double sum[2] = {acc[2 * half], acc[2 * half + 1]};
        TILEWRIGHT_UNROLL
        for (int k = 0; k < 2; ++k) {
          const double a_of_k[1] = {a[2 * k + half]}, b_of_k[1] = {b[k]};
          arch::mma_sync<arch::m8n8k4, double, double>(sum, a_of_k, b_of_k, sum);
        }
        acc[2 * half] = sum[0];
        acc[2 * half + 1] = sum[1];
      }
    }
  }

  uint32_t stages_;
  OperandA a_;
  OperandB b_;
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
