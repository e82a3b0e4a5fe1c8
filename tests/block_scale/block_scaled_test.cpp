// Block-scaled problems, planned and run on the emulated machine as sm_100a: the cases that
// block_scaled_gpu_test.cpp runs on a GPU. What only the emulated machine sees is in kernel_test_*.cpp.
#include <gtest/gtest.h>

#include "tests/block_scale/block_scaled_cases.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

constexpr int kShards = 7;

class BlockScaledShard : public Shard {};
TEST_P(BlockScaledShard, problems_are_right) {
  EmulatedMachine machine;
  expect_pass("block-scaled", share_of(block_scaled_cases(), kShards), machine, run_block_scaled_case);
}
INSTANTIATE_TEST_SUITE_P(Kernels, BlockScaledShard, ::testing::Range(0, kShards));

TEST(Case, C23_padding_of_scales_changes_no_bit) {
  EmulatedMachine machine;
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp8, BlockFormat::mxfp4})
    expect_scale_padding_unread(format, machine);
}

TEST(BlockScaled, one_problem_has_one_result) {
  using enum BlockFormat;
  EmulatedMachine machine;
  expect_one_result(mxfp8, mxfp4, machine);
  expect_one_result(nvfp4, nvfp4, machine);
}

TEST(BlockScaled, zeros_cost_no_bits) {
  EmulatedMachine machine;
  expect_zeros_cost_no_bits(machine);
}

// As on a GPU, where they are large.
TEST(BlockScaled, samples_are_right) {
  using enum BlockFormat;
  EmulatedMachine machine;
  for (const BlockFormat format : {mxfp8, mxfp4, nvfp4}) {
    ProblemCase c;
    c.name = "samples";
    c.a = c.b = format;
    c.m = 200, c.n = 264, c.k = 1088, c.l = 2, c.d = DType::f32, c.runs = 1;
    expect_large_is_right(c, machine);
  }
}

}  // namespace
}  // namespace tilewright::testing
