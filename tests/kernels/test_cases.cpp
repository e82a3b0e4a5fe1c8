// The kernels on the emulated machine: covering array, products, random problems, and cases with known
// answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "tests/kernels/axes.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/kernels/random_cases.h"

namespace tilewright::testing {
namespace {

class KernelShard : public Shard {
 protected:
  static void run(const std::vector<GemmCase>& cases, int shards) {
    EmulatedMachine machine;
    for (GemmCase& c : share_of(cases, shards)) {
      c.runs = 1;  // the machine is deterministic, and its schedules have a test of their own
      expect_passes(c, machine);
    }
  }
};

constexpr int kCoveringShards = 8, kProductShards = 4, kRandomShards = 4;

using Covering = KernelShard;
TEST_P(Covering, all_pairs_of_options_meet) { run(covering_cases(Device::emulator), kCoveringShards); }
INSTANTIATE_TEST_SUITE_P(Kernels, Covering, ::testing::Range(0, kCoveringShards));

using Products = KernelShard;
TEST_P(Products, values_on_a_small_tile) { run(value_product(Device::emulator, false), kProductShards); }
TEST_P(Products, orders_on_a_small_tile) { run(order_product(Device::emulator), kProductShards); }
INSTANTIATE_TEST_SUITE_P(Kernels, Products, ::testing::Range(0, kProductShards));

using RandomProblems = KernelShard;
TEST_P(RandomProblems, are_computed_whatever_their_extents) {
  run(random_cases(Device::emulator, 1, 200), kRandomShards);
}
TEST_P(RandomProblems, are_computed_with_scales) {
  run(random_scaled_cases(Device::emulator, 5, 120), kRandomShards);
}
INSTANTIATE_TEST_SUITE_P(Kernels, RandomProblems, ::testing::Range(0, kRandomShards));

class Checks : public ::testing::TestWithParam<Check> {};
TEST_P(Checks, holds) {
  EmulatedMachine machine;
  GetParam().run(machine);
}
const auto name_of_check = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Values, Checks, ::testing::ValuesIn(value_checks().begin(), value_checks().end()),
                         name_of_check);
INSTANTIATE_TEST_SUITE_P(Shapes, Checks, ::testing::ValuesIn(shape_checks().begin(), shape_checks().end()),
                         name_of_check);
INSTANTIATE_TEST_SUITE_P(Scales, Checks, ::testing::ValuesIn(scale_checks().begin(), scale_checks().end()),
                         name_of_check);
INSTANTIATE_TEST_SUITE_P(Options, Checks, ::testing::ValuesIn(option_checks().begin(), option_checks().end()),
                         name_of_check);

/// Every pair of levels in `rows`: axis, level, other axis, its level.
std::set<std::array<int, 4>> pairs_of(const std::vector<Row>& rows) {
  std::set<std::array<int, 4>> pairs;
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t j = i + 1; j < row.size(); ++j)
        pairs.insert({static_cast<int>(i), row[i], static_cast<int>(j), row[j]});
  return pairs;
}

TEST(CoveringArray, has_every_pair_that_a_legal_row_has) {
  const std::vector<Row> runnable = runnable_combinations(Device::emulator);
  const std::vector<Row> rows = covering_rows(Device::emulator);
  const auto covered = pairs_of(rows);
  for (const auto& pair : pairs_of(runnable)) EXPECT_TRUE(covered.contains(pair));
  size_t pairs = pairs_of(runnable).size();
  std::set<std::array<int, 2>> levels;
  for (const auto& pair : pairs_of(runnable))
    levels.insert({pair[0], pair[1]}), levels.insert({pair[2], pair[3]});
  for (size_t i = 0; i < kDependentAxes; ++i)
    for (int level = 0; level < axis_levels()[i]; ++level)
      EXPECT_TRUE(levels.contains({static_cast<int>(i), level})) << "axis " << i << ", level " << level;
  for (size_t i = 0; i < kAxes; ++i)
    for (size_t j = std::max(i + 1, kDependentAxes); j < kAxes; ++j)
      pairs += static_cast<size_t>(axis_levels()[i]) * static_cast<size_t>(axis_levels()[j]);
  EXPECT_EQ(covered.size(), pairs);
  std::printf("%zu rows for %zu pairs, %zu kernels and clusters\n", rows.size(), pairs, runnable.size());
}

TEST(CoveringArray, leaves_out_only_what_a_rule_refuses) {
  std::set<std::string> rules;
  for (const Rule& rule : gemm_rules()) rules.insert(rule.name);
  for (const Row& row : dependent_combinations()) {
    const GemmCase c = case_at(row, 0);
    const Status refusal = can_run(planned_problem(c), planned_options(c, Device::emulator));
    if (!refusal) continue;
    ASSERT_TRUE(rules.contains(refusal->rule)) << refusal->rule << describe(c);
    ASSERT_NE(refusal->message.find("nearest legal"), std::string::npos) << refusal->message;
  }
}

}  // namespace
}  // namespace tilewright::testing
