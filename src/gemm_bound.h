// How far the D of a Problem may be from its FP64 reference.
#pragma once

#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright {

/// The bound of the sums of the kernels that plan() chooses from, and how their epilogue rounds.
ComparisonRules comparison_rules(const Problem& problem);

}  // namespace tilewright
