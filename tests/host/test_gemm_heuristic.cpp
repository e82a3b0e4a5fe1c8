#include <gtest/gtest.h>

#include <string>

#include "src/gemm_heuristic.h"

namespace tilewright {
namespace {

const TileChoice kTiles[] = {{64, 64, true},  {64, 128, true},  {64, 192, true},  {64, 256, true},
                             {128, 64, true}, {128, 128, true}, {128, 192, true}, {128, 256, true},
                             {256, 64, true}, {256, 128, true}};

TileChoice best(int64_t m, int64_t n, int64_t k) { return kTiles[choose_tile({m, n, k, 1, 132}, kTiles)]; }

std::string shape(const TileChoice& t) { return std::to_string(t.tile_m) + "x" + std::to_string(t.tile_n); }

// Golden: the shapes that are measured. A change here is a change of what users get, and wants a measurement.
TEST(Heuristic, picks_the_measured_tile_for_large_problems) {
  EXPECT_EQ(shape(best(4096, 4096, 4096)), "128x256");
  EXPECT_EQ(shape(best(8192, 8192, 8192)), "128x256");
  EXPECT_EQ(shape(best(4096, 7168, 16384)), "128x256");
  EXPECT_EQ(shape(best(4096, 24576, 1536)), "128x256");
  EXPECT_EQ(shape(best(4096, 7168, 2048)), "128x256");
  EXPECT_EQ(shape(best(16384, 16384, 4096)), "128x256");
}

TEST(Heuristic, picks_tiles_that_fill_the_chip_for_small_problems) {
  EXPECT_EQ(shape(best(2048, 2048, 2048)), "128x256");
  EXPECT_EQ(shape(best(128, 7168, 2048)), "128x64");
  EXPECT_EQ(shape(best(128, 4096, 7168)), "64x64");
  EXPECT_EQ(shape(best(64, 24576, 1536)), "64x192");
  EXPECT_EQ(shape(best(512, 512, 512)), "64x64");
  EXPECT_EQ(shape(best(1, 1, 1)), "64x64");
}

TEST(Heuristic, shares_b_between_two_ctas_of_16_bits_where_rows_of_k_are_short) {
  const auto cluster = [](int64_t row_bytes) {
    return choose_tensor_cluster({4096, 7168, row_bytes, 1, 132}, {128, 256, false}, 16);
  };
  EXPECT_EQ(cluster(16383), (Cluster{2, 1}));
  EXPECT_EQ(cluster(16384), (Cluster{1, 1}));
}

int64_t strip(int64_t k, const TileChoice& tile, const Cluster& c) {
  return choose_raster({8192, 8192, k, 1, 132}, tile, c).strip;
}

TEST(Heuristic, makes_strips_of_2048_rows_or_of_4096_that_stay_in_l2) {
  EXPECT_EQ(strip(8192, {128, 256, true}, {2, 1}), 8);
  EXPECT_EQ(strip(8192, {128, 256, true}, {1, 1}), 16);
  EXPECT_EQ(strip(8192, {64, 64, true}, {1, 1}), 32);
  EXPECT_EQ(strip(4096, {128, 256, true}, {1, 1}), 32);
  EXPECT_EQ(strip(4097, {128, 256, true}, {1, 1}), 16);
}

TEST(Heuristic, leaves_a_few_clusters_out_where_the_rounds_of_the_others_are_full) {
  constexpr int64_t kLong = 4096;
  EXPECT_EQ(even_clusters(132, 2048, 2, kLong), 128);  // 16 rounds
  EXPECT_EQ(even_clusters(66, 1024, 2, kLong), 64);
  EXPECT_EQ(even_clusters(132, 124 * 3, 2, kLong), 124);
  EXPECT_EQ(even_clusters(132, 123 * 3, 2, kLong), 132);  // too many idle
  EXPECT_EQ(even_clusters(132, 8192, 2, kLong), 132);     // 63 rounds, which do not divide
  EXPECT_EQ(even_clusters(132, 132, 2, kLong), 132);
  EXPECT_EQ(even_clusters(132, 134, 2, kLong), 132);
  EXPECT_EQ(even_clusters(132, 100, 2, kLong), 100);
  EXPECT_EQ(even_clusters(132, 0, 2, kLong), 0);
  EXPECT_EQ(even_clusters(132, 2048, 2, kLong - 1), 132);  // short rows: all
  EXPECT_EQ(even_clusters(132, 100, 2, kLong - 1), 100);
  EXPECT_EQ(even_clusters(132, 2048, 1, kLong / 2), 128);  // alone: earlier
  EXPECT_EQ(even_clusters(132, 2048, 1, kLong / 2 - 1), 132);
}

TEST(Heuristic, more_multiprocessors_never_cost_time) {
  for (const TileChoice& tile : kTiles)
    for (int sms = 1; sms < 200; ++sms)
      EXPECT_GE(estimate_cycles({3000, 5000, 700, 2, sms}, tile),
                estimate_cycles({3000, 5000, 700, 2, sms + 1}, tile));
}

}  // namespace
}  // namespace tilewright
