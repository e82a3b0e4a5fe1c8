// GEMM cases with bias, activation, auxiliary output and amax, for any machine.
#pragma once

#include <span>
#include <vector>

#include "src/tensor_kernel_table.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// Every line of the kernel list.
std::span<const kernels::TensorKernelId> fused_kernel_ids();

/// m x n x k (as the kernel sees it) for one kernel, without any operation yet. exchanged: D is column-major,
/// and A and B are the kernel's B and A.
GemmCase fused_case(const kernels::TensorKernelId& id, const char* name, int64_t m, int64_t n, int64_t k,
                    bool exchanged = false);
/// The first 64 x 128 kernel of the list with these types, or the first of them.
const kernels::TensorKernelId& small_fused_kernel(DType a, DType d);
/// Aux of a type, packed in D's layout.
Operand aux_of(const Problem& problem, DType type);

/// Every kernel, and all pairs of D's types, bias, activations, aux, amax, sizes, paddings, alignments,
/// batches, factors, data, orders of tiles, multiprocessors and layouts of D.
std::vector<GemmCase> fused_covering_cases();
/// K from 0 up; M and N from 0 up around the edges of warps, slabs and tiles.
std::vector<GemmCase> fused_edge_cases();
/// NaN and infinities in bias and product, saturation, factors of zero, and each operation by itself.
std::vector<GemmCase> fused_value_cases();

}  // namespace tilewright::testing
