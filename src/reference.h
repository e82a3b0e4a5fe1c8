// What a GEMM should give, in FP64, and how far from it a correct kernel may be.
#pragma once

#include <cstdint>
#include <functional>

#include "tilewright/error.h"
#include "tilewright/numeric/activation.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright {

/// A batch of matrices in host memory: element (batch, i, j) is number
/// batch * batch_stride + i * row_stride + j * column_stride of the array at `data`. Any type; e2m1 is
/// packed.
struct MatrixView {
  const void* data = nullptr;
  DType type = DType::f32;
  int64_t row_stride = 0, column_stride = 1, batch_stride = 0;

  int64_t index(int64_t batch, int64_t i, int64_t j) const {
    return batch * batch_stride + i * row_stride + j * column_stride;
  }
};

/// Factors of the elements of A or B: that of element k of a line (a row of A, a column of B) is
/// data[batch * batch_stride + line / lines * line_stride + k / depth * k_stride]. No data: none.
struct ScaleView {
  const float* data = nullptr;
  int64_t lines = 1, depth = 1;  // elements that share a factor, along each
  int64_t line_stride = 0, k_stride = 0, batch_stride = 0;

  double at(int64_t batch, int64_t line, int64_t k) const {
    return data[batch * batch_stride + line / lines * line_stride + k / depth * k_stride];
  }
};

/// What comes between alpha * A B + beta * C and its scale: activation(... + bias). The bias of a row or
/// column is element batch * batch_stride + its number.
struct ReferenceEpilogue {
  BiasKind bias_kind = BiasKind::none;
  DType bias_type = DType::f32;
  const void* bias = nullptr;
  int64_t bias_batch_stride = 0;
  Activation activation = Activation::none;

  /// 0 without a bias.
  double bias_at(int64_t batch, int64_t row, int64_t column) const;
};

/// D = scale_d * activation(alpha * A B + beta * C + bias). A is m x k, B is k x n, C is m x n. Scales of A
/// and B as a whole belong into alpha. C is read only when beta is not zero, A, B and their scales only when
/// alpha and k are not; a zero scale_d gives zeros.
struct ReferenceGemm {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  MatrixView a, b, c;
  double alpha = 1, beta = 0, scale_d = 1;
  int threads = 0;  // 0: one for each core
  ScaleView a_scales{}, b_scales{};
  ReferenceEpilogue epilogue{};
};

/// Computes D into d and S into abs_sum (may be null), both dense [batch][m][n].
///
/// S = sum over k of |a~| |b~|, times the scales' magnitudes, measures what accumulation errors are
/// proportional to. For types a tensor core
/// multiplies in floating point (8-bit to tf32), |x~| is 2^e with the exponent e that the tensor core gives
/// x, or |x| if that is more: |x| for a normal number, the least normal one for a subnormal, 2^-126 for zero.
/// For all other types |x~| = |x|.
///
/// Complex A, B and C: d and abs_sum are those of the parts, [batch][m][n][part]; alpha and beta are real.
///
/// NaN and Inf propagate as in IEEE 754. `progress(done, total)` is called after each block of rows, never by
/// two threads at once. Errors: a negative extent; more than 2^31 blocks of 64 rows.
Status reference_gemm(const ReferenceGemm& gemm, double* d, double* abs_sum,
                      const std::function<void(int, int)>& progress = {});

// ---- bounds

/// |computed sum - exact sum| <= relative * S + absolute, as long as S stays below `largest` (the
/// accumulator's largest finite value). The error of the FP64 reference is included.
struct AccumulationBound {
  double relative = 0, absolute = 0;
  double largest = 0;
};

