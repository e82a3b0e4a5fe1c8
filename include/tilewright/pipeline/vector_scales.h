// FP32 scales of the rows and columns of D, constant along K: applied to the sums before they are packed.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/wgmma_tile_plan.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// The scales of one warp's part of a tile. Loaded while MMAs run, in whole lines and with no shared
/// memory or barrier: each lane keeps two of every 64 columns, and hands them out by shuffles.
/// Ops: LinearEpilogueOps.
template <class Config>
class VectorScales {
 public:
  /// scale: of all of D.
  TILEWRIGHT_DEVICE explicit VectorScales(float scale) : scale_(scale) {}

  /// Whether there are any.
  template <class Ops>
  TILEWRIGHT_DEVICE static bool present(const Ops& ops) {
    return !Config::kScaled || ops.rows.data != nullptr;
  }

  /// All lanes of a consumer warp. Rows and columns past the edges get scales of others: a branch here would
  /// make the compiler copy the K loop for each of its ways.
  template <class Ops>
  TILEWRIGHT_DEVICE void load(const Ops& ops, uint32_t row_limit, uint32_t column_limit,
                              schedule::TileCoord tile) {
    if (!present(ops)) return clear();
    uint32_t thread = arch::thread_index().x;
    arch::fence_operand(thread);  // worked out here, not kept around the K loop
    const uint32_t lane = thread % 32, warp = thread / 32;
    const float* rows = ops.rows.data + static_cast<int64_t>(tile.batch) * ops.rows.batch_stride;
    const float* columns = ops.columns.data + static_cast<int64_t>(tile.batch) * ops.columns.batch_stride;
    const uint32_t row = tile.m * static_cast<uint32_t>(Config::kShape.m) + Config::part_row(warp / 4, 0) +
                         warp % 4 * 16 + lane / 4;
    const uint32_t column = tile.n * static_cast<uint32_t>(Config::kShape.n) + 2 * lane;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 2 * kRowParts; ++i) {
      row_[i] =
          arch::mul_rn(scale_, rows[index(row + i / 2 * 64 + i % 2 * 8, row_limit) * ops.rows.line_stride]);
    }
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kColumnScales; ++i)
      column_[i] = columns[index(column + i / 2 * 64 + i % 2, column_limit) * ops.columns.line_stride];
  }

  /// Instead of load() in a tile that A and B do not matter for, and whose sums are 0.
  TILEWRIGHT_DEVICE void clear() {
    TILEWRIGHT_UNROLL
    for (float& row : row_) row = 0;
    TILEWRIGHT_UNROLL
    for (float& column : column_) column = 0;
  }

  /// values, which are the thread's elements First, First + 1, ..., *= (scale * row's scale) * column's
  /// scale. All lanes of the warp, after load() or clear().
  template <int First, class Ops, int Count>
  TILEWRIGHT_DEVICE void apply(const Ops& ops, float (&values)[Count]) const {
    if (!present(ops)) return;
    constexpr auto kPart = Config::part_of(First / Config::kRegisters);
    constexpr int kRow = kPart.row / 64 * 2;
    constexpr int kBlock = kPart.column / 8 + First % Config::kRegisters / 4;  // of 8 columns
    const uint32_t quad = arch::lane_index() % 4;
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) {
      if (i % 4 >= 2) continue;  // two columns; registers 2 and 3 of each four are eight rows below 0 and 1
      const int block = kBlock + i / 4;
      const float column =
          arch::shuffle(column_[2 * (block / 8) + i % 2], static_cast<uint32_t>(block % 8 * 4) + quad);
      values[i] = arch::mul_rn(arch::mul_rn(row_[kRow], column), values[i]);
      values[i + 2] = arch::mul_rn(arch::mul_rn(row_[kRow + 1], column), values[i + 2]);
    }
  }

 private:
  static constexpr uint32_t kRowParts = static_cast<uint32_t>(Config::kPlan.parts_m);
  static constexpr uint32_t kColumnScales = static_cast<uint32_t>(Config::kShape.n) / 32;
  static_assert(Config::kPlan.groups_n == 1 && Config::kShape.n % 64 == 0,
                "a warp keeps the scales of all columns, two of 64 in a lane");

  TILEWRIGHT_DEVICE static int64_t index(uint32_t line, uint32_t lines) {
    return line < lines ? line : lines - 1;
  }

  float scale_;
  float row_[2 * kRowParts];     // with scale_: rows lane / 4 and + 8 of each part along M
  float column_[kColumnScales];  // [i]: columns 64 (i / 2) + 2 lane + i % 2
};

/// Of an epilogue without them.
struct NoVectorScales {
  TILEWRIGHT_DEVICE explicit NoVectorScales(float) {}
  template <class Ops>
  TILEWRIGHT_DEVICE static bool present(const Ops&) {
    return false;
  }
  template <int First, class Ops, int Count>
  TILEWRIGHT_DEVICE static void apply(const Ops&, float (&)[Count]) {}
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
