// Block-scaled products of the emulated machine as sm_90a.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "src/block_scale_gemm.h"
#include "src/block_scale_reference.h"
#include "src/gemm_plan.h"
#include "tests/block_scale/dequantised_case.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

constexpr BlockFormat kFormats[] = {BlockFormat::mxfp8, BlockFormat::mxfp4, BlockFormat::nvfp4};
constexpr int kShards = 4;

class DequantisedShard : public Shard {
 protected:
  static void run(const char* group, const std::vector<ProblemCase>& all) {
    EmulatedMachine machine;
    expect_pass(group, share_of(all, kShards), machine, run_dequantised_case);
  }
};
TEST_P(DequantisedShard, problems_are_right) { run("dequantised", dequantised_cases()); }
TEST_P(DequantisedShard, outer_scales_are_shifted_into_the_store) {
  run("outer scales", outer_scale_cases());
}
INSTANTIATE_TEST_SUITE_P(Kernels, DequantisedShard, ::testing::Range(0, kShards));

TEST(Dequantised, every_element_with_every_scale_is_exact) {
  for (const BlockFormat format : kFormats) {
    EmulatedMachine machine;
    expect_every_code_dequantised(format, machine);
  }
}

TEST(Dequantised, has_the_bits_of_a_bf16_product) {
  EmulatedMachine machine;
  for (const BlockFormat format : kFormats) expect_bits_of_bf16_product(format, format, machine);
  expect_bits_of_bf16_product(BlockFormat::mxfp8, BlockFormat::mxfp4, machine);
}

// Both within their bounds of each other: sums in two orders and two arithmetics.
TEST(Dequantised, agrees_with_the_kernel_of_sm_100a) {
  for (const BlockFormat format : kFormats) {
    ProblemCase c;
    c.name = name_of(format);
    c.a = c.b = format;
    c.m = 200, c.n = 136, c.k = 512, c.l = 2, c.d = c.c = DType::f32;
    c.scale_a = 0.5f, c.alpha = 3, c.beta = 1;
    EmulatedMachine machine;
    const ProblemResult hopper = run_dequantised_case(c, machine);
    ASSERT_EQ(hopper.failure, "");
    const ProblemOperands o(c);
    const Expected<Plan> plan = tilewright::plan(o.problem(), {.device = Device::emulator});
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->info().path, "tcgen05");
    std::vector<uint8_t> d(o.d_bytes);
    emulator::Machine blackwell({.chip = emulator::Chip::sm_100a});
    std::vector<void*> memory;
    const auto place = [&](const std::vector<uint8_t>& bytes) {
      memory.push_back(blackwell.allocate_global(bytes.size(), {.name = "matrix"}));
      std::memcpy(memory.back(), bytes.data(), bytes.size());
      return memory.back();
    };
    void* const at_d = place(d);
    const Status failed = plan->run({.a = place(o.a_elements),
                                     .b = place(o.b_elements),
                                     .c = place(o.c_matrix),
                                     .d = at_d,
                                     .a_scales = ProblemOperands::scales_at(o.a, place(o.a_scales)),
                                     .b_scales = ProblemOperands::scales_at(o.b, place(o.b_scales))},
                                    &blackwell);
    ASSERT_FALSE(failed) << failed->message;
    DequantisedReference reference(o);
    const auto* values = static_cast<const float*>(at_d);
    // What errors of that kernel are proportional to: its zeros have exponents.
    const auto other = reference_block_scaled(o.a, o.b);
    ASSERT_TRUE(other) << other.error().message;
    for (size_t i = 0; i < reference.d.size(); ++i) {
      reference.d[i] = double{values[i]};
      reference.abs_sum[i] = std::max(reference.abs_sum[i], other->abs_sum[i]);
    }
    AccumulationBound bound = wgmma_f32_bound(DType::bf16, c.k, 0);
    bound.relative += block_scaled_bound(c.a, c.b, c.k).relative + 0x1p-22;
    const Comparison found =
        compare(reference.gemm, reference.d.data(), reference.abs_sum.data(),
                {hopper.d.data(), c.d, o.d_ld, 1, c.m * o.d_ld}, {.accumulation = bound, .saturate = false});
    EXPECT_TRUE(found.passed()) << c.name << ": " << found.failures << " differ, first got " << found.got
                                << ", want " << found.reference << " +- " << found.bound;
  }
}

Problem problem_of(BlockFormat format, int64_t m = 512, int64_t n = 512, int64_t k = 512) {
  Problem p{.m = m, .n = n, .k = k};
  p.a = {.type = element_type(format), .alignment = 128, .block = format};
  p.b = {.type = element_type(format), .layout = Layout::column_major, .alignment = 128, .block = format};
  return p;
}
constexpr Options kHopper{.device = Device::emulator, .chip = Chip::sm_90a};

