// How far results are from FP64, on some rows of D.
#pragma once

#include <cstdint>
#include <vector>

#include "src/reference.h"
#include "tilewright/error.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// FP64 values of evenly spaced rows of D = A B, packed operands in the problem's layouts.
class SampledReference {
 public:
  /// a, b and their scales: host memory.
  static Expected<SampledReference> make(const Problem& problem, const void* a, const void* b,
                                         const ScaleView& a_scales = {}, const ScaleView& b_scales = {});

  /// Frobenius norm of d - reference over that of the reference, on the rows. d: all of D, packed.
  double error_of(const std::vector<float>& d) const;

 private:
  Problem problem_;
  int64_t step_ = 1, rows_ = 0;
  std::vector<double> values_;  // [column][row]
};

}  // namespace tilewright::cli
