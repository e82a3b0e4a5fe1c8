// The inner product of an FP32 tile on the ordinary cores: stages in shared memory -> registers -> FFMA.
//
// Floors of a 128 x 128 x 32 stage on one SM: 128 * 128 * 32 / 128 per clock = 4096 clocks of FFMA;
// fragments, 6 LDS.128 for 128 FFMAs of a warp at 2 to 4 wavefronts, 2600 clocks of shared memory; 32 KiB of
// copies, 256 clocks. What binds is the issue slots (48 loads and some 20 other instructions to 1024 FFMAs)
// and the register file's two read ports: an FFMA reads three operands, so a[i] is kept in the operand cache
// while a row of sixteen accumulators passes, back and forth; each load in between loses it once. Measured:
// unrolling 8 of K beats 4 (more branches), 12 and 16 (the loop outgrows the instruction cache), and scalar
// stores of the results beat vector ones, which would tie the parity of accumulator registers to that of the
// operands.
#pragma once

#include "tilewright/arch/math.h"
#include "tilewright/arch/shared.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Four neighbours of an operand, one 128-bit access.
struct alignas(16) Float4 {
  float x, y, z, w;
};

/// One thread's part of a TileM x TileN tile: groups of four rows, 16 apart, and of four columns, 32 apart. A
/// warp is 4 threads high and 8 wide, so that it reads whole 128-byte lines; warps fill the tile row by row
/// of warps.
template <int TileM, int TileN, int ThreadM, int ThreadN, uint32_t PitchA, uint32_t PitchB>
struct SimtTile {
  static constexpr uint32_t kLines = 1;  // of an operand, for one step of K
  static_assert(ThreadM % 4 == 0 && ThreadN % 4 == 0, "fragments are loaded four floats at a time");
  static constexpr int kLanesM = 4, kLanesN = 8;
  static constexpr int kWarpM = kLanesM * ThreadM, kWarpN = kLanesN * ThreadN;
  static_assert(TileM % kWarpM == 0 && TileN % kWarpN == 0, "whole warps fill a tile");
  static constexpr int kWarpsN = TileN / kWarpN;

  /// Accumulators, [row][column].
  using Accumulators = float[ThreadM][ThreadN];

  /// Operands of one k.
  struct Fragment {
    float a[ThreadM], b[ThreadN];
  };

  /// First row and column of thread `thread` of the consumers.
  TILEWRIGHT_DEVICE static uint32_t row(uint32_t thread) {
    return thread / 32 / kWarpsN * kWarpM + thread % 32 / kLanesN * 4;
  }
  TILEWRIGHT_DEVICE static uint32_t column(uint32_t thread) {
    return thread / 32 % kWarpsN * kWarpN + thread % kLanesN * 4;
  }
  /// Row and column of accumulator [i][j] from there.
  TILEWRIGHT_DEVICE static constexpr uint32_t row_of(int i) {
    return static_cast<uint32_t>(i / 4 * 4 * kLanesM + i % 4);
  }
  TILEWRIGHT_DEVICE static constexpr uint32_t column_of(int j) {
    return static_cast<uint32_t>(j / 4 * 4 * kLanesN + j % 4);
  }

  TILEWRIGHT_DEVICE static void clear(Accumulators& acc) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < ThreadM; ++i) {
      TILEWRIGHT_UNROLL
      for (int j = 0; j < ThreadN; ++j) acc[i][j] = 0;
    }
  }

  /// Loads the operands of K index `k` of a block whose A and B begin at the shared addresses a and b (this
  /// thread's row and column included).
  TILEWRIGHT_DEVICE static void load(Fragment& f, uint32_t a, uint32_t b, uint32_t k) {
    load<kLanesM>(f.a, a + 4 * PitchA * k);
    load<kLanesN>(f.b, b + 4 * PitchB * k);
  }

  /// acc += a b^T, each accumulator one fused multiply-add.
  TILEWRIGHT_DEVICE static void multiply(Accumulators& acc, const Fragment& f) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < ThreadM; ++i) {
      TILEWRIGHT_UNROLL
      for (int step = 0; step < ThreadN; ++step) {
        const int j = i % 2 == 0 ? step : ThreadN - 1 - step;
        acc[i][j] = arch::fma_rn(f.a[i], f.b[j], acc[i][j]);
      }
    }
  }

 private:
  /// Groups of four, a whole row of lanes apart.
  template <int Lanes, int Count>
  TILEWRIGHT_DEVICE static void load(float (&to)[Count], uint32_t address) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; i += 4) {
      const Float4 four = arch::load_shared<Float4>(address + 4 * static_cast<uint32_t>(i * Lanes));
      to[i] = four.x;
      to[i + 1] = four.y;
      to[i + 2] = four.z;
      to[i + 3] = four.w;
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
