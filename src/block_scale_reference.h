// What a block-scaled GEMM should give, in FP64, from the dequantised inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "src/reference.h"
#include "tilewright/layout/scale_tensor.h"

namespace tilewright {

/// D = alpha * A B^T + beta * C with A of `m` rows and B of `n` rows, both block-scaled with the same K and
/// the same number of batches.
struct BlockScaledReference {
  ReferenceGemm gemm;           // the dequantised operands as f64: what compare() takes
  std::vector<double> d;        // [batch][m][n]
  std::vector<double> abs_sum;  // S of reference.h, of block_scaled_magnitude()
  AccumulationBound bound;      // of the tensor core's sums
  std::vector<double> a, b;     // dequantised; `gemm` points here
};

/// |x~| of an element: the element times its scale, both at least the least normal number of their types. An
/// element that is zero counts as 2^-126, but for FP4 beside FP4 (`packed`), which are aligned by their
/// scales alone: there it is as large as the least normal one, so that a bound holds whatever scales zeros
/// have.
double block_scaled_magnitude(const BlockScaledTensor& tensor, int64_t batch, int64_t row, int64_t column,
                              bool packed);

/// `c` may be empty when beta is 0. Errors: operands with different K, batches or scale vectors.
Expected<BlockScaledReference> reference_block_scaled(const BlockScaledTensor& a, const BlockScaledTensor& b,
                                                      const MatrixView& c = {}, double alpha = 1,
                                                      double beta = 0);

/// Sums of a tcgen05.mma.block_scale loop over k in one FP32 accumulator (model in
/// tilewright/emulator/tcgen05_core.h), relative to S.
///  * mxf8f6f4, 32 products a step, F = 25: as wgmma_f32_bound for types of F = 25, (32 / 4 + 1) 2^-23 a
///  step.
///  * mxf4 and mxf4nvf4, 64 products a step in exact groups of 16: at most 5 terms cut to 2^(E - 35), where
///    2^E is at most S times 2 (a scale with a mantissa), and one cut of the result, 2^-23: less than
///    1.01 * 2^-23 a step.
AccumulationBound block_scaled_bound(BlockFormat a, BlockFormat b, int64_t k);

}  // namespace tilewright
