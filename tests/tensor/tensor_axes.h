// Axes that the covering arrays of the tensor-core kernels share.
#pragma once

#include <array>
#include <cstdint>

#include "src/tensor_kernel_table.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// (rows, columns, K) at each of five levels for a kernel's tile. columns: fewer than a tile's, of which D's
/// rows end where bulk stores can end them.
inline std::array<int64_t, 3> size_at_level(const kernels::TensorKernelId& id, int level, int64_t columns) {
  const int64_t m = id.tile_m, n = id.tile_n, k = kernels::tensor_tile_k(id);
  switch (level) {
    case 0:
      return {m + 1, n + columns, k + k / 2};
    case 1:
      return {2 * m, n, 2 * k};
    case 2:
      return {5, n + columns % 32, 7};
    case 3:
      return {2 * m - 7, columns, 3 * k + 5};
    default:
      return {m + 16, 33, k};
  }
}

/// C and D with packed rows (level 0), as they are, or with nothing in pairs (level 2).
inline void set_padding_level(GemmCase& c, int level) {
  Problem& p = c.problem;
  if (level == 0)
    p.c.ld = p.d.ld = p.d.layout == Layout::row_major ? p.n : p.m;  // bulk stores or not, as it comes
  if (level == 2) {
    pad_for_bulk(p, 1);
    p.c.ld += 1, p.d.ld += 3;
  }
}

/// alpha and beta at each of six levels: host scalars but for level 4; level 5 is for C and D in one place.
inline void set_factor_level(GemmCase& c, int level) {
  constexpr std::array<std::array<float, 2>, 6> kFactors{
      {{1, 0}, {-1.25f, 0}, {0.5f, 2}, {0, 1}, {1.5f, -0.75f}, {1, 1}}};
  c.problem.alpha = kFactors[static_cast<size_t>(level)][0];
  c.problem.beta = kFactors[static_cast<size_t>(level)][1];
  c.device_scalars = level == 4;
}

}  // namespace tilewright::testing
