// FP32 kernels with one fault planted: named under every schedule, and nothing without it.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "tests/faults/lines.h"
#include "tests/simt/fault_case.h"

namespace tilewright::faults {
namespace {

using emulator::LaunchResult;
using emulator::MachineOptions;
using emulator::ReportKind;

constexpr uint64_t kCleanSeeds = 20;
constexpr uint64_t kSeeds = 4;      // of a planted fault: early, late and two mixtures
constexpr double kSoakShare = 0.2;  // of the seeds that TILEWRIGHT_SEEDS asks for

class SimtExploration : public testing::TestWithParam<const SimtCase*> {};

TEST_P(SimtExploration, reports_nothing_and_gives_the_same_bits) {
  SimtRunner runner(*GetParam());
  uint64_t interleavings = 0;
  std::vector<std::byte> first;
  const std::vector<MachineOptions> all = schedules(kCleanSeeds);
  for (const MachineOptions& options : all) {
    const Expected<LaunchResult> result = runner.run(options);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    ASSERT_TRUE(result->reports.empty()) << name_of(options) << ": " << result->reports[0].message;
    interleavings += result->statistics.interleavings;
    if (first.empty()) first = runner.result();
    EXPECT_EQ(runner.result(), first) << name_of(options);
  }
  std::printf("explored %s: %zu runs, %llu interleavings\n", GetParam()->name, all.size(),
              static_cast<unsigned long long>(interleavings));
}

INSTANTIATE_TEST_SUITE_P(Kernels, SimtExploration, testing::ValuesIn(simt_fault_cases()),
                         [](const auto& info) { return std::string(info.param->name); });

std::vector<SimtFault> planted() {
  std::vector<SimtFault> table;
  plant_in_simt_ring(table);
  plant_in_simt_copies(table);
  return table;
}

class SimtFaults : public testing::TestWithParam<SimtFault> {};

TEST_P(SimtFaults, is_reported) {
  const SimtFault& row = GetParam();
  EXPECT_TRUE(is_in_a_header(row.line));
  SimtRunner runner(*row.of);
  const auto run = [&](const MachineOptions& options) { return runner.run(options); };
  expect_clean({{}}, run);
  expect_reported(row.fault, row.symptom, row.line, schedules(kSeeds, kSoakShare), run);
}

INSTANTIATE_TEST_SUITE_P(Planted, SimtFaults, testing::ValuesIn(planted()),
                         [](const auto& info) { return std::string(info.param.name); });

// A check of M, N or K that is off by one reads or writes outside an operand.
TEST(PlantedSimtExtents, one_too_many_is_out_of_bounds) {
  for (const SimtCase* simt : {&kSimtGather, &kSimtGatherAlongK, &kSimtAsync, &kSimtAsyncAlongK}) {
    for (const auto& [m, n, k] : {std::array{1, 0, 0}, std::array{0, 1, 0}, std::array{0, 0, 1}}) {
      SimtRunner runner(*simt);
      runner.plan_beyond(m, n, k);
      const Expected<LaunchResult> result = runner.run({});
      ASSERT_TRUE(result.has_value()) << result.error().message;
      ASSERT_FALSE(result->reports.empty()) << simt->name << ' ' << m << n << k;
      EXPECT_EQ(result->reports[0].kind, ReportKind::out_of_bounds) << result->reports[0].message;
    }
  }
}

}  // namespace
}  // namespace tilewright::faults
