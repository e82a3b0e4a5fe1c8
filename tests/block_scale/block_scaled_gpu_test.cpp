// Block-scaled products on a Blackwell GPU (sm_100a): the cases of the emulated machine, its bits, and large
// products.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/block_scale/block_scaled_cases.h"
#include "tests/gpu/gpu_test.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

using enum BlockFormat;

Problem smallest_problem() {
  ProblemCase c;
  c.m = c.n = 64;
  return ProblemOperands(c).problem();
}

class BlockScaledGpu : public ::testing::Test {
 protected:
  void SetUp() override { require_gpu({Chip::sm_100a}, smallest_problem()); }
  GpuMachine machine{size_t{512} << 20};
};

TEST_F(BlockScaledGpu, problems_are_right) {
  expect_pass("block-scaled", block_scaled_cases(), machine, run_block_scaled_case);
}

TEST_F(BlockScaledGpu, problems_are_right_on_the_whole_chip) {
  std::vector<ProblemCase> cases = block_scaled_cases();
  for (ProblemCase& c : cases) c.options.max_sms.reset();
  expect_pass("block-scaled, whole chip", cases, machine, run_block_scaled_case);
}

TEST_F(BlockScaledGpu, padding_of_scales_changes_no_bit) {
  for (const BlockFormat format : {mxfp8, mxfp4, nvfp4}) expect_scale_padding_unread(format, machine);
}

TEST_F(BlockScaledGpu, zeros_cost_no_bits) { expect_zeros_cost_no_bits(machine); }

TEST_F(BlockScaledGpu, one_problem_has_one_result) {
  for (const auto& [a, b] : kFormatPairs) expect_one_result(a, b, machine);
}

// Counted, and not asked for: the model of these tensor cores has not been compared with a chip.
TEST_F(BlockScaledGpu, bits_beside_those_of_the_emulated_machine) {
  const std::vector<ProblemCase> cases = block_scaled_cases();
  size_t equal = 0, compared = 0;
  for (size_t i = 0; i < cases.size(); i += 5) {
    EmulatedMachine emulated;
    ProblemCase c = cases[i];
    c.runs = 1;
    const ProblemResult here = run_block_scaled_case(c, emulated, false);
    const ProblemResult there = run_block_scaled_case(c, machine, false);
    EXPECT_EQ(here.failure + there.failure, "");
    EXPECT_EQ(here.d.size(), there.d.size()) << c.name;
    if (here.d.empty() || here.d.size() != there.d.size()) continue;
    ++compared;
    equal += here.d == there.d;
    print_differences(c, here, there);
  }
  EXPECT_GT(compared, 0u);
  std::printf("bits of both machines: %zu of %zu problems equal\n", equal, compared);
}

TEST_F(BlockScaledGpu, large_products_are_right) {
  struct Large {
    const char* name;
    FormatPair formats;
    int64_t m, n, k, l;
  };
  for (const Large& large : {Large{"8192 x 8192 x 8192", {mxfp8, mxfp8}, 8192, 8192, 8192, 1},
                             Large{"8192 x 8192 x 8192", {mxfp4, mxfp4}, 8192, 8192, 8192, 1},
                             Large{"8192 x 8192 x 8192", {nvfp4, nvfp4}, 8192, 8192, 8192, 1},
                             Large{"8192 x 8192 x 512", {mxfp8, mxfp4}, 8192, 8192, 512, 1},
                             Large{"2049 x 3071 x 2080", {mxfp8, mxfp8}, 2049, 3071, 2080, 1},
                             Large{"1025 x 4095 x 4096", {mxfp8, mxfp4}, 1025, 4095, 4096, 1},
                             Large{"3 x 1000 x 1100 x 8256", {nvfp4, nvfp4}, 1000, 1100, 8256, 3}})
    for (const bool overlap : {true, false}) {
      ProblemCase c;
      c.name = large.name;
      c.a = large.formats[0], c.b = large.formats[1];
      c.m = large.m, c.n = large.n, c.k = large.k, c.l = large.l, c.d = DType::f32;
      c.options.overlap = overlap;
      c.options.scheduler = overlap ? schedule::TileScheduler::static_persistent
                                    : schedule::TileScheduler::cluster_launch_control;
      expect_large_is_right(c, machine);
    }
}

}  // namespace
}  // namespace tilewright::testing
