// Kernels with fused epilogues on the emulated machine, element by element.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "tests/fused/fused_cases.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

/// Processes that share the covering array.
constexpr int kShards = 4;

class FusedShard : public Shard {
 protected:
  static void run(const std::vector<GemmCase>& all) {
    EmulatedMachine machine;
    std::vector<GemmCase> cases = share_of(all, kShards);
    for (size_t i = 0; i < cases.size(); ++i) {
      if (i % 3 != 0) cases[i].runs = 1;
      const CaseResult result = expect_passes(cases[i], machine);
      EXPECT_TRUE(result.info.kernel.starts_with("fused_")) << result.info.kernel;
      EXPECT_EQ(result.info.path, "wgmma");
    }
  }
};

TEST_P(FusedShard, all_pairs_of_options_meet) { run(fused_covering_cases()); }
TEST_P(FusedShard, sizes_around_the_edges) { run(fused_edge_cases()); }
TEST_P(FusedShard, values_with_known_answers) { run(fused_value_cases()); }
INSTANTIATE_TEST_SUITE_P(Kernels, FusedShard, ::testing::Range(0, kShards));

/// A case with everything, of two ragged tiles each way and two batches.
GemmCase full_case() {
  GemmCase c = fused_case(small_fused_kernel(DType::e4m3, DType::f16), "everything", 70, 144, 150);
  Problem& p = c.problem;
  p.l = 2;
  p.alpha = 0.03f;  // so that values lie where the activations differ, the greatest being negative
  p.beta = 0.25f;
  c.bias_value = [](int64_t batch, int64_t i, int64_t) {
    return i == 5 ? -9.0 : std::sin(static_cast<double>(i)) + static_cast<double>(batch);
  };
  p.scale_d = 0.75f;
  p.epilogue = {
      .bias = BiasKind::column, .bias_batch_stride = 150, .activation = Activation::gelu, .amax_d = true};
  p.epilogue.aux = aux_of(p, DType::f32);
  c.runs = 1;
  return c;
}

// Each argument has its effect: with another value of it something else comes out. (That what comes out is
// right, the case checks by itself.)
TEST(FusedCases, every_argument_matters) {
  EmulatedMachine machine;
  const GemmCase full = full_case();
  const CaseResult expected = expect_passes(full, machine);
  struct Change {
    const char* name;
    std::function<void(GemmCase&)> make;
    bool d, aux, amax;  // what changes
  };
  const Change changes[] = {
      {"no bias", [](GemmCase& c) { c.problem.epilogue.bias = BiasKind::none; }, true, true, true},
      {"bias of rows", [](GemmCase& c) { c.problem.epilogue.bias = BiasKind::row; }, true, true, true},
      {"bias of bf16", [](GemmCase& c) { c.problem.epilogue.bias_type = DType::bf16; }, true, true, true},
      {"one bias", [](GemmCase& c) { c.problem.epilogue.bias_batch_stride = 0; }, true, true, true},
      {"relu", [](GemmCase& c) { c.problem.epilogue.activation = Activation::relu; }, true, false, true},
      {"no activation", [](GemmCase& c) { c.problem.epilogue.activation = Activation::none; }, true, false,
       true},
      {"aux of bf16", [](GemmCase& c) { c.problem.epilogue.aux = aux_of(c.problem, DType::bf16); }, false,
       true, false},
      {"scale_d", [](GemmCase& c) { c.problem.scale_d = 1.5f; }, true, false, false},
      {"alpha", [](GemmCase& c) { c.problem.alpha = 1.5f; }, true, true, true},
      {"scale_a", [](GemmCase& c) { c.problem.scale_a = 1.5f; }, true, true, true},
      {"scale_b", [](GemmCase& c) { c.problem.scale_b = 1.5f; }, true, true, true},
      {"beta", [](GemmCase& c) { c.problem.beta = 1.5f; }, true, true, true},
      {"D of bf16", [](GemmCase& c) { c.problem.d.type = DType::bf16, c.problem.c.type = DType::f16; }, true,
       false, false},
  };
  for (const Change& change : changes) {
    GemmCase c = full;
    c.name = change.name;
    change.make(c);
    const CaseResult result = expect_passes(c, machine);
    EXPECT_EQ(result.d != expected.d, change.d) << change.name;
    EXPECT_EQ(result.aux != expected.aux, change.aux) << change.name;
    EXPECT_EQ(result.amax != expected.amax, change.amax) << change.name;
  }
}

