// What one block computes of an FP32 tile, as a type, and the accumulators of one thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/simt_complex.h"
#include "tilewright/mainloop/simt_f32.h"
#include "tilewright/mainloop/simt_tile_plan.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Compile-time shape of a tile of the ordinary cores, for SimtLoop and SimtLoads.
template <tiles::SimtTileShape TileShape, int StageCount>
struct SimtTileConfig {
  using Register = float;
  static constexpr tiles::SimtTileShape kShape = TileShape;
  static constexpr tiles::SimtTilePlan kPlan = tiles::simt_tile_plan(TileShape, StageCount);
  static constexpr int kTileM = TileShape.m, kTileN = TileShape.n;
  static constexpr kernels::SimtPipeline kPipeline = kernels::SimtPipeline::producer;
  static constexpr kernels::SimtLoad kLoadA =
      TileShape.bulk_a ? kernels::SimtLoad::tma : kernels::SimtLoad::gather;
  static constexpr kernels::SimtLoad kLoadB =
      TileShape.bulk_b ? kernels::SimtLoad::tma : kernels::SimtLoad::gather;
  static constexpr bool kZeroRows = true;  // accumulators of rows that do not exist may be looked at
  static constexpr tiles::OperandLayout kLayoutA =
                                            tiles::simt_layout(TileShape.m, TileShape.k, kPlan.pitch_a),
                                        kLayoutB =
                                            tiles::simt_layout(TileShape.n, TileShape.k, kPlan.pitch_b);
  static constexpr uint32_t kStages = static_cast<uint32_t>(StageCount);
  static constexpr uint32_t kConsumerWarps = static_cast<uint32_t>(TileShape.threads) / 32;
  static constexpr uint32_t kClusterM = 1, kClusterN = 1;
  static constexpr bool kTunable = false;
  static constexpr bool kMulticast = false, kReallocates = false;
  /// Arrivals that free a stage.
  static constexpr uint32_t kEmptyArrivals = kConsumerWarps;
  static constexpr bool kComplex = TileShape.is_complex;
  using RealTile = SimtTile<kTileM, kTileN, kPlan.thread_m, kPlan.thread_n, kPlan.pitch_a, kPlan.pitch_b>;
  using Tile = std::conditional_t<kComplex, SimtComplexTile<RealTile>, RealTile>;

  /// The calling thread among those that compute. Blocks of a pipeline are one-dimensional.
  static TILEWRIGHT_DEVICE uint32_t thread() { return arch::thread_index().x; }

  static_assert(StageCount >= 1 && StageCount <= kPlan.max_depth, "the stages do not fit in shared memory");
  static_assert(kPlan.consumers == static_cast<uint32_t>(TileShape.threads), "one warpgroup computes a tile");
  static_assert(kLayoutA.bytes % 128 == 0 && kPlan.stage_bytes % 128 == 0, "bulk copies start on 128 bytes");
};

/// The accumulators of one thread, in parts of four rows. Elements 2 i and 2 i + 1 of a part are neighbours
/// in a row.
template <class Config>
struct SimtFragment {
  using config_type = Config;
  using Tile = typename Config::Tile;
  static constexpr int kColumns = Config::kPlan.thread_n;
  static constexpr int rows = Config::kShape.m, columns = Config::kShape.n;  // of the tile
  static constexpr int threads = Config::kShape.threads;                     // that hold elements
  static constexpr int parts = Config::kPlan.thread_m / 4;
  static constexpr int part_size = 4 * kColumns;  // elements of a thread in one part
  /// Stores of two neighbours at once would tie the parity of accumulator registers to that of operands.
  static constexpr bool stores_pairs = false;

  typename Tile::Accumulators registers;

  static TILEWRIGHT_DEVICE uint32_t thread() { return Config::thread(); }
  /// Position of element 0 of a part, in the tile.
  static TILEWRIGHT_DEVICE blas::Coord first(int part) {
    const uint32_t thread = Config::thread();
    return {Tile::row(thread) + Tile::row_of(4 * part), Tile::column(thread)};
  }
  /// Rows and columns from element 0 of a part to element i.
  static TILEWRIGHT_DEVICE constexpr uint32_t down(int i) { return Tile::row_of(i / kColumns); }
  static TILEWRIGHT_DEVICE constexpr uint32_t across(int i) { return Tile::column_of(i % kColumns); }

  /// Element i of a part.
  template <class Value>
  TILEWRIGHT_DEVICE Value element(int part, int i) const {
    const int row = 4 * part + i / kColumns, column = i % kColumns;
    if constexpr (Config::kComplex) {
      return {registers[0][row][column], registers[1][row][column]};
    } else {
      return registers[row][column];
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
