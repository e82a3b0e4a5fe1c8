// Which FP32 scales a Problem has besides one factor for each operand.
#pragma once

#include <cstdint>
#include <vector>

#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright {

/// The scales of A or B: how many of them, and what shares one.
struct ScaleGrid {
  int64_t lines = 0, k_blocks = 0;            // of one batch; no lines: no scales
  int64_t line_elements = 1, k_elements = 1;  // rows of A or columns of B, and elements along K
  bool k_contiguous = false;                  // packed: the scales along K are neighbours, else the lines are

  int64_t count() const { return lines * k_blocks; }
  /// Of packed ones.
  int64_t line_stride() const { return k_contiguous ? k_blocks : 1; }
  int64_t k_stride() const { return k_contiguous ? 1 : lines; }
};
ScaleGrid scales_of_a(const Problem& problem);
ScaleGrid scales_of_b(const Problem& problem);

/// Packed scales in host memory as the factors that they are.
ScaleView packed_scale_view(const ScaleGrid& grid, const float* data);

/// Scales from [1/2, 2), all batches of the problem packed. Empty if it has none.
std::vector<float> random_scales(const ScaleGrid& grid, int64_t batches, uint64_t seed);
constexpr double kGreatestRandomScale = 2;

}  // namespace tilewright
