// Cases for one kernel of the tensor-core lists, with or without operations after the product.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/tensor_kernel_table.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

inline Operand operand_in(DType type, bool row_major) {
  return {.type = type, .layout = row_major ? Layout::row_major : Layout::column_major};
}

/// Rows and columns of a kernel's D in the order of the caller's.
inline Shape2 flip_if(bool exchanged, int64_t m, int64_t n) {
  return exchanged ? Shape2{n, m} : Shape2{m, n};
}

/// rows x columns x depth (as the kernel sees it) in its types, contiguous dimensions and tile, with leading
/// dimensions that bulk copies address. exchanged: D is column-major, and A and B are the kernel's B and A.
inline GemmCase kernel_case(const kernels::TensorKernelId& id, const char* name, int64_t rows,
                            int64_t columns, int64_t depth, bool exchanged) {
  GemmCase c;
  c.name = name;
  Problem& p = c.problem;
  const Shape2 extents = flip_if(exchanged, rows, columns);
  p.m = extents.m, p.n = extents.n, p.k = depth;
  // A kernel's A is the problem's A, or its B transposed.
  p.a = exchanged ? operand_in(id.b, id.k_major_b) : operand_in(id.a, id.k_major_a);
  p.b = exchanged ? operand_in(id.a, !id.k_major_a) : operand_in(id.b, !id.k_major_b);
  p.c = p.d = operand_in(id.d, !exchanged);
  pad_for_bulk(p);
  c.options.tile = flip_if(exchanged, id.tile_m, id.tile_n);
  return c;
}

/// Of the kernels that `accept` takes, of which there is one, the first with the smallest tile.
template <class Accept>
const kernels::TensorKernelId& smallest_kernel(std::span<const kernels::TensorKernelId> ids, Accept accept) {
  const kernels::TensorKernelId* best = nullptr;
  for (const kernels::TensorKernelId& id : ids)
    if (accept(id) && (best == nullptr || id.tile_m * id.tile_n < best->tile_m * best->tile_n)) best = &id;
  return *best;
}

/// make(exchanged) as it is and exchanged, each after change(case), behind the others.
template <class Make, class Change>
void add_both_ways(std::vector<GemmCase>& cases, Make&& make, Change&& change) {
  for (const bool exchanged : {false, true}) {
    GemmCase c = make(exchanged);
    change(c);
    cases.push_back(std::move(c));
  }
}

}  // namespace tilewright::testing
