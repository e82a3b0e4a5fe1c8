// What the tensor-core kernels without promotion compute, bit for bit: one chain of MMAs along K.
#pragma once

#include <vector>

#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright::testing {

/// Sums of products of f16, bf16, tf32, s8, u8 and f64 operands by the model of the tensor core, dense
/// [batch][m][n].
std::vector<double> wgmma_sums(const Problem& problem, const MatrixView& a, const MatrixView& b);

}  // namespace tilewright::testing
