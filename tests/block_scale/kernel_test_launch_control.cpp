// The block-scaled kernels with cluster launch control: a grid of a cluster for each tile, whose clusters
// take over one another's tiles.
#include <gtest/gtest.h>

#include "tests/block_scale/kernel_case.h"

namespace tilewright {
namespace {

using emulator::LaunchResult;
using emulator::MachineOptions;
using emulator::Op;

struct Formats {
  BlockFormat a, b;
  bool overlap;
};

std::vector<Formats> all_formats() {
  std::vector<Formats> all;
  for (const bool overlap : {true, false})
    for (const auto& [a, b] : kFormatPairs) all.push_back({a, b, overlap});
  return all;
}

KernelCase controlled(const Formats& formats, int64_t k_tiles, int multiprocessors) {
  return {.a = formats.a,
          .b = formats.b,
          .overlap = formats.overlap,
          .k = k_tiles * kernels::block_scaled_tile_k(formats.a, formats.b),
          .multiprocessors = multiprocessors,
          .scheduler = schedule::TileScheduler::cluster_launch_control};
}

testing::AssertionResult is_clean(const LaunchResult& result) {
  if (result.reports.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name_of(result.reports[0].kind) << ": " << result.reports[0].message;
}

class LaunchControl : public testing::TestWithParam<Formats> {};

INSTANTIATE_TEST_SUITE_P(Formats, LaunchControl, testing::ValuesIn(all_formats()), [](const auto& info) {
  return std::string(name_of(info.param.a)) + "_" + name_of(info.param.b) +
         (info.param.overlap ? "_overlap" : "_single");
});

// Six tiles: on a chip with room for one pair of CTAs, for four, and for all.
TEST_P(LaunchControl, results_are_right_whoever_takes_which_tile) {
  for (const int multiprocessors : {2, 8, 132}) {
    KernelRun run(controlled(GetParam(), 1, multiprocessors));
    for (const MachineOptions& options : faults::all_schedules(1)) {
      const LaunchResult result = run.run(options);
      ASSERT_TRUE(is_clean(result)) << faults::name_of(options);
      ASSERT_TRUE(run.is_right()) << faults::name_of(options);
      EXPECT_EQ(result.statistics.clusters + result.statistics.clusters_canceled, 6u);
      if (multiprocessors == 132) {
        EXPECT_EQ(result.statistics.clusters_canceled, 0u);
      }
      if (options.schedule == emulator::SchedulePolicy::fair && multiprocessors == 2) {
        EXPECT_EQ(result.statistics.clusters, 1u);
      }
    }
  }
}

// So many tiles that the ring of answers wraps; K tiles that wrap the ring of stages.
TEST_P(LaunchControl, every_schedule_is_clean_with_one_k_tile_and_with_several) {
  for (const int64_t k_tiles : {int64_t{1}, int64_t{6}}) {
    KernelCase c = controlled(GetParam(), k_tiles, 2);
    c.m = 256, c.n = k_tiles == 1 ? 2500 : 700;
    const uint64_t tiles = k_tiles == 1 ? 10 : 3;
    KernelRun run(c);
    for (const MachineOptions& options : faults::all_schedules(faults::seeds_or(4), {.arithmetic = false})) {
      const LaunchResult result = run.run(options);
      ASSERT_TRUE(is_clean(result)) << name_of(c) << ", " << faults::name_of(options);
      ASSERT_TRUE(run.guard_is_untouched());
      EXPECT_EQ(result.statistics.count(Op::tcgen05_mma), tiles * static_cast<uint64_t>(k_tiles) * 4);
      // One request for each tile that a cluster did.
      EXPECT_EQ(result.statistics.count(Op::cluster_launch_try_cancel), tiles);
    }
  }
}

TEST(LaunchControlCases, k_zero_and_batches) {
  for (const int64_t k : {0, 128}) {
    KernelCase c = controlled({BlockFormat::mxfp8, BlockFormat::mxfp8, true}, 0, 2);
    c.m = 100, c.n = 200, c.k = k, c.batches = 3, c.beta = 0.5f, c.bias = true;
    KernelRun run(c);
    for (const MachineOptions& options : faults::all_schedules(1)) {
      ASSERT_TRUE(is_clean(run.run(options))) << faults::name_of(options);
      ASSERT_TRUE(run.is_right()) << faults::name_of(options);
    }
  }
}

TEST(LaunchControlCases, the_static_scheduler_asks_for_nothing) {
  KernelCase c = controlled({BlockFormat::nvfp4, BlockFormat::nvfp4, true}, 1, 2);
  c.scheduler = schedule::TileScheduler::static_persistent;
  KernelRun run(c);
  const LaunchResult result = run.run({});
  ASSERT_TRUE(is_clean(result));
  EXPECT_EQ(result.statistics.count(Op::cluster_launch_try_cancel), 0u);
  EXPECT_EQ(result.statistics.clusters_canceled, 0u);
}

#if TILEWRIGHT_SEES_ACCESSES  // the model charges them
// The answer has come long before it is wanted: what a tile takes more is a wait and a read.
TEST(LaunchControlCases, modelled_time_is_that_of_the_static_scheduler) {
  const auto clocks = [](schedule::TileScheduler scheduler, int multiprocessors) {
    KernelCase c = controlled({BlockFormat::nvfp4, BlockFormat::nvfp4, true}, 2, multiprocessors);
    c.m = 256, c.n = 256 * 12, c.scheduler = scheduler;
    KernelRun run(c);
    const LaunchResult result = run.run(
        {.schedule = emulator::SchedulePolicy::timed, .arithmetic = false, .chip = emulator::Chip::sm_100a});
    EXPECT_TRUE(is_clean(result));
    return result.statistics.clocks;
  };
  for (const int multiprocessors : {2, 6}) {
    const double fixed = clocks(schedule::TileScheduler::static_persistent, multiprocessors);
    const double asked = clocks(schedule::TileScheduler::cluster_launch_control, multiprocessors);
    EXPECT_NEAR(asked / fixed, 1, 0.03) << multiprocessors;
  }
}
#endif

// ---- planned

TEST(LaunchControlPlan, the_grid_has_a_pair_of_ctas_for_each_tile) {
  KernelRun run(controlled({BlockFormat::mxfp8, BlockFormat::mxfp8, true}, 1, 2));
  const auto bound = bind_block_scaled(run.problem(), encode_for_emulator, 2);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(bound->grid_ctas, 2u * 6u);
  // 2^30 tiles are too many for a pair of CTAs each.
  KernelRun none({.k = 0, .scheduler = schedule::TileScheduler::cluster_launch_control});
  BlockScaledProblem huge = none.problem();
  huge.m = huge.n = huge.d_ld = int64_t{1} << 23;
  huge.a.scales = huge.b.scales = *PackedScales<const e8m0>::make(nullptr, int64_t{1} << 62, {huge.m, 0, 1});
  ASSERT_TRUE(check_block_scaled(huge));
  EXPECT_EQ(check_block_scaled(huge)->rule, "block_scaled.tiles");
  huge.scheduler = schedule::TileScheduler::static_persistent;
  EXPECT_FALSE(check_block_scaled(huge));
}

}  // namespace
}  // namespace tilewright
