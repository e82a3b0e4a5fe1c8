// Block-scaled products on a Hopper GPU: the cases of the emulated machine, its bits, and large products.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/block_scale/dequantised_case.h"
#include "tests/gpu/gpu_test.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

constexpr BlockFormat kFormats[] = {BlockFormat::mxfp8, BlockFormat::mxfp4, BlockFormat::nvfp4};

class DequantisedGpu : public GpuTest {
 protected:
  GpuMachine machine;
};

TEST_F(DequantisedGpu, problems_are_right) {
  expect_pass("dequantised", dequantised_cases(), machine, run_dequantised_case);
}

TEST_F(DequantisedGpu, problems_are_right_on_the_whole_chip) {
  std::vector<ProblemCase> cases = dequantised_cases();
  for (ProblemCase& c : cases) c.options = {};
  expect_pass("dequantised, planned", cases, machine, run_dequantised_case);
}

TEST_F(DequantisedGpu, outer_scales_are_shifted_into_the_store) {
  expect_pass("outer scales", outer_scale_cases(), machine, run_dequantised_case);
}

TEST_F(DequantisedGpu, every_element_with_every_scale_is_exact) {
  for (const BlockFormat format : kFormats) expect_every_code_dequantised(format, machine);
}

TEST_F(DequantisedGpu, has_the_bits_of_a_bf16_product) {
  for (const BlockFormat format : kFormats) expect_bits_of_bf16_product(format, format, machine);
  expect_bits_of_bf16_product(BlockFormat::mxfp8, BlockFormat::mxfp4, machine);
}

/// Problems of which both machines have the same bits, and how many there were.
struct Equal {
  size_t equal = 0, compared = 0;
};

TEST_F(DequantisedGpu, has_the_bits_of_the_emulated_machine) {
  Equal ordinary, outer;
  std::vector<ProblemCase> cases = dequantised_cases();
  const size_t first_outer = cases.size();
  for (const ProblemCase& c : outer_scale_cases()) cases.push_back(c);
  for (size_t i = 0; i < cases.size(); i += 5) {
    EmulatedMachine emulated;
    cases[i].runs = 1;
    const ProblemResult here = run_dequantised_case(cases[i], emulated, false);
    const ProblemResult there = run_dequantised_case(cases[i], machine, false);
    EXPECT_EQ(here.failure + there.failure, "");
    const bool nan = cases[i].name.find("NaN") != std::string::npos;  // whose bits differ between machines
    if (nan) continue;
    Equal& kind = i < first_outer ? ordinary : outer;
    ++kind.compared;
    kind.equal += here.d == there.d;
    // Sums at the edge of FP32's range may differ in their last bits (docs/emulator.md); both are within
    // bounds.
    if (i < first_outer) {
      EXPECT_EQ(here.d, there.d) << cases[i].name;
    } else {
      print_differences(cases[i], here, there);
    }
  }
  std::printf("bits of both machines: %zu of %zu problems equal, %zu of %zu with outer scales\n",
              ordinary.equal, ordinary.compared, outer.equal, outer.compared);
}

/// Some elements against FP64; with two runs or more, all bits of each.
void expect_large_is_right(const ProblemCase& c, TestMachine& machine) {
  expect_samples_are_right(c, machine, run_dequantised_case, wgmma_f32_bound(DType::bf16, c.k, 0),
                           [](const BlockScaledTensor& t, int64_t batch, int64_t line, int64_t k) {
                             return std::fabs(t.value(batch, line, k));
                           });
}

TEST_F(DequantisedGpu, large_products_are_right) {
  const auto large = [](const char* name, BlockFormat a, BlockFormat b, int64_t m, int64_t n, int64_t k,
                        int64_t l) {
    ProblemCase c;
    c.name = name;
    c.a = a, c.b = b, c.m = m, c.n = n, c.k = k, c.l = l, c.d = c.c = DType::f32;
    return c;
  };
  using enum BlockFormat;
  expect_large_is_right(large("2048 x 3072 x 2048", mxfp8, mxfp8, 2048, 3072, 2048, 1), machine);
  expect_large_is_right(large("2049 x 3071 x 2080", mxfp8, mxfp8, 2049, 3071, 2080, 1), machine);
  expect_large_is_right(large("1025 x 4095 x 4096", mxfp8, mxfp4, 1025, 4095, 4096, 1), machine);
  expect_large_is_right(large("128 x 4096 x 16384", mxfp4, mxfp4, 128, 4096, 16384, 1), machine);
  expect_large_is_right(large("3 x 1000 x 1100 x 8256", nvfp4, nvfp4, 1000, 1100, 8256, 3), machine);
  expect_large_is_right(large("4000 x 3000 x 1088", nvfp4, nvfp4, 4000, 3000, 1088, 1), machine);
}

}  // namespace
}  // namespace tilewright::testing
