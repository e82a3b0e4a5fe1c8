// What the FP32 kernels promise bit for bit: chains of fused multiply-adds.
#pragma once

#include <vector>

#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright::testing {

/// Sums of products of a plan for f32 operands, dense [batch][m][n]: each part of K one chain of fused
/// multiply-adds from zero in the order of K, and the parts added in that order. Where the parts are cut is
/// worked out from what PlanInfo says.
std::vector<float> simt_sums(const PlanInfo& plan, const Problem& problem, const MatrixView& a,
                             const MatrixView& b);

}  // namespace tilewright::testing
