// Every order of barrier events of the library's FP8 kernels on three tiles of two K tiles for each CTA.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/faults/gemm_case.h"
#include "tests/faults/planting.h"
#include "tilewright/emulator/explore.h"

namespace tilewright::faults {
namespace {

using emulator::ExploreOptions;
using emulator::ExploreResult;
using emulator::MachineOptions;

constexpr int64_t kTiles = 3, kKTiles = 2;

/// Nothing when the build has no kernel for the case.
std::optional<ExploreResult> explore_all(const GemmCase& gemm, ExploreOptions limits,
                                         std::optional<emulator::FaultSpec> fault = std::nullopt) {
  GemmCase small = gemm;
  small.k_tiles = kKTiles;
  std::optional<GemmRunner> runner = GemmRunner::make(small);
  if (!runner) return std::nullopt;
  EXPECT_EQ(runner->info().tiles, kTiles * gemm.batches * runner->info().grid_ctas);
  MachineOptions options;
  options.arithmetic = false;
  options.fault = std::move(fault);
  const Expected<ExploreResult> result = emulator::explore(
      options, [&](const MachineOptions& each) { return runner->run(each); }, limits);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  if (!result) return ExploreResult{};
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("explored %s: %llu executions, %llu cut, up to %llu steps\n", gemm.name,
              number(result->executions), number(result->cut), number(result->most_steps));
  return *result;
}

class Exhaustive : public testing::TestWithParam<const GemmCase*> {};

TEST_P(Exhaustive, no_order_has_a_report) {
  // The warps that bring block scales step apart from the producer of their CTA; with those of another CTA
  // that is more than can be seen in a test: a first part of the orders.
  const bool all = GetParam() != &kBlocksCluster;
  const auto result = explore_all(*GetParam(), {.max_executions = all ? 1000u : 30u});
  if (!result) GTEST_SKIP() << kNotBuilt;
  EXPECT_FALSE(result->report.has_value()) << result->report->message;
  EXPECT_EQ(result->complete, all);
  if (!all) return;
  // The kernels are deterministic: arrivals of one phase aside, their synchronisation leaves no order open.
  EXPECT_EQ(result->executions, 1u);
  EXPECT_GE(result->most_steps, 40u);
}

/// Copies by cp.async of each thread leave more orders open than can be seen.
std::vector<const GemmCase*> cases_without_copies() {
  std::vector<const GemmCase*> cases = gemm_cases();
  std::erase_if(cases, [](const GemmCase* gemm) { return gemm == &kCopyOut8 || gemm == &kCopyAhead; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Exhaustive, Exhaustive, testing::ValuesIn(cases_without_copies()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(ExhaustiveOrders, of_copies_that_complete_one_phase) {
  for (const GemmCase* gemm : {&kPromoted64x64, &kOut8, &kOut32}) {
    const auto result = explore_all(*gemm, {.every_order_of_arrivals = true});
    if (!result) continue;
    EXPECT_FALSE(result->report.has_value()) << result->report->message;
    EXPECT_TRUE(result->complete);
    // A and B of each of six stages, in either order.
    EXPECT_EQ(result->executions, uint64_t{1} << (kTiles * kKTiles));
  }
}

TEST(ExhaustiveOrders, show_planted_faults) {
  using emulator::Op;
  using enum emulator::ReportKind;
  const auto kind_of = [](const emulator::FaultSpec& fault) -> std::optional<emulator::ReportKind> {
    const auto result = explore_all(kPromoted64x64, {.max_executions = 1000}, fault);
    if (!result) return std::nullopt;
    EXPECT_TRUE(result->report.has_value());
    return result->report ? std::optional(result->report->kind) : std::nullopt;
  };
  const auto skipped_wait = kind_of(nth(2, skip(Op::mbarrier_wait, "full", kConsumer)));
  if (!skipped_wait) GTEST_SKIP() << kNotBuilt;
  EXPECT_TRUE(*skipped_wait == read_before_ready || *skipped_wait == overwrite_in_use);
  EXPECT_EQ(kind_of(skip(Op::mbarrier_arrive, "empty", kConsumer)), deadlock);
  EXPECT_EQ(kind_of(nth(2, skip(Op::bulk_wait))), overwrite_in_use);
}

}  // namespace
}  // namespace tilewright::faults
