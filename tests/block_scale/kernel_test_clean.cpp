// The block-scaled kernels on the emulated machine: right under every schedule.
#include <gtest/gtest.h>

#include <limits>

#include "tests/block_scale/kernel_case.h"

namespace tilewright {
namespace {

using emulator::LaunchResult;
using emulator::MachineOptions;
using emulator::Op;

testing::AssertionResult is_clean(const LaunchResult& result) {
  if (result.reports.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name_of(result.reports[0].kind) << ": " << result.reports[0].message;
}

struct Pair {
  BlockFormat a, b;
  bool overlap;
};

std::vector<Pair> kernels_to_test() {
  std::vector<Pair> pairs;
  for (const auto& [a, b] : kFormatPairs) {
    for (const bool overlap : {true, false}) pairs.push_back({a, b, overlap});
  }
  return pairs;
}

class BlockScaledKernel : public testing::TestWithParam<Pair> {
 protected:
  KernelCase a_case() const { return {.a = GetParam().a, .b = GetParam().b, .overlap = GetParam().overlap}; }
  int64_t k_tile() const { return kernels::block_scaled_tile_k(GetParam().a, GetParam().b); }
};

INSTANTIATE_TEST_SUITE_P(Formats, BlockScaledKernel, testing::ValuesIn(kernels_to_test()),
                         [](const auto& info) {
                           return std::string(name_of(info.param.a)) + "_" + name_of(info.param.b) +
                                  (info.param.overlap ? "_overlap" : "_single");
                         });

TEST_P(BlockScaledKernel, short_k_is_right_on_a_ragged_problem_of_several_tiles) {
  KernelCase c = a_case();
  c.k = k_tile();
  KernelRun run(c);
  for (const MachineOptions& options : faults::all_schedules(1)) {
    ASSERT_TRUE(is_clean(run.run(options))) << faults::name_of(options);
    ASSERT_TRUE(run.is_right()) << faults::name_of(options);
  }
}

TEST_P(BlockScaledKernel, long_k_wraps_the_ring_and_ends_in_the_middle_of_a_k_tile) {
  KernelCase c = a_case();
  c.m = 200, c.n = 264;
  c.k = 6 * k_tile() + 128;
  KernelRun run(c);
  const LaunchResult result = run.run({});
  ASSERT_TRUE(is_clean(result));
  ASSERT_TRUE(run.is_right());
  EXPECT_GE(result.statistics.most_barrier_phases, 2u) << "the ring has not wrapped";
}

TEST_P(BlockScaledKernel, every_schedule_is_clean_with_one_k_tile_and_with_several) {
  for (const int64_t k_tiles : {int64_t{1}, int64_t{7}}) {
    KernelCase c = a_case();
    c.k = k_tiles * k_tile();
    c.m = k_tiles == 1 ? 256 : 200;
    c.n = k_tiles == 1 ? 1000 : 520;
    KernelRun run(c);
    for (const MachineOptions& options : faults::all_schedules(faults::seeds_or(4), {.arithmetic = false})) {
      const LaunchResult result = run.run(options);
      ASSERT_TRUE(is_clean(result)) << name_of(c) << ", " << faults::name_of(options);
      ASSERT_TRUE(run.guard_is_untouched());
      const auto tiles = static_cast<uint64_t>(k_tiles == 1 ? 4 : 3);
      EXPECT_EQ(result.statistics.count(Op::tcgen05_mma), tiles * static_cast<uint64_t>(k_tiles) * 4);
      // Per subtile, warp and CTA.
      EXPECT_EQ(result.statistics.count(Op::tcgen05_ld), tiles * 8 * 4 * 2);
    }
  }
}

TEST_P(BlockScaledKernel, batches_and_a_wider_chip_give_every_tile_to_one_pair) {
  KernelCase c = a_case();
  c.m = 100, c.n = 200, c.batches = 3, c.multiprocessors = 4;
  KernelRun run(c);
  for (const MachineOptions& options : faults::all_schedules(1)) {
    ASSERT_TRUE(is_clean(run.run(options))) << faults::name_of(options);
    ASSERT_TRUE(run.is_right()) << faults::name_of(options);
  }
}

TEST_P(BlockScaledKernel, results_do_not_depend_on_the_schedule) {
  KernelCase c = a_case();
  c.m = 128, c.n = 256;
  KernelRun run(c);
  std::vector<uint8_t> first;
  for (const MachineOptions& options : faults::all_schedules(2)) {
    ASSERT_TRUE(is_clean(run.run(options))) << faults::name_of(options);
    if (first.empty()) first = run.result();
    ASSERT_EQ(run.result(), first) << faults::name_of(options);
  }
}

// ---- outputs and scalars

TEST(BlockScaledKernelOptions, f32_and_bf16_outputs) {
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const BlockFormat format : {BlockFormat::mxfp8, BlockFormat::nvfp4}) {
      KernelRun run({.a = format, .b = format, .m = 150, .n = 272, .d_type = type});
      ASSERT_TRUE(is_clean(run.run({})));
      EXPECT_TRUE(run.is_right()) << name_of(type) << " " << name_of(format);
    }
  }
}

TEST(BlockScaledKernelOptions, rows_of_d_that_do_not_end_on_sixteen_bytes_are_stored_element_by_element) {
  for (const DType type : {DType::f16, DType::f32}) {
    // An odd N, and rows that are not whole units apart.
    KernelRun run({.m = 130, .n = 259, .d_type = type, .d_padding = 2});
    const LaunchResult result = run.run({});
    ASSERT_TRUE(is_clean(result));
    EXPECT_EQ(result.statistics.count(Op::tma_store), 0u);
    EXPECT_TRUE(run.is_right());
  }
}

TEST(BlockScaledKernelOptions, alpha_beta_and_bias) {
  for (const bool overlap : {true, false}) {
    KernelRun run({.a = BlockFormat::mxfp4,
                   .b = BlockFormat::mxfp4,
                   .overlap = overlap,
                   .m = 140,
                   .n = 264,
                   .init = BlockInit::moderate,
                   .alpha = 1.5f,
                   .beta = -2,
                   .bias = true});
    ASSERT_TRUE(is_clean(run.run({})));
    EXPECT_TRUE(run.is_right());
  }
}

TEST(BlockScaledKernelOptions, moderate_data_as_the_published_test_has_them) {
  for (const Pair& pair : kernels_to_test()) {
    KernelRun run({.a = pair.a,
                   .b = pair.b,
                   .overlap = pair.overlap,
                   .m = 256,
                   .n = 256,
                   .k = 512,
                   .d_type = DType::f32,
                   .init = BlockInit::moderate});
    ASSERT_TRUE(is_clean(run.run({})));
    ASSERT_TRUE(run.is_right());
    // Its check, which the bound does not replace: atol 2e-3, rtol 1e-3.
    const std::vector<uint8_t> result = run.result();
    for (size_t i = 0; i < run.reference().d.size(); ++i) {
      const double want = run.reference().d[i];
      const double got = load_element(result.data(), DType::f32, static_cast<int64_t>(i));
      ASSERT_LE(std::fabs(got - want), 2e-3 + 1e-3 * std::fabs(want)) << i;
    }
  }
}

// ---- cases

TEST(Case, C17_k_zero_gives_beta_c_plus_bias_and_empty_outputs_are_a_no_op) {
  for (const float beta : {0.0f, 0.5f}) {
    for (const float alpha : {1.0f, std::numeric_limits<float>::quiet_NaN()}) {
      KernelRun run({.m = 16, .n = 16, .k = 0, .alpha = alpha, .beta = beta, .bias = true});
      ASSERT_TRUE(is_clean(run.run({})));
      EXPECT_TRUE(run.is_right()) << alpha << ' ' << beta;
    }
  }
  KernelRun empty({.m = 0, .n = 16, .k = 128});
  const auto bound = bind_block_scaled(empty.problem(), encode_for_emulator, 2);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(bound->grid_ctas, 0u);
}

TEST(Case, C23_padding_of_scales_never_reaches_a_result) {
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp8}) {
    for (const int64_t m : {1, 17, 32}) {
      KernelCase c{.a = format, .b = format, .m = m, .n = 256, .k = 512};
      std::vector<uint8_t> first;
      for (const uint8_t padding : {uint8_t{0x7F}, uint8_t{0x7E}, uint8_t{0xFF}, uint8_t{0x00}}) {
        c.scale_padding = padding;
        KernelRun run(c);
        ASSERT_TRUE(is_clean(run.run({})));
        ASSERT_TRUE(run.is_right()) << "padding " << int{padding};
        if (first.empty()) first = run.result();
        EXPECT_EQ(run.result(), first) << "padding " << int{padding};
      }
    }
  }
}

TEST(Case, C25_batched_mxfp8_reads_each_batch_from_its_own_row_of_blocks) {
  KernelRun run({.m = 100, .n = 200, .k = 256, .batches = 2});
  ASSERT_TRUE(is_clean(run.run({})));
  EXPECT_TRUE(run.is_right());
}

TEST(Case, C26_k_of_one_scale_and_a_bias) {
  for (const int64_t k : {32, 64, 96, 160}) {
    KernelRun run({.m = 128, .n = 128, .k = k, .bias = true});
    ASSERT_TRUE(is_clean(run.run({})));
    EXPECT_TRUE(run.is_right()) << k;
  }
}

TEST(Case, C31_partial_m_tiles) {
  for (const int64_t m : {127, 128, 129, 255, 257}) {
    KernelRun run({.a = BlockFormat::nvfp4, .b = BlockFormat::nvfp4, .m = m, .n = 264, .k = 256});
    ASSERT_TRUE(is_clean(run.run({})));
    EXPECT_TRUE(run.is_right()) << m;
  }
}

}  // namespace
}  // namespace tilewright
