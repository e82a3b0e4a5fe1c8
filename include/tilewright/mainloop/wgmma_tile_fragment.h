// The accumulators of one thread of a wgmma tile, and which elements of the tile they are.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/wgmma_tile_loads.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Parts of 64 rows, one wgmma wide. Elements 2 i and 2 i + 1 of a part are neighbours in a row (PTX ISA,
/// wgmma register fragments). Parts: those of all products of a tile, or of one.
template <class Config, int Parts = Config::kPlan.parts_of_product()>
struct WgmmaFragment {
  using config_type = Config;
  static constexpr int rows = Config::kShape.m, columns = Config::kShape.n;  // of the tile
  static constexpr int threads = Config::kShape.threads;                     // that hold elements
  static constexpr int parts = Parts;
  static constexpr int part_size = Config::kPlan.part_n / 2;  // elements of a thread in one part

  static constexpr bool stores_pairs = true;  // neighbours together, where memory allows it

  typename Config::Register registers[Parts][Config::kRegisters];

  /// The calling thread among those that compute. Blocks of a pipeline are one-dimensional.
  static TILEWRIGHT_DEVICE uint32_t thread() { return arch::thread_index().x; }
  /// Position of element 0 of a part, in the tile. Plain arithmetic, so that differences of positions fold to
  /// constants.
  static TILEWRIGHT_DEVICE blas::Coord first(int part) {
    const uint32_t thread = WgmmaFragment::thread(), lane = thread % 32, warp = thread / 32;
    const uint32_t group = warp / 4;
    return {Config::part_row(group, part) + 16 * (warp % 4) + lane / 4,
            Config::part_column(group, part) + 2 * (lane % 4)};
  }
  /// Rows and columns from element 0 of a part to element i.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t down(int i) {
    return 8 * static_cast<uint32_t>((i >> 1) & 1);
  }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t across(int i) {
    return static_cast<uint32_t>(8 * (i >> 2) + (i & 1));
  }

  /// Element i of a part. Two f16 share a register.
  template <class Value>
  TILEWRIGHT_DEVICE Value element(int part, int i) const {
    if constexpr (std::is_same_v<typename Config::Register, uint32_t>) {
      const auto half = static_cast<uint16_t>(registers[part][i / 2] >> (16 * (i % 2)));
      Value value;
      memcpy(static_cast<void*>(&value), &half, sizeof(half));
      return value;
    } else {
      return registers[part][i];
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
