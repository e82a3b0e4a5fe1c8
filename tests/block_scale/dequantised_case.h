// Block-scaled products on tensor cores without block scales: cases for any machine that is an sm_90a.
#pragma once

#include <cstdint>
#include <vector>

#include "src/reference.h"
#include "tests/block_scale/problem_case.h"

namespace tilewright::testing {

/// The power of two that a line of e8m0 scales is divided by, as docs/block-scaled.md has it; 0 for others.
int line_shift(const BlockScaledTensor& tensor, int64_t batch, int64_t line);
/// A matrix as bf16, [batch][line][k], each line divided by 2^(its shift).
std::vector<uint16_t> dequantised_bits(const BlockScaledTensor& tensor, int64_t k);

/// The FP64 product of the matrices that dequantised_bits() gives, with its bound.
struct DequantisedReference {
  explicit DequantisedReference(const ProblemOperands& operands);
  /// Judges a D of the case's type, leading dimension d_ld.
  Comparison judge(const void* d) const;

  const ProblemOperands& operands;
  std::vector<uint16_t> a, b;
  std::vector<float> a_powers, b_powers;
  ReferenceGemm gemm;
  std::vector<double> d, abs_sum;
};

/// run_problem_case on an sm_90a, judged by that reference. `judged` false: only guards and repetition.
ProblemResult run_dequantised_case(const ProblemCase& c, TestMachine& machine, bool judged = true);

/// All formats with what a problem has: outputs, C, factors, batches, ragged and padded shapes, tiles.
std::vector<ProblemCase> dequantised_cases();
/// Scales at the ends of their range, NaN among them.
std::vector<ProblemCase> outer_scale_cases();

/// Every element with every scale: what the first kernel leaves in the workspace, bit for bit. nvfp4: with
/// both signs of the scale.
void expect_every_code_dequantised(BlockFormat format, TestMachine& machine);
/// The same bits as a bf16 product of matrices that the host dequantised.
void expect_bits_of_bf16_product(BlockFormat a, BlockFormat b, TestMachine& machine);

}  // namespace tilewright::testing