TEST(FusedCases, amax_of_an_empty_output_is_zero) {
  EmulatedMachine machine;
  for (const auto& [m, n] : {std::pair{0, 16}, std::pair{16, 0}}) {
    GemmCase c = fused_case(small_fused_kernel(DType::bf16, DType::bf16), "empty", m, n, 16);
    c.problem.epilogue.amax_d = true;
    const CaseResult result = expect_passes(c, machine);
    EXPECT_EQ(result.amax, 0);
    EXPECT_FALSE(std::signbit(result.amax));
  }
}

// Several tiles for a CTA, with rings that wrap: amax is that of all of them.
class FusedTiles : public ::testing::TestWithParam<int> {};

TEST_P(FusedTiles, amax_is_kept_over_all_tiles_of_a_cta) {
  EmulatedMachine machine;
  const auto& id = fused_kernel_ids()[static_cast<size_t>(GetParam())];
  for (const int64_t row : {int64_t{0}, id.tile_m + int64_t{7}, 4 * int64_t{id.tile_m} - 1}) {
    GemmCase c = fused_case(id, "tiles", 4 * id.tile_m, 2 * id.tile_n, 5 * kernels::tensor_tile_k(id));
    c.bias_value = [row](int64_t, int64_t i, int64_t) { return i == row ? -5000.0 : 0.0; };
    c.problem.epilogue = {.bias = BiasKind::row, .amax_d = true};
    const CaseResult result = expect_passes(c, machine);
    EXPECT_EQ(result.info.grid_ctas, 1);
    EXPECT_EQ(result.info.tiles, 8);
    EXPECT_GT(result.amax, 4000);
  }
}
INSTANTIATE_TEST_SUITE_P(Kernels, FusedTiles, ::testing::Values(0, 1, 8));

// Aux goes out as D does where both have elements of one size, else element by element.
TEST(FusedCases, aux_is_stored_by_tma_where_it_can_be) {
  EmulatedMachine machine;
  const auto stores = [&](DType d, std::optional<DType> aux, int64_t wider) {
    GemmCase c = fused_case(small_fused_kernel(DType::e4m3, d), "aux", 64, 128, 128);
    c.problem.d.type = d;
    c.problem.epilogue.activation = Activation::relu;
    if (aux) {
      c.problem.epilogue.aux = aux_of(c.problem, *aux);
      c.problem.epilogue.aux->ld += wider;
    }
    c.runs = 1;
    expect_passes(c, machine);
    return machine.statistics().count(emulator::Op::tma_store);
  };
  for (const DType d : {DType::f16, DType::f32}) {
    const uint64_t alone = stores(d, {}, 0);
    EXPECT_GT(alone, 0u);
    EXPECT_EQ(stores(d, d, 0), 2 * alone);
    EXPECT_EQ(stores(d, d, 1), alone);
  }
  EXPECT_EQ(stores(DType::f16, DType::bf16, 0), 2 * stores(DType::f16, {}, 0));
  EXPECT_EQ(stores(DType::f16, DType::f32, 0), stores(DType::f16, {}, 0));
  EXPECT_EQ(stores(DType::e4m3, DType::bf16, 0), stores(DType::e4m3, {}, 0));
}

TEST(FusedCases, the_plan_says_what_was_chosen) {
  GemmCase c = full_case();
  c.options.tile.reset();
  const Expected<Plan> planned = plan(planned_problem(c), planned_options(c, Device::emulator));
  ASSERT_TRUE(planned) << planned.error().message;
  const PlanInfo& info = planned->info();
  EXPECT_EQ(info.kernel, "fused_64x128_e4m3_e4m3_o2");
  EXPECT_NE(info.why.find("bias of columns (f32), gelu, aux (f32), amax"), std::string::npos) << info.why;
  EXPECT_EQ(info.promotions, 2);
  EXPECT_EQ(info.launches, 1);
  EXPECT_EQ(planned->workspace_bytes(), 0);
}

}  // namespace
}  // namespace tilewright::testing
