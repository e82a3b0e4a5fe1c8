// What the library's kernels store, bit for bit, where the sums of their instructions have an exact model.
#pragma once

#include <cstdint>
#include <vector>

#include "src/gemm_problem.h"
#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright {

/// Sums of products of FP8, f16, bf16, tf32, s8 and u8 operands by the model of the tensor core
/// (tilewright/emulator/tensor_core.h), and of f64 ones as chains of fused multiply-adds: dense
/// [batch][m][n]. FP8: with the problem's promotions, and its block scales if gemm has them.
std::vector<double> model_sums(const Problem& problem, const ReferenceGemm& gemm);

/// From sums to what is stored, one rounding after another as the kernel has them.
struct ModelEpilogue {
  const Problem& problem;
  const ReferenceGemm& gemm;  // C, bias, scales of rows and columns
  Factors factors;
  bool exchanged = false;  // PlanInfo::exchanged

  /// Bits of an element of D, or of aux. Not of a D after GELU, which is another function on each machine, to
  /// a few bits.
  uint64_t bits(double sum, int64_t batch, int64_t row, int64_t column, bool aux = false) const;

 private:
  float scale_of(int64_t batch, int64_t row, int64_t column) const;
  double value(double sum, int64_t batch, int64_t row, int64_t column) const;
};

/// Bits of element `index` of real numbers.
uint64_t element_bits(DType type, const void* data, int64_t index);
/// Equal bits, or both a NaN.
bool same_element(DType type, uint64_t left, uint64_t right);

}  // namespace tilewright
