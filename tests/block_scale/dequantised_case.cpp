#include "tests/block_scale/dequantised_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tilewright::testing {
namespace {

float power(int exponent) { return std::ldexp(1.0f, exponent); }

}  // namespace

int line_shift(const BlockScaledTensor& t, int64_t batch, int64_t line) {
  if (scale_type(t.format) != DType::e8m0) return 0;
  const int highest = is_fp4(t.format) ? 125 : 119, lowest = is_fp4(t.format) ? -132 : -124;
  int least = 127, greatest = -127;
  const int64_t columns = t.padded_k / 32;
  for (int64_t v = 0; v < t.k / 32; ++v) {
    const int code = t.scales[static_cast<size_t>((batch * t.rows + line) * columns + v)];
    const int exponent = std::min(code, 254) - 127;
    least = std::min(least, exponent);
    greatest = std::max(greatest, exponent);
  }
  if (greatest > highest) return greatest - highest;
  if (least < lowest) return -std::min(lowest - least, highest - greatest);
  return 0;
}

std::vector<uint16_t> dequantised_bits(const BlockScaledTensor& t, int64_t k) {
  std::vector<uint16_t> out;
  out.reserve(static_cast<size_t>(t.batches * t.rows * k));
  for (int64_t batch = 0; batch < t.batches; ++batch)
    for (int64_t line = 0; line < t.rows; ++line) {
      const int shift = line_shift(t, batch, line);
      for (int64_t column = 0; column < k; ++column) {
        const double value = std::ldexp(t.value(batch, line, column), -shift);
        out.push_back(bf16(static_cast<float>(value)).bits);
      }
    }
  return out;
}

DequantisedReference::DequantisedReference(const ProblemOperands& o)
    : operands(o), a(dequantised_bits(o.a, o.case_.k)), b(dequantised_bits(o.b, o.case_.k)) {
  const ProblemCase& c = o.case_;
  for (int64_t batch = 0; batch < c.l; ++batch) {
    for (int64_t row = 0; row < c.m; ++row) a_powers.push_back(power(line_shift(o.a, batch, row)));
    for (int64_t row = 0; row < c.n; ++row) b_powers.push_back(power(line_shift(o.b, batch, row)));
  }
  gemm = {.m = c.m,
          .n = c.n,
          .k = c.k,
          .batches = c.l,
          .a = {a.data(), DType::bf16, c.k, 1, c.m * c.k},
          .b = {b.data(), DType::bf16, 1, c.k, c.n * c.k},
          .c = {o.c_matrix.data(), c.c, o.c_ld, 1, c.m * o.c_ld},
          .alpha = c.sum_factor(),
          .beta = c.c_factor()};
  const int64_t depth = std::max<int64_t>(1, c.k);
  gemm.a_scales = {a_powers.data(), 1, depth, 1, 0, c.m};
  gemm.b_scales = {b_powers.data(), 1, depth, 1, 0, c.n};
  d.resize(static_cast<size_t>(c.l * c.m * c.n));
  abs_sum.resize(d.size());
  EXPECT_FALSE(reference_gemm(gemm, d.data(), abs_sum.data()));
}

Comparison DequantisedReference::judge(const void* got) const {
  const ProblemCase& c = operands.case_;
  return compare(gemm, d.data(), abs_sum.data(), {got, c.d, operands.d_ld, 1, c.m * operands.d_ld},
                 {.accumulation = wgmma_f32_bound(DType::bf16, c.k, 0), .saturate = false});
}

ProblemResult run_dequantised_case(const ProblemCase& c, TestMachine& machine, bool judged) {
  Judge judge;
  if (judged)
    judge = [](const ProblemOperands& o, const void* d) { return DequantisedReference(o).judge(d); };
  ProblemResult result = run_problem_case(c, machine, Chip::sm_90a, judge);
  if (result.failure.empty() && result.info.path != "wgmma")
    result.failure = c.name + ": planned is " + result.info.kernel + " (" + result.info.path + ")\n";
  return result;
}

}  // namespace tilewright::testing
