// Words for the shape of matrices: arrangement, compile-time extents, coordinates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/config.h"

namespace tilewright::blas {

enum class arrangement : uint8_t { row_major, col_major };
inline constexpr arrangement row_major = arrangement::row_major;
inline constexpr arrangement col_major = arrangement::col_major;

/// Rows and columns known at compile time.
template <int Rows, int Columns>
struct Shape {
  static constexpr int rows = Rows, columns = Columns;
};

/// Two indices: (row, column) of an element, or (tile, batch) of an operand. Can be taken apart with
/// `auto [m, n] = coord` and get<0>(coord).
struct Coord {
  uint32_t m = 0, n = 0;

  friend TILEWRIGHT_HOST_DEVICE constexpr bool operator==(Coord a, Coord b) {
    return a.m == b.m && a.n == b.n;
  }
};

template <class M, class N>
TILEWRIGHT_HOST_DEVICE constexpr Coord make_coord(M m, N n) {
  return {static_cast<uint32_t>(m), static_cast<uint32_t>(n)};
}

template <size_t I>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t get(Coord coord) {
  static_assert(I < 2, "a coordinate has two indices");
  return I == 0 ? coord.m : coord.n;
}

}  // namespace tilewright::blas
