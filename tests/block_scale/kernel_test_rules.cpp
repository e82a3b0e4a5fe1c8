// What the planner of the block-scaled kernels refuses, and with which sentence.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/block_scale/kernel_case.h"

namespace tilewright {
namespace {

struct Broken {
  const char* rule;
  const char* words;  // in the message: the nearest legal value, where there is one
  KernelCase base;
  std::function<void(BlockScaledProblem&)> change;
};

const KernelCase kMixed{.a = BlockFormat::mxfp8, .b = BlockFormat::mxfp4, .k = 256};
const KernelCase kFp4{.a = BlockFormat::nvfp4, .b = BlockFormat::nvfp4, .k = 256};

std::vector<Broken> broken_problems() {
  using P = BlockScaledProblem;
  return {
      {"block_scaled.extent", "nearest legal value is 0", {}, [](P& p) { p.m = -1; }},
      {"block_scaled.extent", "2147483647", {}, [](P& p) { p.n = int64_t{1} << 31; }},
      {"block_scaled.formats",
       "16 and to 32 elements; the nearest legal value is mxfp8 x mxfp8",
       {},
       [](P& p) { p.b.format = BlockFormat::nvfp4; }},
      {"block_scaled.formats", "the nearest legal value is nvfp4 x nvfp4", kFp4,
       [](P& p) { p.b.format = BlockFormat::mxfp4; }},
      {"block_scaled.output",
       "D is e4m3; the nearest legal value is f16",
       {},
       [](P& p) { p.d_type = DType::e4m3; }},
      {"block_scaled.output",
       "D is f64; the nearest legal value is f32",
       {},
       [](P& p) { p.d_type = DType::f64; }},
      {"block_scaled.source", "no C", {}, [](P& p) { p.beta = 1; }},
      {"block_scaled.source",
       "C is s32; the nearest legal value is f32",
       {.beta = 1},
       [](P& p) { p.c_type = DType::s32; }},
      {"block_scaled.k_multiple", "nearest legal value is 96;", {}, [](P& p) { p.k = 100; }},
      {"block_scaled.k_multiple", "nearest legal value is 32;", {}, [](P& p) { p.k = 33; }},
      {"block_scaled.k_multiple", "nearest legal value is 32;", {}, [](P& p) { p.k = 1; }},
      {"block_scaled.k_multiple",
       "nearest legal value is 2147483616 (",
       {},
       [](P& p) { p.k = (int64_t{1} << 31) - 1; }},
      {"block_scaled.k_multiple", "multiple of 64; the nearest legal value is 64;", kFp4,
       [](P& p) { p.k = 32; }},
      {"block_scaled.k_multiple", "multiple of 128; the nearest legal value is 128;", kMixed,
       [](P& p) { p.k = 64; }},
      {"block_scaled.leading_dimension",
       "A: leading dimension 260 elements; the nearest legal value is 272",
       {},
       [](P& p) { p.a.ld = 260; }},
      {"block_scaled.leading_dimension", "256", {}, [](P& p) { p.b.ld = 128; }},
      {"block_scaled.leading_dimension", "B: leading dimension 272 elements; the nearest legal value is 288",
       kFp4, [](P& p) { p.b.ld = 272; }},
      {"block_scaled.leading_dimension", "nearest legal value is 320", kMixed, [](P& p) { p.b.ld = 288; }},
      {"block_scaled.scale_type",
       "mxfp8 and its scales are e4m3",
       {},
       [](P& p) { p.a.scales = PackedScales<const e4m3>(); }},
      {"block_scaled.scale_shape", "needed are 1 x 299 x 8", {}, [](P& p) { p.m = 299; }},
      {"block_scaled.scale_shape",
       "B: scales of 2 x 520 x 8, needed are 1 x 520 x 8",
       {.batches = 2},
       [](P& p) { p.b.shared = true; }},
      {"block_scaled.null", "D is null", {}, [](P& p) { p.d = nullptr; }},
      {"block_scaled.null", "B is null", {}, [](P& p) { p.b.elements = nullptr; }},
      {"block_scaled.output_stride", "520", {}, [](P& p) { p.d_ld = 100; }},
      {"block_scaled.tiles",
       "tiles in",
       {.k = 0},
       [](P& p) {
         p.m = p.n = (int64_t{1} << 31) - 1;
         p.d_ld = p.n;
       }},
  };
}

TEST(BlockScaledRules, every_rule_refuses_with_its_sentence) {
  std::set<std::string> seen;
  for (const Broken& row : broken_problems()) {
    KernelRun run(row.base);
    BlockScaledProblem problem = run.problem();
    EXPECT_TRUE(bind_block_scaled(problem, encode_for_emulator, 2)) << row.rule;
    row.change(problem);
    const auto bound = bind_block_scaled(problem, encode_for_emulator, 2);
    ASSERT_FALSE(bound) << row.rule;
    EXPECT_EQ(bound.error().rule, row.rule) << bound.error().message;
    EXPECT_NE(bound.error().message.find(row.words), std::string::npos) << bound.error().message;
    seen.insert(row.rule);
  }
  for (const BlockScaledRule& rule : block_scaled_rules()) {
    if (rule.name == first_plan_rule) break;  // kernel_test_plan.cpp
    EXPECT_EQ(seen.count(rule.name), 1u) << rule.name << " has no test";
    EXPECT_FALSE(std::string(rule.requirement).empty());
  }
}

TEST(BlockScaledRules, stand_in_docs_block_scaled_md_with_what_they_need) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/block-scaled.md");
  ASSERT_TRUE(file);
  std::string line;
  std::vector<std::string> rows;
  while (std::getline(file, line))
    if (line.starts_with("| `block_scaled.")) rows.push_back(line);
  std::vector<std::string> rules;
  for (const BlockScaledRule& rule : block_scaled_rules())
    rules.push_back(std::string("| `") + rule.name + "` | " + rule.requirement + " |");
  EXPECT_EQ(rows, rules);
}

TEST(BlockScaledRules, the_errors_of_tensor_maps_name_the_operand) {
  KernelRun run(kMixed);
  BlockScaledProblem problem = run.problem();
  problem.b.elements = static_cast<const uint8_t*>(problem.b.elements) + 16;
  const auto bound = bind_block_scaled(problem, encode_for_emulator, 2);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().rule, "tensor_map.padded_e2m1");
  EXPECT_EQ(bound.error().message.find("B: "), 0u) << bound.error().message;
}

