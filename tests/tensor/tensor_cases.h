// GEMM cases of f16, bf16, tf32, s8 and u8 operands, for any machine.
#pragma once

#include <span>
#include <vector>

#include "src/tensor_kernel_table.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// Every line of the kernel list.
std::span<const kernels::TensorKernelId> tensor_kernel_ids();

/// m x n x k (as the kernel sees it) for one kernel: its types, contiguous dimensions, tile and cluster, and
/// leading dimensions that bulk copies address. exchanged: D is column-major, and A and B are the kernel's B
/// and A.
GemmCase tensor_case(const kernels::TensorKernelId& id, const char* name, int64_t m, int64_t n, int64_t k,
                     bool exchanged = false);
/// The first kernel of the list with these types, K-major, on the smallest tile.
const kernels::TensorKernelId& small_kernel(DType a, DType d);

/// Every kernel, and all pairs of types, contiguous dimensions, tiles, sizes, paddings, alignments, batches,
/// factors, data, orders of tiles, multiprocessors and layouts of D.
std::vector<GemmCase> tensor_covering_cases();
/// Each kernel on a problem of several tiles and K tiles, all of them ragged; as it is and exchanged in turn.
std::vector<GemmCase> tensor_kernel_cases();
/// K from 0 up around the edges of MMAs, stages and of the ring; M and N from 0 up around the edges of warps
/// and tiles.
std::vector<GemmCase> tensor_edge_cases();
/// Exact integers, conversions, NaN and infinities, factors of zero: cases with an answer known in advance.
std::vector<GemmCase> tensor_value_cases();

}  // namespace tilewright::testing