/// Sums of products in the order the library's wgmma kernels use: groups of `interval` MMAs (0: one group for
/// all of K), each started from zero, the groups' results added one after the other in FP32.
///
/// Derivation, with P products in an MMA, the cut of each term to 2^(E - F) and the cut of the result (see
/// tilewright/emulator/tensor_core.h). Cuts go towards zero, so that after step i of a group |c_i| <= Q_i,
/// the part of S of the steps 1..i; and 2^E <= Q_i, because 2^(exponent of a product) <= |a~| |b~|. The term
/// that has E is never cut: it has fewer than F fraction bits. At most P other terms lose less than 2^(E - F)
/// each; in the first step, where c is zero, P - 1.
///  * FP8: P = 32, F = 13, result to 13 bits. If |sum| < 2^(E+1) the result is not cut again and the step
///  loses at
///    most 32 * 2^-13 Q_i. Otherwise 2^E <= |sum| / 2 and it loses at most (16 + 1) 2^-13 Q_i. So a group of
///    n steps loses at most (32 n - 1) 2^-13 of its S.
///  * f16, bf16 (P = 16), tf32 (P = 8): F = 25, result to 23 bits. A step loses at most (P/4 + 1) 2^-23 Q_i.
///  * What a term or c loses it no longer has to lose, so that no group loses more than its S.
///  * G groups: G - 1 additions rounded to nearest, (G - 1) u / (1 - (G - 1) u) of S with u = 2^-24.
///  * A zero c has the exponent -126, which adds less than 2^-133 a step.
/// The bound can be nearly reached: terms just below the last place, all of one sign, lose all of themselves.
///
/// `type`: e4m3 or e5m2 (either, for mixed operands), f16, bf16, tf32. k, interval >= 0. A complex sum is one
/// of 2 k products for each part.
AccumulationBound wgmma_f32_bound(DType type, int64_t k, int64_t interval);

/// As wgmma_f32_bound with interval 4, when each group's result is multiplied by the product of two FP32
/// scales in the FP32 addition that promotes it (the first group: before it is written). That product and the
/// first multiplication round too, so that a group sees at most G + 1 roundings. `greatest`: of the products'
/// magnitudes; none of them may leave FP32's range of normal numbers.
AccumulationBound block_scaled_bound(DType type, int64_t k, double greatest);

/// The same for f16 accumulators and no promotion, type e4m3, e5m2 or f16. Each step rounds to nearest, 2^-11
/// of |sum|, which may also push |c| up: Q grows by 1 + 2^-11 a step. Subnormal c and results add less than
/// 2^-21 a step.
AccumulationBound wgmma_f16_bound(DType type, int64_t k);

/// FP32 sums of products by FMA, in any order and any number of partial sums: at most k + 8 roundings.
AccumulationBound fma_f32_bound(int64_t k);

/// FP64 sums of products by FMA.
AccumulationBound fma_f64_bound(int64_t k);

/// Exact accumulation: integers.
AccumulationBound exact_bound();

// ---- comparison

/// How D was made from the sums, for compare().
struct ComparisonRules {
  AccumulationBound accumulation;
  bool saturate = true;        // overflow of an 8-bit or 16-bit D
  bool wide_epilogue = false;  // epilogue arithmetic in FP64 instead of FP32
};

struct Comparison {
  int64_t elements = 0;
  int64_t failures = 0;
  int64_t unbounded = 0;  // of which any value passes: something may overflow on the way
  /// Frobenius norm of the error over that of the reference; of elements only that are finite and judged, as
  /// are the next three.
  double relative_error = 0;
  double reference_norm = 0, abs_sum_norm = 0;
  int64_t measured = 0;
  double max_error = 0;    // largest |got - reference| of finite elements
  double worst_ratio = 0;  // largest |got - reference| / bound of finite elements
  /// The first failure in memory order if there is one, else the element with the worst ratio.
  int64_t batch = 0, row = 0, column = 0;
  double got = 0, reference = 0, bound = 0;

  bool passed() const { return failures == 0; }
};

/// Judges every element. With e = the error of sum and FP32 epilogue, an element passes if it lies between
/// the output type's roundings of reference - e and reference + e; so overflow is judged too. A NaN reference
/// wants a NaN (0 from an integer D), an infinite one what the output type makes of infinity. Where S, or
/// what the epilogue adds or scales in turn, leaves the range of the accumulator (s32 wraps) or of the
/// epilogue, any value passes: intermediate overflow is legal there, and counted (`unbounded`). So it does
/// where that may meet an infinity of the other sign. d_reference and abs_sum are what reference_gemm(gemm,
/// ...) gave. Parts of complex elements are judged one by one, and counted so.
Comparison compare(const ReferenceGemm& gemm, const double* d_reference, const double* abs_sum,
                   const MatrixView& got, const ComparisonRules& rules,
                   const std::function<void(int, int)>& progress = {});

/// Where the largest magnitude of D, not rounded to its type, lies for a correct kernel. The arguments are
/// those of compare(); real numbers only.
struct MagnitudeRange {
  double low = 0, high = 0;
  bool nan = false;         // it is a NaN
  bool may_be_nan = false;  // it may be one: something may overflow on the way

  bool holds(double got) const;
};
MagnitudeRange greatest_magnitude(const ReferenceGemm& gemm, const double* d_reference, const double* abs_sum,
                                  const ComparisonRules& rules);

}  // namespace tilewright
