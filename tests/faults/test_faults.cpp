// Kernels with one fault planted: named under every schedule, and nothing without it.
#include <gtest/gtest.h>

#include "tests/faults/fault_table.h"
#include "tests/faults/lines.h"

namespace tilewright::faults {
namespace {

using emulator::LaunchResult;
using emulator::MachineOptions;
using emulator::ReportKind;

constexpr uint64_t kSeeds = 4;      // of the adversarial schedule: early, late and two mixtures
constexpr double kSoakShare = 0.2;  // of the seeds that TILEWRIGHT_SEEDS asks for

/// Faults that show in ordinary loads and stores, which a build for AddressSanitizer does not see.
bool needs_accesses(const PlantedFault& row) {
  const ReportKind kind = row.symptom.kinds.front();
  const bool ordinary_loads = row.of->load == LoadKind::copy || row.of->device_alpha;
  return kind == ReportKind::accumulator_in_flight || kind == ReportKind::missing_wgmma_fence ||
         (kind == ReportKind::dependency_not_waited && ordinary_loads);
}

class Faults : public testing::TestWithParam<PlantedFault> {};

TEST_P(Faults, is_reported) {
  const PlantedFault& row = GetParam();
  EXPECT_TRUE(is_in_a_header(row.line));
  if (!TILEWRIGHT_SEES_ACCESSES && needs_accesses(row))
    GTEST_SKIP() << "ordinary accesses are not seen in this build";
  std::optional<GemmRunner> runner = GemmRunner::make(*row.of);
  if (!runner) GTEST_SKIP() << kNotBuilt;
  const std::vector<MachineOptions> all = schedules(kSeeds, kSoakShare);
  const auto run = [&](const MachineOptions& options) { return runner->run(options); };
  expect_clean(all, run);
  expect_reported(row.fault, row.symptom, row.line, all, run);
}

INSTANTIATE_TEST_SUITE_P(Planted, Faults, testing::ValuesIn(planted_faults()),
                         [](const auto& info) { return std::string(info.param.name); });

class Harmless : public testing::TestWithParam<HarmlessFault> {};

TEST_P(Harmless, changes_nothing) {
  const HarmlessFault& row = GetParam();
  EXPECT_TRUE(is_in_a_header(row.line));
  std::optional<GemmRunner> runner = GemmRunner::make(*row.gemm);
  if (!runner) GTEST_SKIP() << kNotBuilt;
  const Expected<LaunchResult> clean = runner->run({});
  ASSERT_TRUE(clean.has_value() && clean->reports.empty());
  const std::vector<std::byte> right = runner->result();
  for (MachineOptions options : schedules(kSeeds, kSoakShare)) {
    options.arithmetic = true;
    options.fault = row.fault;
    const Expected<LaunchResult> result = runner->run(options);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    ASSERT_TRUE(result->reports.empty())
        << row.reason << ", but under the " << name_of(options) << ": " << result->reports[0].message;
    EXPECT_EQ(runner->result(), right) << name_of(options);
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, Harmless, testing::ValuesIn(harmless_faults()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright::faults
