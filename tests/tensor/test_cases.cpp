// The tensor-core kernels of the pipeline API on the emulated machine, element by element and bit by bit.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/tensor/tensor_cases.h"

namespace tilewright::testing {
namespace {

/// Processes that share the covering array.
constexpr int kShards = 6;

class TensorShard : public Shard {
 protected:
  /// Each case once.
  static void run(const std::vector<GemmCase>& cases) {
    EmulatedMachine machine;
    for (GemmCase& c : share_of(cases, kShards)) {
      c.runs = 1;
      const CaseResult result = expect_passes(c, machine);
      // Without a product the order of A and B decides nothing.
      const bool named = c.name.find(result.info.kernel) != std::string::npos;
      EXPECT_TRUE(named || c.problem.alpha == 0) << c.name << " ran " << result.info.kernel;
      EXPECT_EQ(result.info.path, result.info.kernel.starts_with("mma_sync") ? "mma_sync"
                                  : result.info.kernel.starts_with("simt")   ? "simt"
                                                                             : "wgmma");
    }
  }
};

TEST_P(TensorShard, all_pairs_of_options_meet) { run(tensor_covering_cases()); }

TEST_P(TensorShard, every_kernel_is_planned_and_right) { run(tensor_kernel_cases()); }

TEST_P(TensorShard, sizes_around_the_edges) {
  EmulatedMachine machine;
  std::vector<GemmCase> cases = share_of(tensor_edge_cases(), kShards);
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].runs = i % 5 == 0 ? 2 : 1;
    expect_passes(cases[i], machine);
  }
}
INSTANTIATE_TEST_SUITE_P(Kernels, TensorShard, ::testing::Range(0, kShards));

TEST(TensorCases, values_with_known_answers) {
  EmulatedMachine machine;
  const std::vector<GemmCase> cases = tensor_value_cases();
  expect_all_pass(cases, machine);
  std::printf("values: %zu cases\n", cases.size());
}

// Every output is written by 64-bit offsets: the persistent loop wraps its ring and works on several tiles a
// CTA.
TEST(TensorCases, rings_wrap_and_ctas_have_several_tiles) {
  EmulatedMachine machine;
  const auto& id = small_kernel(DType::f16, DType::f16);
  GemmCase c =
      tensor_case(id, "several tiles", 4 * id.tile_m, 2 * id.tile_n, 12 * kernels::tensor_tile_k(id));
  c.options.max_sms = 1;
  const CaseResult result = expect_passes(c, machine);
  EXPECT_EQ(result.info.tiles, 8);
  EXPECT_EQ(result.info.grid_ctas, 1);
  EXPECT_GT(machine.statistics().most_barrier_phases, 8u);
  EXPECT_EQ(machine.statistics().count(emulator::Op::wgmma), 8u * 12 * 4 * id.tile_m / 64);
}

// A ring or an unrolled loop that takes K tiles in pairs would lose one.
TEST(TensorCases, C59_odd_numbers_of_k_tiles) {
  EmulatedMachine machine;
  const std::pair<DType, DType> types[] = {{DType::f16, DType::f32},
                                           {DType::bf16, DType::f32},
                                           {DType::tf32, DType::f32},
                                           {DType::s8, DType::s32},
                                           {DType::f64, DType::f64}};
  for (const auto& [type, d] : types) {
    const auto& id = small_kernel(type, d);
    for (const int64_t tiles : {1, 3, 5}) {
      GemmCase c = tensor_case(id, "odd K tiles", 70, 72, tiles * kernels::tensor_tile_k(id));
      c.data = Data::integers;
      c.runs = 1;
      EXPECT_EQ(expect_passes(c, machine).comparison.max_error, 0) << name_of(type);
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
