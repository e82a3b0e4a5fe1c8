// Which columns of tensor memory hold the accumulators and the scales of a block-scaled tile.
//
// A multiprocessor has 512 columns. Two accumulators of 256 columns fill them and leave no room for scales,
// so the two overlap by exactly the columns that the scales need:
//
//   0            256 - V     256           512 - V   512
//   [ left .................. )
//                [ right ................. )
//                                          [ scales )
//
// Odd tiles are accumulated on the right, even ones on the left. The epilogue drains the shared columns first
// (the left window from the top down, the right one from the bottom up) and then lets the next tile begin.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/config.h"
#include "tilewright/layout/scale_factors.h"

namespace tilewright {

inline constexpr int tmem_lanes = 128;
inline constexpr int tmem_columns = 512;  // 32-bit words of each lane

/// Columns [first, first + count) of tensor memory.
struct TmemRange {
  int first = 0, count = 0;

  TILEWRIGHT_HOST_DEVICE constexpr int end() const { return first + count; }
  TILEWRIGHT_HOST_DEVICE constexpr bool contains(int column) const {
    return column >= first && column < end();
  }
  friend constexpr bool operator==(const TmemRange&, const TmemRange&) = default;
};

/// What a plan is made for. The tile of a pair of CTAs is 256 x 256: 128 rows and all 256 columns in each
/// CTA.
struct TmemPlanShape {
  int k_tile = 256;           // elements of K whose scales lie in tensor memory at a time
  int vector = 16;            // elements per scale
  int epilogue_columns = 32;  // of a subtile that the epilogue drains at a time
  bool overlap = true;        // two overlapping accumulators, or one

  friend constexpr bool operator==(const TmemPlanShape&, const TmemPlanShape&) = default;
};

inline constexpr int tmem_tile_columns = 256;

/// Columns of tensor memory for the storage of a tile. All of it is the CTA's own.
struct TmemPlan {
  TmemPlanShape shape;
  TmemRange left, right;      // accumulators of even and of odd tiles; the same without overlap
  TmemRange a_scales;         // of the CTA's 128 rows
  TmemRange b_scales;         // of all 256 columns of the tile
  int early_release_subtile;  // after this many and one subtiles the shared columns are drained; 0 without
                              // overlap

  TILEWRIGHT_HOST_DEVICE constexpr int subtiles() const { return tmem_tile_columns / shape.epilogue_columns; }
  /// Columns that both accumulators use.
  TILEWRIGHT_HOST_DEVICE constexpr int shared_columns() const {
    return shape.overlap ? left.end() - right.first : 0;
  }
  /// The accumulator of the CTA's `tile`-th tile.
  TILEWRIGHT_HOST_DEVICE constexpr TmemRange accumulator(uint32_t tile) const {
    return tile % 2 == 0 ? left : right;
  }
  /// First column, counted from the accumulator's, of the `step`-th subtile that the epilogue of that tile
  /// drains.
  TILEWRIGHT_HOST_DEVICE constexpr int subtile_column(uint32_t tile, int step) const {
    const bool downwards = shape.overlap && tile % 2 == 0;
    return shape.epilogue_columns * (downwards ? subtiles() - 1 - step : step);
  }
};

/// Columns that the scales of `rows` rows (a multiple of 128) and `k_tile` elements of K take: four 8-bit
/// scales of a row in a word, 128 rows in four columns.
TILEWRIGHT_HOST_DEVICE constexpr int tmem_scale_columns(int rows, int k_tile, int vector) {
  return rows / 128 * (k_tile / vector);
}

/// Whether a plan exists: scales in whole words, subtiles that divide the tile, fewer scale columns than a
/// tile has.
TILEWRIGHT_HOST_DEVICE constexpr bool is_legal(const TmemPlanShape& shape) {
  if (shape.vector <= 0 || shape.k_tile <= 0 || shape.k_tile % (4 * shape.vector) != 0) return false;
  if (shape.epilogue_columns <= 0 || tmem_tile_columns % shape.epilogue_columns != 0) return false;
  return tmem_scale_columns(128, shape.k_tile, shape.vector) +
             tmem_scale_columns(tmem_tile_columns, shape.k_tile, shape.vector) <
         tmem_tile_columns;
}

/// The plan for a legal shape.
TILEWRIGHT_HOST_DEVICE constexpr TmemPlan tmem_plan(const TmemPlanShape& shape) {
  const int a = tmem_scale_columns(128, shape.k_tile, shape.vector);
  const int b = tmem_scale_columns(tmem_tile_columns, shape.k_tile, shape.vector);
  const int right = shape.overlap ? tmem_tile_columns - (a + b) : 0;
  const int scales = shape.overlap ? tmem_columns - (a + b) : tmem_tile_columns;
  return {.shape = shape,
          .left = {0, tmem_tile_columns},
          .right = {right, tmem_tile_columns},
          .a_scales = {scales, a},
          .b_scales = {scales + a, b},
          .early_release_subtile = shape.overlap ? (a + b - 1) / shape.epilogue_columns : 0};
}

/// The plan as a picture: one character for every 8 columns, one line for each range with its columns, one
/// for the order in which the epilogue drains each accumulator. Ends in a newline. `shape` is legal.
std::string draw_tmem(const TmemPlanShape& shape);

}  // namespace tilewright
