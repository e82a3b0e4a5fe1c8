// Every order of barrier events of the block-scaled kernels on three tiles of two K tiles for one pair of
// CTAs.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/block_scale/kernel_case.h"
#include "tilewright/emulator/explore.h"

namespace tilewright {
namespace {

using emulator::ExploreResult;
using emulator::FaultSpec;
using emulator::MachineOptions;
using emulator::Op;

ExploreResult explore_all(const KernelCase& c, std::optional<FaultSpec> fault = std::nullopt,
                          bool each_warp = false) {
  KernelRun run(c);
  MachineOptions options{.arithmetic = false};
  options.fault = std::move(fault);
  const auto result = emulator::explore(
      options, [&](const MachineOptions& each) -> Expected<emulator::LaunchResult> { return run.run(each); },
      {.max_executions = 2000, .each_warp = each_warp});
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return {};
  std::printf("explored %s%s%s: %llu executions, %llu cut, up to %llu steps\n", name_of(c).c_str(),
              c.scheduler == schedule::TileScheduler::static_persistent ? "" : ", clc",
              each_warp ? ", each warp" : "", static_cast<unsigned long long>(result->executions),
              static_cast<unsigned long long>(result->cut),
              static_cast<unsigned long long>(result->most_steps));
  return *result;
}

KernelCase three_tiles(BlockFormat a, BlockFormat b, bool overlap, int64_t k_tiles) {
  return {.a = a,
          .b = b,
          .overlap = overlap,
          .m = 200,
          .n = 700,
          .k = k_tiles * kernels::block_scaled_tile_k(a, b)};
}

// The load warp, the MMA warp and the four epilogue warps of each CTA, and then every warp, by themselves.
TEST(BlockScaledExploration, no_order_has_a_report) {
  for (const bool overlap : {true, false}) {
    for (const int64_t k_tiles : {1, 2}) {
      for (const auto& [a, b] : kFormatPairs) {
        for (const bool each_warp : {false, true}) {
          const ExploreResult result =
              explore_all(three_tiles(a, b, overlap, k_tiles), std::nullopt, each_warp);
          EXPECT_FALSE(result.report.has_value()) << result.report->message;
          EXPECT_TRUE(result.complete);
          // Arrivals of one phase aside, the kernel's synchronisation leaves no order open.
          EXPECT_EQ(result.executions, 1u);
          EXPECT_GE(result.most_steps, each_warp ? 120u : 80u);
        }
      }
    }
  }
}

TEST(BlockScaledExploration, no_order_of_tiles_that_are_asked_for_has_a_report) {
  for (const bool overlap : {true, false}) {
    for (const int64_t k_tiles : {1, 2}) {
      for (const auto& [a, b] : kFormatPairs) {
        for (const bool each_warp : {false, true}) {
          KernelCase c = three_tiles(a, b, overlap, k_tiles);
          c.scheduler = schedule::TileScheduler::cluster_launch_control;
          const ExploreResult result = explore_all(c, std::nullopt, each_warp);
          EXPECT_FALSE(result.report.has_value()) << result.report->message;
          EXPECT_TRUE(result.complete);
          EXPECT_EQ(result.executions, 1u);
        }
      }
    }
  }
}

TEST(BlockScaledExploration, shows_planted_faults) {
  const KernelCase c = three_tiles(BlockFormat::nvfp4, BlockFormat::nvfp4, true, 1);
  const FaultSpec no_overlap_wait{.op = Op::mbarrier_wait,
                                  .place = "shared columns",
                                  .role = "mma",
                                  .occurrence = FaultSpec::Occurrence::from_nth,
                                  .nth = 1};
  EXPECT_TRUE(explore_all(c, no_overlap_wait).report.has_value());
  // Found only where the load warp may be ahead of the MMA warp.
  const FaultSpec no_stage_wait{
      .op = Op::mbarrier_wait, .place = "full", .role = "mma", .occurrence = FaultSpec::Occurrence::all};
  EXPECT_TRUE(explore_all(c, no_stage_wait, true).report.has_value());
  const FaultSpec no_release{.op = Op::mbarrier_arrive, .place = "accumulator empty", .role = "epilogue"};
  const auto deadlock = explore_all(c, no_release).report;
  ASSERT_TRUE(deadlock.has_value());
  EXPECT_EQ(deadlock->kind, emulator::ReportKind::deadlock);
}

}  // namespace
}  // namespace tilewright
