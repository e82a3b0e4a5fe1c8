// Every rule of the table, flipped: from a descriptor that a path takes, one change breaks that rule.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "tests/pipeline/descriptors.h"

namespace tilewright::blas::testing {
namespace {

Facts good(path p) {
  Facts f = facts_of_v<Bf16Tile>;
  if (p == path::tcgen05) f.sm = 1000;
  if (p == path::mma_sync) f.n = 128;
  if (p == path::simt) {
    f.a = f.b = Element::f32;
    f.n = f.threads = 128;
    f.k = 32;
  }
  return f;
}

using Flip = void (*)(Facts&);

// mxfp8 on the path tcgen05.
void give_scales(Facts& f) {
  f.a = f.b = Element::e4m3;
  f.scale_vector = 32;
  f.scale = Element::e8m0;
  f.m = f.n = 256;
  f.k = f.threads = 128;
  f.cluster_m = 2;
  f.interval = 0;
}

const std::map<std::string, Flip>& flips() {
  static const std::map<std::string, Flip> all{
      {"wgmma.pipeline", [](Facts& f) { f.with_pipeline = false; }},
      {"wgmma.streaming", [](Facts& f) { f.input_streaming = false; }},
      {"wgmma.arch", [](Facts& f) { f.modifier = generic; }},
      {"wgmma.block_scale", [](Facts& f) { f.scale_vector = 32; }},
      {"wgmma.type", [](Facts& f) { f.is_complex = true; }},
      {"wgmma.mantissa_bits", [](Facts& f) { f.mantissa_bits = 23; }},
      {"wgmma.precision", [](Facts& f) { f.c = Element::f16; }},
      {"wgmma.alignment", [](Facts& f) { f.b_alignment = 8; }},
      {"wgmma.arrangement",
       [](Facts& f) {
         f.a = f.b = Element::tf32;
         f.k = 32;
         f.b_arrangement = row_major;
       }},
      {"wgmma.products",
       [](Facts& f) {
         f.a = f.b = f.c = Element::f32;
         f.mantissa_bits = 23;
         f.interval = 4;
         f.products = 2;
       }},
      {"wgmma.block_dim", [](Facts& f) { f.threads = 384; }},
      {"wgmma.producer", [](Facts& f) { f.threads = 1024; }},
      {"wgmma.tile_m", [](Facts& f) { f.m = 192; }},
      {"wgmma.tile_n", [](Facts& f) { f.n = 252; }},
      {"wgmma.tile_k", [](Facts& f) { f.k = 56; }},
      {"wgmma.accumulation",
       [](Facts& f) {
         f.a = f.b = f.c = Element::f16;
         f.interval = 4;
       }},
      {"wgmma.registers", [](Facts& f) { f.m = 256; }},
      {"wgmma.interval", [](Facts& f) { f.interval = 3; }},
      {"wgmma.stage", [](Facts& f) { f.k = 512; }},
      {"wgmma.multicast",
       [](Facts& f) {
         f.require_multicast = true;
         f.cluster_m = 3;
       }},
      {"wgmma.tunable", [](Facts& f) { f.tunable = f.has_cluster = true; }},
      {"wgmma.copied_input",
       [](Facts& f) {
         f.input_streaming = false;
         f.copied_input = true;
         f.cluster_m = 2;
       }},
      {"wgmma.scaled_promotion", [](Facts& f) { f.scaled_promotion = true; }},
      {"tcgen05.wgmma_only", [](Facts& f) { f.tunable = true; }},
      {"mma_sync.wgmma_only", [](Facts& f) { f.copied_input = true; }},
      {"simt.wgmma_only", [](Facts& f) { f.scaled_promotion = true; }},
      {"tcgen05.pipeline", [](Facts& f) { f.with_pipeline = false; }},
      {"tcgen05.streaming", [](Facts& f) { f.input_streaming = false; }},
      {"tcgen05.arch", [](Facts& f) { f.sm = 900; }},
      {"tcgen05.type", [](Facts& f) { f.is_complex = true; }},
      {"tcgen05.precision", [](Facts& f) { f.a = Element::f16; }},
      {"tcgen05.block_scale",
       [](Facts& f) {
         give_scales(f);
         f.scale_vector = 16;
       }},
      {"tcgen05.alignment", [](Facts& f) { f.a_alignment = 4; }},
      {"tcgen05.arrangement",
       [](Facts& f) {
         give_scales(f);
         f.b_arrangement = row_major;
       }},
      {"tcgen05.tile",
       [](Facts& f) {
         give_scales(f);
         f.k = 256;
       }},
      {"tcgen05.cluster",
       [](Facts& f) {
         give_scales(f);
         f.cluster_m = 1;
       }},
      {"tcgen05.block_dim",
       [](Facts& f) {
         give_scales(f);
         f.threads = 256;
       }},
      {"tcgen05.products",
       [](Facts& f) {
         give_scales(f);
         f.products = 2;
       }},
      {"mma_sync.arch", [](Facts& f) { f.sm = 750; }},
      {"mma_sync.block_scale", [](Facts& f) { f.scale_vector = 32; }},
      {"mma_sync.precision", [](Facts& f) { f.a = f.b = Element::f32; }},
      {"mma_sync.complex",
       [](Facts& f) {
         f.a = f.b = Element::s8;
         f.c = Element::s32;
         f.is_complex = true;
       }},
      {"mma_sync.accumulation",
       [](Facts& f) {
         f.a = f.b = f.c = Element::f16;
         f.interval = 4;
       }},
      {"mma_sync.products", [](Facts& f) { f.products = 2; }},
      {"mma_sync.multicast", [](Facts& f) { f.require_multicast = true; }},
      {"mma_sync.block_dim", [](Facts& f) { f.threads = 100; }},
      {"mma_sync.producer", [](Facts& f) { f.threads = 928; }},
      {"mma_sync.tile_m", [](Facts& f) { f.m = 72; }},
      {"mma_sync.tile_n",
       [](Facts& f) {
         f.a = f.b = Element::e4m3;
         f.b_arrangement = row_major;
         f.n = 8;
       }},
      {"mma_sync.tile_k", [](Facts& f) { f.k = 40; }},
      {"mma_sync.warps", [](Facts& f) { f.m = f.n = 16; }},
      {"mma_sync.registers", [](Facts& f) { f.n = 256; }},
      {"mma_sync.stage",
       [](Facts& f) {
         f.sm = 890;
         f.k = 256;
       }},
      {"simt.arch", [](Facts& f) { f.modifier = generic; }},
      {"simt.block_scale", [](Facts& f) { f.scale_vector = 32; }},
      {"simt.precision", [](Facts& f) { f.a = Element::f64; }},
      {"simt.mantissa_bits", [](Facts& f) { f.mantissa_bits = 23; }},
      {"simt.products", [](Facts& f) { f.products = 2; }},
      {"simt.block_dim", [](Facts& f) { f.threads = 256; }},
      {"simt.tile_m", [](Facts& f) { f.m = 96; }},
      {"simt.tile_n", [](Facts& f) { f.n = 64; }},
      {"simt.tile_k", [](Facts& f) { f.k = 40; }},
      {"simt.registers",
       [](Facts& f) {
         f.with_pipeline = false;
         f.m = f.n = 256;
       }},
      {"simt.accumulation", [](Facts& f) { f.interval = 4; }},
      {"simt.multicast", [](Facts& f) { f.require_multicast = true; }},
  };
  return all;
}

TEST(Rules, every_path_takes_its_good_descriptor) {
  for (int i = 0; i < path_count; ++i) {
    const auto p = static_cast<path>(i);
    const int broken = first_broken_rule(p, good(p));
    EXPECT_LT(broken, 0) << pipeline_rules[static_cast<size_t>(broken)].name;
  }
}

TEST(Rules, each_is_broken_by_its_flip_and_stands_in_the_explanation) {
  for (const PathRule& rule : pipeline_rules) {
    SCOPED_TRACE(rule.name);
    const auto flip = flips().find(rule.name);
    ASSERT_NE(flip, flips().end()) << "no test flips this rule";
    Facts f = good(rule.of);
    flip->second(f);
    const int broken = first_broken_rule(rule.of, f);
    ASSERT_GE(broken, 0);
    EXPECT_STREQ(pipeline_rules[static_cast<size_t>(broken)].name, rule.name);
    EXPECT_NE(choose_path(f), rule.of);
    const std::string text = explain(f);
    EXPECT_NE(text.find(std::string("\n  ") + rule.name + ": found "), std::string::npos) << text;
    EXPECT_NE(text.find(std::string("; needed ") + rule.needed), std::string::npos) << text;
  }
}

// What is asked of a pipeline's tile is not asked of a product without one.
TEST(Rules, of_tiles_do_not_hold_without_a_pipeline) {
  Facts f = good(path::mma_sync);
  f.with_pipeline = false;
  f.m = 17;
  f.n = 9;
  f.k = 3;
  f.threads = 1024;
  EXPECT_EQ(choose_path(f), path::mma_sync);
  f.sm = 750;
  EXPECT_EQ(choose_path(f), path::none);
  Facts s = good(path::simt);
  s.with_pipeline = false;
  s.m = 5;
  s.n = 70;
  s.k = 1;
  s.threads = 96;
  s.sm = 800;
  s.modifier = generic;
  EXPECT_EQ(choose_path(s), path::simt);
}

TEST(Rules, have_names_of_their_own_that_begin_with_the_path) {
  std::set<std::string> names;
  for (const PathRule& rule : pipeline_rules) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(std::string(rule.name).rfind(std::string(name_of(rule.of)) + ".", 0), 0u) << rule.name;
  }
}

TEST(Rules, stand_in_the_documentation_with_what_they_need) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/pipeline.md");
  ASSERT_TRUE(file);
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const PathRule& rule : pipeline_rules) {
    const std::string row = std::string("| `") + rule.name + "` | " + rule.needed + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

tiles::WgmmaTilePlan plan(int m, int n, int k, int threads, int bytes, int interval = 0) {
  return tiles::wgmma_tile_plan({m, n, k, threads, bytes, bytes, false, false, interval, false, false, 1, 1});
}

TEST(TilePlan, splits_promoted_tiles_so_that_the_temporary_fits) {
  const auto wide = plan(128, 256, 128, 256, 1, 4);
  EXPECT_EQ(wide.parts_n, 2);
  EXPECT_EQ(wide.live_registers, 192);
  const auto narrow = plan(128, 128, 128, 256, 1, 4);
  EXPECT_EQ(narrow.parts(), 1);
  EXPECT_EQ(narrow.live_registers, 128);
  // What does not fit is a rule, with its sum: 256 x 192 promoted.
  EXPECT_GT(plan(256, 192, 128, 256, 1, 4).live_registers, 192);
  EXPECT_EQ(plan(256, 128, 128, 256, 1, 4).live_registers, 192);
}

TEST(TilePlan, gives_the_depth_and_the_stage_of_the_documented_tile) {
  const auto p = plan(128, 256, 64, 256, 2);
  EXPECT_EQ(p.stage_bytes, 49152u);
  EXPECT_EQ(p.max_depth, 4);
  EXPECT_EQ(4 * (p.stage_bytes + tiles::kStageBarrierBytes), 196672u);
}

TEST(TilePlan, cuts_integer_tiles_into_widths_that_wgmma_has) {
  const auto p = tiles::wgmma_tile_plan({64, 40, 32, 128, 1, 1, true, false, 0, false, false, 1, 1});
  EXPECT_EQ(p.part_n, 8);
  EXPECT_EQ(p.parts_n, 5);
  EXPECT_EQ(tiles::wgmma_tile_plan({64, 512, 32, 128, 1, 1, true, false, 0, false, false, 1, 1}).part_n, 256);
}

TEST(TilePlan, promotes_within_a_k_tile_or_in_whole_ones) {
  const auto one_part = plan(64, 64, 128, 128, 1, 4);
  for (const int interval : {1, 2, 4, 8, 12}) EXPECT_TRUE(tiles::wgmma_interval_fits(one_part, interval));
  for (const int interval : {3, 5, 6}) EXPECT_FALSE(tiles::wgmma_interval_fits(one_part, interval));
  const auto two_parts = plan(128, 64, 128, 128, 1, 4);
  EXPECT_TRUE(tiles::wgmma_interval_fits(two_parts, 4));
  EXPECT_FALSE(tiles::wgmma_interval_fits(two_parts, 8));
}

}  // namespace
}  // namespace tilewright::blas::testing