TEST(DequantisedPlan, says_what_runs) {
  const Expected<Plan> plan = tilewright::plan(problem_of(BlockFormat::mxfp8), kHopper);
  ASSERT_TRUE(plan) << plan.error().message;
  const PlanInfo& info = plan->info();
  EXPECT_EQ(info.path, "wgmma");
  EXPECT_EQ(info.launches, 2);
  EXPECT_EQ(info.overlap, false);
  EXPECT_NE(info.kernel.find("dequantised_mxfp8_mxfp8_"), std::string::npos) << info.kernel;
  EXPECT_NE(info.why.find("dequantised to bf16 first"), std::string::npos) << info.why;
  EXPECT_GE(plan->workspace_bytes(), 2 * 512 * 512 * 2);
  EXPECT_FALSE(can_run(problem_of(BlockFormat::nvfp4), kHopper));
  // Without a product there is nothing to dequantise.
  Problem zero = problem_of(BlockFormat::nvfp4);
  zero.alpha = 0;
  const Expected<Plan> one = tilewright::plan(zero, kHopper);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->info().launches, 1);
  EXPECT_EQ(one->workspace_bytes(), 0);
  zero.m = 0;
  EXPECT_EQ(tilewright::plan(zero, kHopper)->info().launches, 0);
}

// The tile and the cluster that a bf16 product of these sizes has on an H200.
TEST(DequantisedPlan, large_products_take_pairs_of_wide_tiles) {
  Options options = kHopper;
  const Expected<Plan> large = tilewright::plan(problem_of(BlockFormat::mxfp8, 4096, 7168, 2048), options);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->info().tile, (Shape2{128, 256}));
  EXPECT_EQ(large->info().cluster, (Shape2{2, 1}));
  const Expected<Plan> small = tilewright::plan(problem_of(BlockFormat::mxfp8, 64, 4096, 2048), options);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->info().tile.m, 64);
}

TEST(DequantisedPlan, refuses_by_rule) {
  const auto refused = [](const Problem& p, const Options& o) { return can_run(p, o).value_or(Error{}); };
  Problem odd = problem_of(BlockFormat::mxfp4);
  odd.k = 96;
  EXPECT_EQ(refused(odd, kHopper).rule, "block_scaled.k_multiple");
  const auto with = [&](const auto& change) {
    Options o = kHopper;
    change(o);
    return refused(problem_of(BlockFormat::nvfp4), o);
  };
  EXPECT_EQ(with([](Options& o) { o.max_workspace = 1 << 19; }).rule, "workspace.limit");
  EXPECT_NE(with([](Options& o) { o.max_workspace = 1 << 19; }).message.find("1048576"), std::string::npos);
  EXPECT_EQ(with([](Options& o) { o.tile = Shape2{256, 256}; }).rule, "tile.built");
  EXPECT_EQ(with([](Options& o) { o.splits = 2; }).rule, "splits.value");
  const Error given = with([](Options& o) { o.scheduler = schedule::TileScheduler::cluster_launch_control; });
  EXPECT_EQ(given.rule, "scheduler.built");
  EXPECT_NE(given.message.find("static_persistent"), std::string::npos) << given.message;
  EXPECT_EQ(with([](Options& o) { o.static_shape = true; }).rule, "shape.static");
  EXPECT_EQ(
      refused(problem_of(BlockFormat::nvfp4, (int64_t{1} << 31) - 1, 64, int64_t{1} << 30), kHopper).rule,
      "operand.span");
  // Those of both batches of B, and the one A that they share.
  Problem shared = problem_of(BlockFormat::nvfp4, (int64_t{1} << 31) - 1, 64, 1 << 16);
  shared.l = 2;
  shared.a.batch_stride = 0;
  EXPECT_NE(
      refused(shared, kHopper).message.find("2147483775 lines of 65536 in 16777218 blocks of at most 128"),
      std::string::npos)
      << refused(shared, kHopper).message;
  // A chip that has neither kind of kernel.
  Target target;
  target.capability = 80;
  const Expected<Plan> old = plan_on(target, problem_of(BlockFormat::mxfp8), {});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().rule, "block_scaled.device");
}

TEST(DequantisedPlan, refuses_pointers_by_rule) {
  const Expected<Plan> plan = tilewright::plan(problem_of(BlockFormat::mxfp8, 64, 64, 128), kHopper);
  ASSERT_TRUE(plan);
  emulator::Machine machine;
  void* const memory = machine.allocate_global(1 << 20, {.name = "memory"});
  const auto* scales = static_cast<const e8m0*>(memory);
  const ScaleShape shape{64, 4, 1};
  const auto at = [&](int64_t offset) {
    return *PackedScales<const e8m0>::make(scales + offset, 1 << 16, shape);
  };
  const Buffers good{.a = memory,
                     .b = memory,
                     .d = static_cast<uint8_t*>(memory) + (1 << 19),
                     .a_scales = at(0),
                     .b_scales = at(0),
                     .workspace = static_cast<uint8_t*>(memory) + (1 << 18)};
  const auto refused = [&](const auto& change) {
    Buffers buffers = good;
    change(buffers);
    return plan->run(buffers, &machine).value_or(Error{}).rule;
  };
  EXPECT_EQ(refused([](Buffers&) {}), "");
  EXPECT_EQ(refused([](Buffers& b) { b.workspace = nullptr; }), "pointer.workspace");
  EXPECT_EQ(refused([](Buffers& b) { b.workspace = static_cast<uint8_t*>(b.workspace) + 128; }),
            "pointer.workspace");
  EXPECT_EQ(refused([&](Buffers& b) { b.a_scales = at(8); }), "block_scaled.scale_alignment");
  EXPECT_EQ(refused([](Buffers& b) { b.b_scales = {}; }), "block_scaled.null");
  const float one = 1;
  EXPECT_EQ(refused([&](Buffers& b) { b.alpha = &one; }), "block_scaled.scalars");
}

}  // namespace
}  // namespace tilewright::testing
