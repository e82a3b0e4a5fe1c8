// Every kind of kernel under many schedules: nothing to report.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/faults/gemm_case.h"

namespace tilewright::faults {
namespace {

constexpr uint64_t kSeeds = 20;

class Exploration : public testing::TestWithParam<const GemmCase*> {};

TEST_P(Exploration, reports_nothing) {
  std::optional<GemmRunner> runner = GemmRunner::make(*GetParam());
  if (!runner) GTEST_SKIP() << kNotBuilt;
  EXPECT_GE(runner->info().tiles, 3 * runner->info().grid_ctas);
  uint64_t interleavings = 0;
  const std::vector<emulator::MachineOptions> all = schedules(kSeeds);
  for (const emulator::MachineOptions& options : all) {
    const Expected<emulator::LaunchResult> result = runner->run(options);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    ASSERT_TRUE(result->reports.empty()) << name_of(options) << ": " << result->reports[0].message;
    interleavings += result->statistics.interleavings;
    EXPECT_GE(result->statistics.most_barrier_phases, 3u) << "the ring did not wrap";
  }
  std::printf("explored %s: %zu runs, %llu interleavings\n", GetParam()->name, all.size(),
              static_cast<unsigned long long>(interleavings));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Exploration, testing::ValuesIn(gemm_cases()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tilewright::faults
