#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tilewright/mainloop/tcgen05_storage_plan.h"

namespace tilewright {
namespace {

// nvfp4, overlapping.
constexpr TmemPlan kNvfp4 = tmem_plan({.k_tile = 256, .vector = 16});
static_assert(kNvfp4.left == TmemRange{0, 256});
static_assert(kNvfp4.right == TmemRange{208, 256});
static_assert(kNvfp4.a_scales == TmemRange{464, 16});
static_assert(kNvfp4.b_scales == TmemRange{480, 32});
static_assert(kNvfp4.early_release_subtile == 1);

// mxfp4.
constexpr TmemPlan kMxfp4 = tmem_plan({.k_tile = 256, .vector = 32});
static_assert(kMxfp4.right == TmemRange{232, 256});
static_assert(kMxfp4.a_scales == TmemRange{488, 8});
static_assert(kMxfp4.b_scales == TmemRange{496, 16});
static_assert(kMxfp4.early_release_subtile == 0);

// mxfp8, also with mxfp4.
constexpr TmemPlan kMxfp8 = tmem_plan({.k_tile = 128, .vector = 32});
static_assert(kMxfp8.right == TmemRange{244, 256});
static_assert(kMxfp8.a_scales == TmemRange{500, 4});
static_assert(kMxfp8.b_scales == TmemRange{504, 8});
static_assert(kMxfp8.early_release_subtile == 0);

// One accumulator.
constexpr TmemPlan kSingle = tmem_plan({.k_tile = 256, .vector = 16, .overlap = false});
static_assert(kSingle.left == TmemRange{0, 256} && kSingle.right == TmemRange{0, 256});
static_assert(kSingle.a_scales == TmemRange{256, 16});
static_assert(kSingle.b_scales == TmemRange{272, 32});

constexpr TmemPlanShape kShapes[] = {
    {256, 16, 32, true}, {256, 32, 32, true},  {128, 32, 32, true},  {256, 16, 64, true},
    {256, 16, 16, true}, {256, 16, 32, false}, {256, 32, 32, false}, {128, 32, 32, false},
};

TEST(StoragePlan, scales_lie_outside_both_accumulators_and_inside_tensor_memory) {
  for (const TmemPlanShape& shape : kShapes) {
    ASSERT_TRUE(is_legal(shape));
    const TmemPlan plan = tmem_plan(shape);
    std::set<int> used;
    for (const TmemRange& range : {plan.a_scales, plan.b_scales}) {
      for (int column = range.first; column < range.end(); ++column) {
        ASSERT_GE(column, 0);
        ASSERT_LT(column, tmem_columns);
        ASSERT_FALSE(plan.left.contains(column) || plan.right.contains(column)) << column;
        ASSERT_TRUE(used.insert(column).second) << column;
      }
    }
    EXPECT_LE(plan.right.end(), tmem_columns);
    // 128 rows of A and 256 of B, four scales a word, 32 lanes a column.
    EXPECT_EQ(plan.a_scales.count, 128 * (shape.k_tile / shape.vector) / 4 / 32);
    EXPECT_EQ(plan.b_scales.count, 256 * (shape.k_tile / shape.vector) / 4 / 32);
    if (shape.overlap) {
      // The two windows overlap by exactly what the scales take, and nothing is left over.
      EXPECT_EQ(plan.shared_columns(), plan.a_scales.count + plan.b_scales.count);
      EXPECT_EQ(plan.right.end(), plan.a_scales.first);
      EXPECT_EQ(plan.b_scales.end(), tmem_columns);
    }
  }
}

TEST(StoragePlan, every_tile_drains_all_columns_once_and_the_shared_ones_before_the_release) {
  for (const TmemPlanShape& shape : kShapes) {
    const TmemPlan plan = tmem_plan(shape);
    for (uint32_t tile = 0; tile < 2; ++tile) {
      const TmemRange window = plan.accumulator(tile), other = plan.accumulator(tile + 1);
      std::set<int> drained;
      for (int step = 0; step < plan.subtiles(); ++step) {
        const int first = window.first + plan.subtile_column(tile, step);
        for (int i = 0; i < shape.epilogue_columns; ++i) ASSERT_TRUE(drained.insert(first + i).second);
        if (!shape.overlap || step > plan.early_release_subtile) continue;
        // Not one subtile earlier than need be, and not one later.
        bool all = true;
        for (int column = window.first; column < window.end(); ++column) {
          if (other.contains(column)) all = all && drained.count(column) != 0;
        }
        EXPECT_EQ(all, step == plan.early_release_subtile) << "tile " << tile << " step " << step;
      }
      EXPECT_EQ(drained.size(), 256u);
      EXPECT_EQ(*drained.begin(), window.first);
    }
  }
}

TEST(StoragePlan, shapes_without_a_plan_are_refused) {
  EXPECT_FALSE(is_legal({.k_tile = 96, .vector = 32}));                           // scales fill no word
  EXPECT_FALSE(is_legal({.k_tile = 256, .vector = 16, .epilogue_columns = 48}));  // does not divide 256
  EXPECT_FALSE(is_legal({.k_tile = 2048, .vector = 16}));                         // scales need 384 columns
  EXPECT_FALSE(is_legal({.k_tile = 0, .vector = 16}));
  EXPECT_FALSE(is_legal({.k_tile = 256, .vector = 0}));
}

TEST(StoragePlan, the_picture_shows_every_range_and_the_drain_order) {
  const std::string picture = draw_tmem({.k_tile = 256, .vector = 16});
  const auto has = [&](const char* text) { return picture.find(text) != std::string::npos; };
  EXPECT_TRUE(has("left accumulator  LLLLLLLLLLLLLLLLLLLLLLLLLL%%%%%%....")) << picture;
  EXPECT_TRUE(has("right accumulator ..........................%%%%%%RRRR")) << picture;
  EXPECT_TRUE(has("208..463 (256)"));
  EXPECT_TRUE(has("464..479 (16)"));
  EXPECT_TRUE(has("480..511 (32)"));
  EXPECT_TRUE(has("48 columns from 208"));
  EXPECT_TRUE(has("even tiles drain  224 192 | release | 160 128 96 64 32 0\n")) << picture;
  EXPECT_TRUE(has("odd tiles drain   208 240 | release | 272 304 336 368 400 432\n")) << picture;
  // A line of the map has 64 characters for 512 columns.
  const size_t scales = picture.find("B scales");
  EXPECT_EQ(picture.substr(scales + 18 + 60, 6), "bbbb  ");
}

TEST(StoragePlan, the_picture_of_a_single_accumulator_shares_nothing) {
  const std::string picture = draw_tmem({.k_tile = 128, .vector = 32, .overlap = false});
  EXPECT_EQ(picture.find('%'), std::string::npos) << picture;
  EXPECT_EQ(picture.find("release"), std::string::npos);
  EXPECT_NE(picture.find("every tile drains 0 32 64 96 128 160 192 224\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("256..259 (4)"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
