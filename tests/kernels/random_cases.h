// Random problems whose extents sit on and beside the edges of instructions, chunks and tiles.
#pragma once

#include <vector>

#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// `count` cases, the same for the same seed. Leading dimensions are packed or not, and nothing is chosen
/// that the planner could choose, in about half of them; all can be planned. `scale` >= 1 multiplies the
/// larger extents.
std::vector<GemmCase> random_cases(Device device, uint64_t seed, int count, int64_t scale = 1);
/// The same of products with FP32 scales of rows and columns, or of blocks.
std::vector<GemmCase> random_scaled_cases(Device device, uint64_t seed, int count, int64_t scale = 1);

}  // namespace tilewright::testing
