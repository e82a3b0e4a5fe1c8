// FP32 scales of the rows and columns of D, constant along K: applied to the sums before they are packed.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/fp8_gemm_params.h"
#include "tilewright/pipeline/linear_epilogue.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// The scales of one warp's part of a tile. Loaded under the first MMAs, in whole lines and with no shared
/// memory or barrier: each lane keeps two of every 64 columns, and hands them out by shuffles.
template <class Config>
class VectorScales {
 public:
  TILEWRIGHT_DEVICE VectorScales(const kernels::Fp8GemmParams& p, const EpilogueScalars& scalars)
      : p_(p), scale_(scalars.scale) {}

  /// Whether the sums are scaled here, and not at promotion.
  TILEWRIGHT_DEVICE bool present() const { return !(Config::kBlockScales && p_.block_scales); }

  /// All lanes of a consumer warp. Rows and columns past the edges get scales of others: a branch here would
  /// make the compiler copy the K loop for each of its ways.
  TILEWRIGHT_DEVICE void load(schedule::TileCoord tile) {
    if (!present()) return clear();
    const kernels::Fp8Scales &a = p_.a_scales, &b = p_.b_scales;
    const uint32_t lane = arch::lane_index(), warp = arch::warp_index();
    const float* rows = a.data + static_cast<int64_t>(tile.batch) * a.batch_stride;
    const float* columns = b.data + static_cast<int64_t>(tile.batch) * b.batch_stride;
    const uint32_t row = tile.m * Config::kTileM + warp / 4 * kWarpgroupRows + warp % 4 * 16 + lane / 4;
    const uint32_t column = tile.n * Config::kTileN + 2 * lane;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 2 * kRowParts; ++i)
      row_[i] = arch::mul_rn(scale_, rows[index(row + i / 2 * 64 + i % 2 * 8, p_.m) * a.line_stride]);
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kColumnScales; ++i)
      column_[i] = columns[index(column + i / 2 * 64 + i % 2, p_.n) * b.line_stride];
  }

  /// Instead of load() in a tile that A and B do not matter for, and whose sums are 0.
  TILEWRIGHT_DEVICE void clear() {
    TILEWRIGHT_UNROLL
    for (float& row : row_) row = 0;
    TILEWRIGHT_UNROLL
    for (float& column : column_) column = 0;
  }

  /// acc *= (scale * row's scale) * column's scale. All lanes of the warp, after load() or clear().
  TILEWRIGHT_DEVICE void apply(int part, float (&acc)[Config::kRegisters]) const {
    if (!present()) return;
    const int row = kRowParts > 1 ? 2 * part : 0;
    const int first = kRowParts > 1 ? 0 : part * Config::kPartN / 8;  // block of 8 columns
    const uint32_t quad = arch::lane_index() % 4;
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Config::kRegisters; ++i) {
      if (i % 4 >= 2) continue;  // two columns; registers 2 and 3 of each four are eight rows below 0 and 1
      const int block = first + i / 4;
      const float column =
          arch::shuffle(column_[2 * (block / 8) + i % 2], static_cast<uint32_t>(block % 8 * 4) + quad);
      acc[i] = arch::mul_rn(arch::mul_rn(row_[row], column), acc[i]);
      acc[i + 2] = arch::mul_rn(arch::mul_rn(row_[row + 1], column), acc[i + 2]);
    }
  }

 private:
  static constexpr uint32_t kWarpgroupRows = Config::kTileM / Config::kConsumers;
  static constexpr uint32_t kRowParts = kWarpgroupRows / 64;
  static constexpr uint32_t kColumnScales = Config::kTileN / 32;

  TILEWRIGHT_DEVICE static int64_t index(uint32_t line, uint32_t lines) {
    return line < lines ? line : lines - 1;
  }

  const kernels::Fp8GemmParams& p_;
  float scale_;
  float row_[2 * kRowParts];     // with scale_: rows lane / 4 and + 8 of each part along M
  float column_[kColumnScales];  // [i]: columns 64 (i / 2) + 2 lane + i % 2
};

/// Of a kernel without them.
struct NoVectorScales {
  TILEWRIGHT_DEVICE NoVectorScales(const kernels::Fp8GemmParams&, const EpilogueScalars&) {}
  TILEWRIGHT_DEVICE bool present() const { return false; }
  TILEWRIGHT_DEVICE void load(schedule::TileCoord) {}
  TILEWRIGHT_DEVICE void clear() {}
  template <int Registers>
  TILEWRIGHT_DEVICE void apply(int, float (&)[Registers]) const {}
};

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
