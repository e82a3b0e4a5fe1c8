// How accurate the FP32 kernels are, by the project's bar: 1.2 times a sequential chain.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/kernels/operands.h"
#include "tests/simt/simt_cases.h"

namespace tilewright::testing {
namespace {

/// Relative Frobenius error of one chain of fused multiply-adds for each element.
double chain_error(const GemmCase& c) {
  const HostOperands operands = make_operands(c);
  const auto at = [](const HostOperand& o, int64_t row, int64_t column) {
    return reinterpret_cast<const float*>(o.bytes.data())[o.shape.index(0, row, column)];
  };
  double error = 0, norm = 0;
  for (int64_t i = 0; i < c.problem.m; ++i) {
    for (int64_t j = 0; j < c.problem.n; ++j) {
      float chain = 0;
      double exact = 0;
      for (int64_t k = 0; k < c.problem.k; ++k) {
        const float a = at(operands.a, i, k), b = at(operands.b, k, j);
        chain = std::fma(a, b, chain);
        exact += double{a} * b;
      }
      error += (chain - exact) * (chain - exact);
      norm += exact * exact;
    }
  }
  return std::sqrt(error / norm);
}

TEST(SimtNumbers, error_is_at_most_that_of_a_sequential_chain) {
  for (const Data data : {Data::normal, Data::uniform}) {
    for (const int64_t splits : {1, 2, 7}) {
      GemmCase c = simt_case("error", 32, 128, 2000);
      c.data = data;
      c.options.splits = splits;
      c.options.max_sms = 8;
      c.runs = 1;
      EmulatedMachine machine;
      const CaseResult result = expect_passes(c, machine);
      EXPECT_EQ(result.info.splits > 1, splits > 1);
      EXPECT_LE(result.comparison.relative_error, 1.2 * chain_error(c)) << describe(c);
    }
  }
}

TEST(SimtNumbers, work_is_persistent_and_rings_wrap) {
  GemmCase c = simt_case("persistent", 32 * 7, 128, 32 * 5);
  c.options.max_sms = 1;  // two CTAs
  c.options.pipeline = PipelineKind::producer;
  EmulatedMachine machine;
  const CaseResult result = expect_passes(c, machine);
  EXPECT_EQ(result.info.grid_ctas, 2);
  EXPECT_GE(result.info.tiles, 3 * result.info.grid_ctas);
  EXPECT_GE(machine.statistics().most_barrier_phases, 5u);
}

}  // namespace
}  // namespace tilewright::testing
