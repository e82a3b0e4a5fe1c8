// A product of complex matrices as one of real matrices, whose sums and magnitudes are those of the parts.
#pragma once

#include <cstdint>
#include <vector>

#include "src/reference.h"

namespace tilewright {

/// The real and the imaginary part of an element are neighbours in a row: A is m x 2 k, C and D are m x 2 n.
/// B is 2 k x 2 n: (x, y) of it becomes the rows (x, y), (-y, x). The matrices are copies.
struct RealForm {
  ReferenceGemm gemm;
  std::vector<uint8_t> a, b, c;

  explicit RealForm(const ReferenceGemm& complex);
  RealForm(const RealForm&) = delete;
  RealForm& operator=(const RealForm&) = delete;
};

/// The parts of the elements of rows x columns matrices, dense; `bytes` holds them.
MatrixView real_parts(const MatrixView& complex, int64_t rows, int64_t columns, int64_t batches,
                      std::vector<uint8_t>& bytes);

}  // namespace tilewright
