// Scales from the linear layout into the packed one and back, on the device: a thread for four columns of a
// row.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/layout/scale_quantise.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// Any grid of blocks of scale_packing_block_threads threads; scale_packing_threads() in all use it best.
inline constexpr int scale_packing_block_threads = 128;

/// Packs, or unpacks: then padding is not read.
template <bool kPack>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(scale_packing_block_threads)
    scale_packing(const TILEWRIGHT_GRID_CONSTANT ScalePackingParams p) {
  const int64_t step = int64_t{arch::grid_dim().x} * scale_packing_block_threads;
  const int64_t all = scale_packing_threads(p);
  for (int64_t i = int64_t{arch::block_index().x} * scale_packing_block_threads + arch::thread_index().x;
       i < all; i += step) {
    const ScalePlace place = packed_scale_place(p.shape, scale_block_columns * i);
    const int64_t linear = scale_offset<ScaleLayout::linear>(p.shape, place);
    uint32_t word = 0;
    TILEWRIGHT_UNROLL
    for (int j = 0; j < scale_block_columns; ++j) {
      const bool inside = place.row < p.shape.rows && place.column + j < p.shape.columns;
      if constexpr (kPack) {
        word |= uint32_t{inside ? p.from[linear + j] : p.padding} << (8 * j);
      } else if (inside) {
        p.to[linear + j] = p.from[scale_block_columns * i + j];
      }
    }
    if constexpr (kPack) reinterpret_cast<uint32_t*>(p.to)[i] = word;
  }
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
