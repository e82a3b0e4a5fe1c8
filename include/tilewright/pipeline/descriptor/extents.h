// Extents of launches.
#pragma once

#include <cstdint>

#include "tilewright/config.h"

namespace tilewright::blas {

/// Extents of a block, a grid or a cluster. Converts to whatever has three numbers (dim3, arch::Index3).
struct Extent3 {
  uint32_t x = 1, y = 1, z = 1;

  TILEWRIGHT_HOST_DEVICE constexpr uint32_t count() const { return x * y * z; }
  template <class T>
  requires requires(uint32_t i) { T{i, i, i}; }
  constexpr operator T() const { return T{x, y, z}; }
  friend constexpr bool operator==(const Extent3&, const Extent3&) = default;
};

}  // namespace tilewright::blas
