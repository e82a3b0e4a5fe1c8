// How far the D of a Problem may be from its FP64 reference.
#pragma once

#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright {

/// The bound of the sums of the kernels that plan() chooses from, and how their epilogue rounds.
/// greatest_scale: the largest magnitude that a scale of A times one of B has (FP32 scales of rows and
/// columns, or of blocks).
ComparisonRules comparison_rules(const Problem& problem, double greatest_scale = 1);

}  // namespace tilewright