TEST(BlockScaledRules, the_grid_is_a_pair_for_two_multiprocessors_and_at_most_one_for_each_tile) {
  KernelRun run({.m = 512, .n = 1024, .k = 128});  // 2 x 4 tiles
  const auto grid = [&](int multiprocessors) {
    return bind_block_scaled(run.problem(), encode_for_emulator, multiprocessors)->grid_ctas;
  };
  EXPECT_EQ(grid(148), 16u);
  EXPECT_EQ(grid(6), 6u);
  EXPECT_EQ(grid(7), 6u);
  EXPECT_EQ(grid(1), 2u);
}

TEST(BlockScaledRules, d_is_stored_by_tma_where_its_rows_end_on_sixteen_bytes) {
  const auto by_tma = [](const KernelCase& c) {
    KernelRun run(c);
    return bind_block_scaled(run.problem(), encode_for_emulator, 2)->params.store.d_tma;
  };
  EXPECT_TRUE(by_tma({.n = 264}));
  EXPECT_FALSE(by_tma({.n = 260}));
  EXPECT_TRUE(by_tma({.n = 260, .d_type = DType::f32}));
  EXPECT_FALSE(by_tma({.n = 264, .d_padding = 4}));
  EXPECT_TRUE(by_tma({.n = 264, .d_padding = 8}));
}

TEST(BlockScaledRules, shared_memory_of_every_kernel_fits) {
  for (const BlockFormat a : {BlockFormat::mxfp8, BlockFormat::mxfp4, BlockFormat::nvfp4}) {
    for (const int bytes : {2, 4}) {
      const auto plan = kernels::block_scaled_shared_plan(a, a);
      EXPECT_LE(kernels::block_scaled_shared_bytes({a, a, bytes, true}), 232448u);
      EXPECT_EQ(kernels::block_scaled_scratch_offset(plan) % 1024, 0u);
      EXPECT_EQ(plan.answers_begin % 16, 0u);
      EXPECT_EQ(plan.a_scales(1) % 128, 0u);
      EXPECT_EQ(plan.b(4) + plan.operand_bytes, plan.scales_begin);
    }
  }
}

}  // namespace
}  // namespace tilewright
