// What one block computes with mma.sync, as a type, and the accumulators of one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/mma_sync_plan.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Compile-time shape of a tile. TypeA, TypeB: numbers of arch/. TypeRegister: float, int32_t, double, or
/// uint32_t for pairs of f16.
template <class TypeA, class TypeB, class TypeRegister, tiles::MmaSyncShape TileShape, int StageCount>
struct MmaSyncConfig {
  using A = TypeA;
  using B = TypeB;
  using Register = TypeRegister;
  static constexpr tiles::MmaSyncShape kShape = TileShape;
  static constexpr tiles::MmaSyncPlan kPlan = tiles::mma_sync_plan(TileShape);
  static constexpr tiles::MmaSyncLayout kLayoutA = tiles::mma_sync_layout_a(TileShape),
                                        kLayoutB = tiles::mma_sync_layout_b(TileShape);
  static constexpr uint32_t kStages = static_cast<uint32_t>(StageCount);
  static constexpr uint32_t kConsumerWarps = static_cast<uint32_t>(TileShape.threads) / 32;
  static constexpr uint32_t kClusterM = 1, kClusterN = 1;
  static constexpr bool kTunable = false;
  static constexpr bool kMulticast = false, kReallocates = false;
  /// Arrivals that free a stage.
  static constexpr uint32_t kEmptyArrivals = kConsumerWarps;
  static constexpr int kTilesM = kPlan.tiles_m, kTilesN = kPlan.tiles_n;
  static constexpr int kParts = TileShape.is_complex ? 2 : 1;  // of a number
  static constexpr int kRegisters = std::is_same_v<Register, uint32_t> ? 2 : 4;

  static_assert(StageCount >= 1 && StageCount <= kPlan.max_depth, "the stages do not fit in shared memory");
  static_assert(kPlan.warps_m != 0 && kPlan.steps > 0, "the tile cannot be cut into MMAs of whole warps");

  /// Accumulators of one thread: the real parts, then the imaginary ones.
  using Accumulators = Register[kParts][kTilesM][kTilesN][kRegisters];

  /// The calling thread among those that compute. Blocks of a pipeline are one-dimensional.
  static TILEWRIGHT_DEVICE uint32_t thread() {
    if constexpr (kShape.in_pipeline) {
      return arch::thread_index().x;
    } else {
      return arch::linear_thread_index();
    }
  }
  /// First row and column of a warp in the tile.
  static TILEWRIGHT_DEVICE uint32_t warp_row(uint32_t warp) {
    return warp % static_cast<uint32_t>(kPlan.warps_m) * static_cast<uint32_t>(16 * kTilesM);
  }
  static TILEWRIGHT_DEVICE uint32_t warp_column(uint32_t warp) {
    return warp / static_cast<uint32_t>(kPlan.warps_m) * static_cast<uint32_t>(8 * kTilesN);
  }
};

/// The accumulators of one thread, in parts of 16 rows as wide as the warp. Elements 2 i and 2 i + 1 of a
/// part are neighbours in a row.
///
/// Row g of an MMA (PTX ISA, mma.sync fragments) is row g of its 16 rows, and row g + 8 is; where A is read
/// as bytes with M contiguous, they are rows 2 g and 2 g + 1. The columns of two MMAs follow each other;
/// where B is read as bytes with N contiguous, they alternate.
template <class Config>
struct MmaSyncFragment {
  using config_type = Config;
  static constexpr int rows = Config::kShape.m, columns = Config::kShape.n;  // of the tile
  static constexpr int threads = Config::kShape.threads;                     // that hold elements
  static constexpr int parts = Config::kTilesM;
  static constexpr int part_size = 4 * Config::kTilesN;  // elements of a thread in one part
  static constexpr bool stores_pairs = true;
  static constexpr bool kRowPairs = Config::kLayoutA.read == tiles::MmaSyncRead::transposed_bytes;
  static constexpr bool kColumnPairs = Config::kLayoutB.read == tiles::MmaSyncRead::transposed_bytes;

  typename Config::Accumulators registers;

  static TILEWRIGHT_DEVICE uint32_t thread() { return Config::thread(); }
  /// Position of element 0 of a part, in the tile.
  static TILEWRIGHT_DEVICE blas::Coord first(int part) {
    const uint32_t thread = Config::thread(), lane = thread % 32, warp = thread / 32;
    return {Config::warp_row(warp) + static_cast<uint32_t>(16 * part) + (kRowPairs ? 2 : 1) * (lane / 4),
            Config::warp_column(warp) + (kColumnPairs ? 4 : 2) * (lane % 4)};
  }
  /// Rows and columns from element 0 of a part to element i.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t down(int i) {
    return (kRowPairs ? 1 : 8) * static_cast<uint32_t>(i >> 1 & 1);
  }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t across(int i) {
    return static_cast<uint32_t>(kColumnPairs ? 16 * (i >> 3) + 2 * (i >> 2 & 1) + (i & 1)
                                              : 8 * (i >> 2) + (i & 1));
  }

  /// Element i of a part. Two f16 share a register.
  template <class Value>
  TILEWRIGHT_DEVICE Value element(int part, int i) const {
    const int tile = kColumnPairs ? 2 * (i >> 3) + (i & 1) : i >> 2;
    const int in_tile = kColumnPairs ? (i & 2) + (i >> 2 & 1) : i & 3;
    if constexpr (Config::kShape.is_complex) {
      using Number = typename Value::value_type;
      return {number<Number>(registers[0][part][tile], in_tile),
              number<Number>(registers[1][part][tile], in_tile)};
    } else {
      return number<Value>(registers[0][part][tile], in_tile);
    }
  }

 private:
  template <class Number>
  TILEWRIGHT_DEVICE static Number number(const typename Config::Register (&of)[Config::kRegisters], int i) {
    if constexpr (std::is_same_v<typename Config::Register, uint32_t>) {
      const auto half = static_cast<uint16_t>(of[i / 2] >> (16 * (i % 2)));
      Number value;
      memcpy(static_cast<void*>(&value), &half, sizeof(half));
      return value;
    } else {
      return of[i];
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
