// Block-scaled Problems: cases for any machine that has kernels for them, run through plan().
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/block_scale_random.h"
#include "src/reference.h"
#include "tests/block_scale/format_pairs.h"
#include "tests/kernels/test_machine.h"

namespace tilewright::testing {

inline constexpr std::array<DType, 3> kOutputs{DType::f16, DType::bf16, DType::f32};

/// A problem and how it is planned and run: D (m x n, l batches) of A (m x k) and B (k x n).
struct ProblemCase {
  std::string name;
  BlockFormat a = BlockFormat::mxfp8, b = BlockFormat::mxfp8;
  int64_t m = 140, n = 200, k = 256, l = 1;
  DType d = DType::f16, c = DType::f16;
  float alpha = 1, beta = 0;
  float scale_a = 1, scale_b = 1, scale_d = 1;
  bool shared_a = false, shared_b = false;  // one matrix, with one batch of scales, for all batches
  BlockInit init = BlockInit::full_range;
  uint64_t seed = 1;
  int64_t operand_padding = 0;   // elements between rows of A and B, besides those that K is padded by
  int64_t d_padding = 0;         // columns between rows of D, and of C one more
  int64_t d_offset = 0;          // elements that D is off its alignment
  uint8_t scale_padding = 0xFF;  // code of scales that nobody may read: a NaN
  Options options{};
  /// Changes the random operands; a shared one has one batch here.
  std::function<void(BlockScaledTensor& a, BlockScaledTensor& b)> edit;
  int runs = 2;  // whose bits must be the same

  /// What multiplies a sum, and C: all factors together, rounded once to FP32.
  float sum_factor() const { return static_cast<float>(double{alpha} * scale_a * scale_b * scale_d); }
  float c_factor() const { return static_cast<float>(double{beta} * scale_d); }
};

/// Factors of a case that overflow or vanish in FP32 unless they are multiplied as a whole, or even then.
struct ExtremeFactors {
  const char* name;
  float alpha, beta, scale_a, scale_b, scale_d;

  void set(ProblemCase& c) const;
};
inline constexpr ExtremeFactors kExtremeFactors[] = {
    {"large, then small factors", 1e30f, 1e-30f, 1e-30f, 1e-30f, 1e30f},
    {"small, then large factors", 1e-30f, 1e30f, 1e30f, 1e30f, 1e-30f},
    {"factors around a large one", 1e30f, 0, 1e20f, 1e-30f, 1},
    {"large tensors", 1e-20f, 0, 1e20f, 1e20f, 1e-20f},
    {"factors beyond FP32", 1e30f, 0, 1e20f, 1, 1},
    {"factors below FP32", 1e-30f, 2, 1e-20f, 1, 1},
};

/// What the runs of a case gave.
struct ProblemResult {
  std::string failure;  // empty: it passed; else the case's name and a line for each thing that is wrong
  PlanInfo info;
  std::vector<uint8_t> d;          // with its padding
  std::vector<uint8_t> workspace;  // what the last run left
};

/// Operands of a case on the host.
struct ProblemOperands {
  explicit ProblemOperands(const ProblemCase& c);

  /// What is planned, for any chip.
  Problem problem() const;
  /// Scales of a tensor at an address of the machine's memory. shared: of one batch.
  static PackedBlockScales scales_at(const BlockScaledTensor& tensor, const void* data, bool shared = false);

  const ProblemCase& case_;
  BlockScaledTensor a, b;  // K padded; the padding is not zero but poison. Of every batch, shared or not
  std::vector<uint8_t> a_elements, b_elements;  // with operand_padding; of one batch if shared
  std::vector<uint8_t> a_scales, b_scales;      // packed, padding poisoned; of one batch if shared
  std::vector<uint8_t> c_matrix;
  int64_t a_ld = 0, b_ld = 0, c_ld = 0, d_ld = 0;
  size_t d_bytes = 0;
};

/// The scale code of the v-th vector of a line: a row of A or a column of B, batch by batch.
uint8_t& scale_of(BlockScaledTensor& tensor, int64_t line, int64_t v);

/// What is to be said of a D of the case's type, leading dimension d_ld.
using Judge = std::function<Comparison(const ProblemOperands& operands, const void* d)>;

/// Plans a case for a chip and runs it on poisoned memory; judges guards, repeated runs and, by `judge` if it
/// is not null, every element.
ProblemResult run_problem_case(const ProblemCase& c, TestMachine& machine, Chip chip, const Judge& judge);

/// run_problem_case on one chip by its rules; `judged` false: only guards and repetition.
using Runner = ProblemResult (*)(const ProblemCase& c, TestMachine& machine, bool judged);
/// Reports the failures of all cases, each element judged, and prints how many passed.
void expect_pass(const char* group, const std::vector<ProblemCase>& cases, TestMachine& machine, Runner run);

/// Where two results of a case differ, and what is there: the first few.
void print_differences(const ProblemCase& c, const ProblemResult& emulated, const ProblemResult& gpu);

/// What the error of a sum is proportional to is the sum of products of these of the elements.
using Magnitude =
    std::function<double(const BlockScaledTensor& tensor, int64_t batch, int64_t line, int64_t k)>;
/// Runs a case and judges some elements of its f32 D, of a case too large to compute all, against FP64.
void expect_samples_are_right(const ProblemCase& c, TestMachine& machine, Runner run,
                              const AccumulationBound& bound, const Magnitude& magnitude);

/// The magnitude of an element's value: nothing for a zero, whatever its scale.
double value_magnitude(const BlockScaledTensor& tensor, int64_t batch, int64_t line, int64_t k);
/// Quantised data, small and large, beside what must not cost them their bits: K padded with zeros, or a
/// block of zeros in each line. D is f32.
std::vector<ProblemCase> data_and_zeros_cases();

}  // namespace tilewright::testing
