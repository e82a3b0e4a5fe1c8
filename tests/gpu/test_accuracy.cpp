// How accurate sums along a long K are, by interval.
#include <cstdio>

#include "tests/gpu/gpu_test.h"
#include "tests/kernels/checks.h"

namespace tilewright::testing {
namespace {

using Accuracy = GpuTest;

// Relative Frobenius errors on e4m3 of U(0, 1). What the model of the tensor core gives, and a tenth more.
TEST_F(Accuracy, follows_the_promotion_interval) {
  const struct {
    int64_t interval;  // 0: fast
    double least, most;
  } rows[] = {{1, 0, 4.4e-5}, {2, 0, 1.55e-4}, {4, 0, 5.5e-4}, {8, 0, 1.9e-3}, {16, 0, 5.8e-3}, {0, 0.2, 1}};
  GpuMachine machine;
  std::printf("relative error of U(0, 1), K = 16384:");
  for (const auto& row : rows) {
    GemmCase c = make_case("accuracy", 512, 128, 16384);
    c.data = Data::uniform;
    c.problem.accumulation = row.interval == 0 ? Accumulation::fast : Accumulation::promoted;
    if (row.interval != 0) c.problem.interval = row.interval;
    const double error = expect_passes(c, machine).comparison.relative_error;
    if (row.interval == 0) {
      std::printf(" fast %.3g\n", error);
    } else {
      std::printf(" interval %d %.3g,", static_cast<int>(row.interval), error);
    }
    EXPECT_GE(error, row.least);
    EXPECT_LE(error, row.most);
  }
}

// An MMA adds 32 to the sum; the accumulator keeps 13 fraction bits of it.
TEST_F(Accuracy, C02_ones_stall_without_promotion_alone) {
  GpuMachine machine;
  GemmCase c = make_case("ones, promoted", 16, 16, 1 << 20);
  c.data = Data::ones;
  c.check_model = false;
  expect_d_is(c, expect_passes(c, machine), 1 << 20);
  c.name = "ones, fast";
  c.problem.accumulation = Accumulation::fast;
  const CaseResult fast = expect_passes(c, machine);
  std::printf("sum of 2^20 ones, fast: %.0f\n", d_at(c, fast, 0));
  EXPECT_LT(d_at(c, fast, 0), 1 << 20);
  c.problem.k = 1 << 16;
  pad_for_bulk(c.problem);
  c.check_model = true;
  expect_passes(c, machine);  // where it stalls, bit for bit
}

}  // namespace
}  // namespace tilewright::testing
