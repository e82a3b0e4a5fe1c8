// Block-scaled products on tensor cores without block scales: cases for any machine that is an sm_90a.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/block_scale_random.h"
#include "src/reference.h"
#include "tests/kernels/test_machine.h"

namespace tilewright::testing {

struct DequantisedCase {
  std::string name;
  BlockFormat a = BlockFormat::mxfp8, b = BlockFormat::mxfp8;
  int64_t m = 140, n = 200, k = 256, l = 1;
  DType d = DType::f16, c = DType::f16;
  float alpha = 1, beta = 0;
  float scale_a = 1, scale_b = 1, scale_d = 1;
  BlockInit init = BlockInit::full_range;
  uint64_t seed = 1;
  int64_t operand_padding = 0;  // elements between rows of A and B, besides those that K is padded by
  int64_t d_padding = 0;        // columns between rows of D, and of C one more
  int64_t d_offset = 0;         // elements that D is off its alignment
  Options options{};
  /// Changes the random operands.
  std::function<void(BlockScaledTensor& a, BlockScaledTensor& b)> edit;
  int runs = 2;
};

struct DequantisedResult {
  std::string failure;
  PlanInfo info;
  std::vector<uint8_t> d;          // with its padding
  std::vector<uint8_t> workspace;  // what the last run left
};

/// Operands of a case on the host.
struct DequantisedOperands {
  explicit DequantisedOperands(const DequantisedCase& c);

  /// What is planned, for any chip.
  Problem problem() const;
  /// Scales of a tensor at an address of the machine's memory.
  static PackedBlockScales scales_at(const BlockScaledTensor& tensor, const void* data);

  const DequantisedCase& case_;
  BlockScaledTensor a, b;                       // K padded; the padding is not zero but poison
  std::vector<uint8_t> a_elements, b_elements;  // with operand_padding
  std::vector<uint8_t> a_scales, b_scales;      // packed, padding poisoned
  std::vector<uint8_t> c_matrix;
  int64_t a_ld = 0, b_ld = 0, c_ld = 0, d_ld = 0;
  size_t d_bytes = 0;
};

/// The power of two that a line of e8m0 scales is divided by, as docs/block-scaled.md has it; 0 for others.
int line_shift(const BlockScaledTensor& tensor, int64_t batch, int64_t line);
/// A matrix as bf16, [batch][line][k], each line divided by 2^(its shift).
std::vector<uint16_t> dequantised_bits(const BlockScaledTensor& tensor, int64_t k);

/// The FP64 product of the matrices that dequantised_bits() gives, with its bound.
struct DequantisedReference {
  explicit DequantisedReference(const DequantisedOperands& operands);
  /// Judges a D of the case's type, leading dimension d_ld.
  Comparison judge(const void* d) const;

  const DequantisedOperands& operands;
  std::vector<uint16_t> a, b;
  std::vector<float> a_powers, b_powers;
  ReferenceGemm gemm;
  std::vector<double> d, abs_sum;
};

/// Plans and runs a case on poisoned memory, and judges every element, every guard and repeated runs.
/// `judged` false: only guards and repetition.
DequantisedResult run_dequantised_case(const DequantisedCase& c, TestMachine& machine, bool judged = true);

/// All formats with what a problem has: outputs, C, factors, batches, ragged and padded shapes, tiles.
std::vector<DequantisedCase> dequantised_cases();
/// Scales at the ends of their range, NaN among them.
std::vector<DequantisedCase> outer_scale_cases();

/// Reports the failures of all cases and prints how many passed.
void expect_dequantised_pass(const char* group, const std::vector<DequantisedCase>& cases,
                             TestMachine& machine);

/// Every element with every scale: what the first kernel leaves in the workspace, bit for bit. nvfp4: with
/// both signs of the scale.
void expect_every_code_dequantised(BlockFormat format, TestMachine& machine);
/// The same bits as a bf16 product of matrices that the host dequantised.
void expect_bits_of_bf16_product(BlockFormat a, BlockFormat b, TestMachine& machine);

}  // namespace tilewright::testing
